"""`live-cut`: the least memory while each operator runs, by a minimum cut over down-sets."""

from collections.abc import Callable
from typing import Any, NamedTuple

from boundmark.bounds import checker
from boundmark.bounds.checker.ordering.prices import least_while_running
from boundmark.bounds.checker.ordering.section import Section
from boundmark.bounds.ordering.plan import Plan
from boundmark.bounds.ordering.section_network import Rows, SectionNetwork
from boundmark.problems.certificate import Certificate
from boundmark.problems.method import Budget, Progress
from boundmark.problems.ordering import OrderingInstance
from boundmark.problems.ordering.order import memory_while_running

KIND = "live-cut/1"


def run(
    instance: OrderingInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the largest of the operators' least memories, or their sum, by the metric."""
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
    forced = [point for point in plan.ends if 0 < point < instance.nodes]
    payload = {"order": order, "forced": forced, "cuts": [[v, rows] for v, rows in prices.items()]}
    progress.bound(Certificate.of(instance, KIND, total, payload, "live-cut"))


class Cuts(NamedTuple):
    """Least memory of a section's operators, and its proofs.

    Attributes
    ----------
    least
        The least memory while each one runs, by its place.
    prices
        The prices that prove it, by the operator's number, where there have to be any.
    """

    least: list[int]
    prices: dict[int, Rows]


def least_memory(part: Section, is_spent: Callable[[], bool]) -> Cuts:
    """Return the least memory of all operators; weaker, without cuts, once the time is up."""
    least, prices = [], {}
    network = None
    for v, operator in enumerate(part.operators):
        is_certain = part.before[v] | part.behind[v] | 1 << v == part.all
        if is_certain or is_spent():
            least.append(least_while_running(part, v, {}))
            continue
        network = network or SectionNetwork(part)
        value, rows = network.least_while_running(v)
        least.append(value)
        if rows:
            prices[operator] = rows
    return Cuts(least, prices)


def largest_least_memory(
    part: Section, known: list[int], floor: int, is_spent: Callable[[], bool]
) -> Cuts:
    """Return the least memory, by cuts only for operators that may have the largest."""
    least = [least_while_running(part, v, {}) for v in range(len(part.operators))]
    prices = {}
    best = max(floor, *least)
    network = None
    for v in sorted(range(len(least)), key=lambda v: -known[v]):
        if known[v] <= best or is_spent():
            break
        network = network or SectionNetwork(part)
        value, rows = network.least_while_running(v)
        least[v] = max(least[v], value)
        if value > best:
            best = value
            if rows:
                prices[part.operators[v]] = rows
    return Cuts(least, prices)
