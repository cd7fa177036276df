"""`operator-memory`: the memory that an operator needs while it runs, in any order.

Its inputs and its output are, and every tensor between what must come before it and what must come
after it. It is `live-cut` without cuts, which the checker computes by itself, and has a file of its
own because the first answer of a model waits for it: `live_cut` compiles flows when it is imported.
"""

from typing import Any

from boundmark.bounds import checker
from boundmark.bounds.checker.ordering.bound import live_cut
from boundmark.bounds.ordering.plan import Plan
from boundmark.problems.certificate import Certificate
from boundmark.problems.method import Budget, Progress
from boundmark.problems.ordering import OrderingInstance

KIND = "live-cut/1"


def run(
    instance: OrderingInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the largest memory of an operator, or the sum of all."""
    order = instance.graph.dag.topological_order.tolist()
    checked = checker.check_instance(instance.to_json())
    plan = Plan(checked, order)
    plan.find_forced()
    forced = [point for point in plan.ends if 0 < point < instance.nodes]
    payload = {"order": order, "forced": forced, "cuts": []}
    bound = live_cut(checked, payload)
    progress.bound(Certificate.of(instance, KIND, bound, payload, "operator-memory"))
