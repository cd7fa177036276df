"""`live-cut`: the least memory while each operator runs, by a minimum cut over down-sets."""

from typing import Any

from boundmark.bounds import checker
from boundmark.bounds.ordering.sections.cuts import largest_least_memory, least_memory
from boundmark.bounds.ordering.sections.network import Rows
from boundmark.bounds.ordering.sections.plan import Plan
from boundmark.problems.certificate import Certificate
from boundmark.problems.method import Budget, Progress
from boundmark.problems.ordering import OrderingInstance
from boundmark.problems.ordering.memory import memory_while_running

KIND = "live-cut/1"


def run(
    instance: OrderingInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the largest of them, or their sum."""
    graph = instance.graph
    order = graph.dag.topological_order.tolist()
    plan = Plan(checker.check_instance(instance.to_json()), order)
    plan.find_forced()
    known = memory_while_running(graph, instance.workspace, instance.overwrites, order)
    total, prices = 0, dict[int, Rows]()
    is_peak = instance.metric == "peak"
    for begin, part in zip(plan.ends, plan.sections(), strict=False):
        if is_peak:
            here = known[begin : begin + len(part.operators)]
            cuts = largest_least_memory(part, here, total, budget.is_spent)
            if max(cuts.least) > total:
                prices = cuts.prices
            total = max(total, *cuts.least)
        else:
            cuts = least_memory(part, budget.is_spent)
            prices.update(cuts.prices)
            total += sum(cuts.least)
    forced = [stop for stop in plan.ends if 0 < stop < instance.nodes]
    payload = {"order": order, "forced": forced, "cuts": [[v, rows] for v, rows in prices.items()]}
    progress.bound(Certificate.of(instance, KIND, total, payload, "live-cut"))
