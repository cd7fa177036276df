"""The chain: operators, each dependent on the one before, between which modules lie.

Whatever is chosen, the times of the modules add up to a bound, since a module consists only of
operators that wait for its first and that its last waits for. What is neither in the chain nor in
a module is left out: operators beside it, and tensors that run past an operator of the chain.
Where all operators are before or behind each one of the chain, nothing is lost.
"""

from dataclasses import dataclass

import numpy as np

from boundmark.bounds.checker.placement.paths import OUTSIDE
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.placement import PlacementGraph

# Operators of a module that a search mostly masters; of the work in larger ones, less counts.
WELL_SEARCHED = 40

# Operators that may be in the chain: those with most operators before and behind them, and of these
# every second one, or third and so on.
MOST_CANDIDATES = 5000

# Candidates of a chain whose modules may have any size.
MOST_COARSE = 60

# Operators of a graph: sets of them are bits, and what each one waits for takes n^2 / 8 bytes.
MOST_OPERATORS = 20_000

# A module begins at one of so many candidates before its end.
MOST_BACK = 120

# Bits in which work is counted, coarsely.
WORK_BITS = 12


@dataclass(frozen=True)
class Chain:
    """Operators in the order of the chain, without the ends of the schedule."""

    operators: tuple[int, ...]
    # The least durations in the chain and its modules, as a fraction of all.
    work_kept: float


def best_chain(
    graph: PlacementGraph, most_operators: int, well_searched: int = WELL_SEARCHED
) -> Chain:
    """Return the chain with most work in modules small enough for a search.

    A module has at most `most_operators`; if there is no such chain, modules are of any size, see
    `_coarse_chain`. All work of a module counts up to `well_searched` operators.
    """
    if graph.nodes > MOST_OPERATORS:
        raise UnsupportedError(
            f"the graph has {graph.nodes} operators; expected at most {MOST_OPERATORS}."
        )
    work = _least_work(graph)
    planes = [
        sum(1 << v for v, ticks in enumerate(work) if ticks >> bit & 1) for bit in range(WORK_BITS)
    ]
    before, behind = reached(graph)
    order = graph.dag.topological_order.tolist()
    beside = [graph.nodes - before[v].bit_count() - behind[v].bit_count() for v in order]
    limit = sorted(beside)[min(len(order), MOST_CANDIDATES) - 1]
    chosen = [v for v, count in zip(order, beside, strict=True) if count <= limit]
    chosen = chosen[:: -(-len(chosen) // MOST_CANDIDATES)]
    # Number and work of the operators that each operator waits for.
    count, weight = [found.bit_count() for found in before], [0] * graph.nodes
    for v in chosen:
        weight[v] = _weight(before[v], planes)
    everything = (1 << graph.nodes) - 1
    # The best chain that ends at each operator: value, smoothness, work, operator before.
    best: dict[int, tuple[float, int, int, int]] = {}
    for at, v in enumerate([*chosen, OUTSIDE]):
        ahead = everything if v == OUTSIDE else before[v]
        own = 0 if v == OUTSIDE else work[v]
        found: tuple[float, int, int, int] | None = None
        for u in [*chosen[max(0, at - MOST_BACK) : at], OUTSIDE]:
            if u != OUTSIDE and (u not in best or not ahead >> u & 1):
                continue
            body = ahead & (everything if u == OUTSIDE else behind[u])
            size = body.bit_count()
            if size > most_operators:
                continue
            value, smooth, kept, _ = best[u] if u != OUTSIDE else (0.0, 0, 0, OUTSIDE)
            if OUTSIDE not in (u, v) and size == count[v] - count[u] - 1:
                # No operator of the body is beside u, so differences give its work.
                inside = weight[v] - weight[u] - work[u]
            else:
                inside = _weight(body, planes)
            counted = inside * min(1.0, well_searched / max(1, size))
            total = (value + counted + own, smooth - size * size, kept + inside + own, u)
            if found is None or total[:2] > found[:2]:
                found = total
        if found is not None:
            best[v] = found
    if OUTSIDE not in best:
        return _coarse_chain(graph, before, behind)
    backwards = [best[OUTSIDE][3]]
    while backwards[-1] != OUTSIDE:
        backwards.append(best[backwards[-1]][3])
    return Chain(tuple(backwards[-2::-1]), best[OUTSIDE][2] / max(1, sum(work)))


def _coarse_chain(graph: PlacementGraph, before: list[int], behind: list[int]) -> Chain:
    """Return a chain of few operators, for models without small modules.

    What lies between two of them takes about what its longest path does, or its work with all
    devices busy, if that is more. Such times add up to the most along the chain. Only operators
    with most others before and behind them are tried.
    """
    work = _least_work(graph)
    order = graph.dag.topological_order.tolist()
    beside = {v: graph.nodes - before[v].bit_count() - behind[v].bit_count() for v in order}
    tried = sorted(sorted(order, key=beside.__getitem__)[:MOST_COARSE], key=order.index)
    planes = [
        sum(1 << v for v, ticks in enumerate(work) if ticks >> bit & 1) for bit in range(WORK_BITS)
    ]
    speed = _joint_speed(graph)
    everything = (1 << graph.nodes) - 1
    best: dict[int, tuple[float, int, int]] = {}
    for u in [OUTSIDE, *tried]:
        value, kept, _ = best.get(u, (0.0, 0, OUTSIDE))
        after = everything if u == OUTSIDE else behind[u]
        longest = _longest_from(graph, work, after)
        for v in [*(v for v in tried if after >> v & 1), OUTSIDE]:
            inside = _weight(after & (everything if v == OUTSIDE else before[v]), planes)
            own = 0 if v == OUTSIDE else work[v]
            total = value + max(longest[v], inside / speed) + own
            if v not in best or total > best[v][0]:
                best[v] = total, kept + inside + own, u
    backwards = [best[OUTSIDE][2]]
    while backwards[-1] != OUTSIDE:
        backwards.append(best[backwards[-1]][2])
    return Chain(tuple(backwards[-2::-1]), best[OUTSIDE][1] / max(1, sum(work)))


def _joint_speed(graph: PlacementGraph) -> float:
    """Return the speed of all devices together, relative to each operator's best device."""
    ticks = np.where(graph.is_supported, graph.duration, graph.duration.max())
    return float((ticks.min(axis=1).sum() / np.maximum(1, ticks.sum(axis=0))).sum())


def _longest_from(graph: PlacementGraph, work: list[int], after: int) -> dict[int, int]:
    """Return the longest path to the start of each operator of a set, given as bits.

    It has no transfers. The path to the end of the schedule is that of `OUTSIDE`.
    """
    starts: dict[int, int] = {}
    last = 0
    for v in graph.dag.topological_order.tolist():
        if after >> v & 1:
            producers = graph.dag.producers_of(v).tolist()
            starts[v] = max((starts[u] + work[u] for u in producers if u in starts), default=0)
            last = max(last, starts[v] + work[v])
    return {**starts, OUTSIDE: last}


def _least_work(graph: PlacementGraph) -> list[int]:
    """Return the duration of each operator on its best device, coarsely: from 1 to 2^WORK_BITS."""
    ticks = np.where(graph.is_supported, graph.duration, np.iinfo(np.int64).max).min(axis=1)
    most = 2**WORK_BITS - 1
    return [max(1, least * most // max(1, int(ticks.max()))) for least in ticks.tolist()]


def _weight(operators: int, planes: list[int]) -> int:
    """Return the total work of a set of operators."""
    return sum((operators & plane).bit_count() << bit for bit, plane in enumerate(planes))


def reached(graph: PlacementGraph) -> tuple[list[int], list[int]]:
    """Return the ancestors and the descendants of each operator, as bits."""
    before, behind = [0] * graph.nodes, [0] * graph.nodes
    order = graph.dag.topological_order.tolist()
    for v in order:
        for u in graph.dag.producers_of(v).tolist():
            before[v] |= before[u] | 1 << u
    for v in reversed(order):
        for w in graph.dag.consumers_of(v).tolist():
            behind[v] |= behind[w] | 1 << w
    return before, behind
