"""Chooses the operators between which modules lie: a chain in which each one waits for the last.

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

# Operators of a module that a search mostly masters. Of the work in larger ones, less counts.
WELL_SEARCHED = 40

# Operators that may be in the chain: those with most operators before and behind them, and of these
# every second one, or third and so on.
MOST_CANDIDATES = 5000

# Sets of operators are bits: what each one waits for takes n^2 / 8 bytes.
MOST_OPERATORS = 20_000

# Precision of work.
WORK_BITS = 12

# A module begins at one of so many candidates before its end.
MOST_BACK = 120


@dataclass(frozen=True)
class Chain:
    """Operators in the order of the chain, without the ends of the schedule.

    Attributes
    ----------
    work_kept
        The least durations in the chain and its modules, as a fraction of all.
    """

    operators: tuple[int, ...]
    work_kept: float


def best_chain(graph: PlacementGraph, most_operators: int) -> Chain:
    """Return the chain that keeps most work in modules that a search can master.

    Parameters
    ----------
    most_operators
        Of a module; if there is no such chain, it is empty, and all operators are one module.

    Raises
    ------
    UnsupportedError
        If there are too many operators.
    """
    if graph.nodes > MOST_OPERATORS:
        raise UnsupportedError(
            f"the graph has {graph.nodes} operators; expected at most {MOST_OPERATORS}."
        )
    work = _least_work(graph)
    planes = [
        sum(1 << v for v, ticks in enumerate(work) if ticks >> bit & 1) for bit in range(WORK_BITS)
    ]
    before, behind = _reached(graph)
    order = graph.dag.topological_order.tolist()
    beside = [graph.nodes - before[v].bit_count() - behind[v].bit_count() for v in order]
    limit = sorted(beside)[min(len(order), MOST_CANDIDATES) - 1]
    chosen = [v for v, count in zip(order, beside, strict=True) if count <= limit]
    chosen = chosen[:: -(-len(chosen) // MOST_CANDIDATES)]
    # Of all that each operator waits for: how many, and their work.
    count, weight = [found.bit_count() for found in before], [0] * graph.nodes
    for v in chosen:
        weight[v] = _weight(before[v], planes)
    everything = (1 << graph.nodes) - 1
    # Of each operator, the best chain that ends there: value, smoothness, work, operator before.
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
                # None of them is beside u, so this is what lies between.
                inside = weight[v] - weight[u] - work[u]
            else:
                inside = _weight(body, planes)
            counted = inside * min(1.0, WELL_SEARCHED / max(1, size))
            total = (value + counted + own, smooth - size * size, kept + inside + own, u)
            if found is None or total[:2] > found[:2]:
                found = total
        if found is not None:
            best[v] = found
    if OUTSIDE not in best:
        return Chain((), 1.0)
    backwards = [best[OUTSIDE][3]]
    while backwards[-1] != OUTSIDE:
        backwards.append(best[backwards[-1]][3])
    return Chain(tuple(backwards[-2::-1]), best[OUTSIDE][2] / max(1, sum(work)))


def _least_work(graph: PlacementGraph) -> list[int]:
    """Return the duration of each operator on its best device, coarsely: from 1 to 2^WORK_BITS."""
    ticks = np.where(graph.is_supported, graph.duration, np.iinfo(np.int64).max).min(axis=1)
    most = 2**WORK_BITS - 1
    return [max(1, least * most // max(1, int(ticks.max()))) for least in ticks.tolist()]


def _weight(operators: int, planes: list[int]) -> int:
    """Return the work of a set, a bit of all of them at a time."""
    return sum((operators & plane).bit_count() << bit for bit, plane in enumerate(planes))


def _reached(graph: PlacementGraph) -> tuple[list[int], list[int]]:
    """Return what each operator waits for, and what waits for it, as bits."""
    before, behind = [0] * graph.nodes, [0] * graph.nodes
    order = graph.dag.topological_order.tolist()
    for v in order:
        for u in graph.dag.producers_of(v).tolist():
            before[v] |= before[u] | 1 << u
    for v in reversed(order):
        for w in graph.dag.consumers_of(v).tolist():
            behind[v] |= behind[w] | 1 << w
    return before, behind
