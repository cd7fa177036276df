"""`path-prices`: paths, work and memory together, by the dual of one linear program.

Paths alone do not see that devices are full, and loads do not see what has to wait. Where memory is
short, operators have to be on slow devices, or tensors to be moved: prices of memory show how much
of that falls on the paths.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array

from boundmark.bounds import checker
from boundmark.bounds.best import Best
from boundmark.bounds.checker.placement.instance import Instance
from boundmark.bounds.checker.placement.paths import NEVER, OUTSIDE, Jump, Network
from boundmark.bounds.checker.placement.prices import path_prices
from boundmark.bounds.mip.highs import dual_in_time, highs_solver
from boundmark.bounds.mip.linear_model import FloatArray
from boundmark.bounds.placement.interval_load import proven_inside
from boundmark.bounds.placement.series.certificate import affordable
from boundmark.bounds.placement.series.method import ClosingIn
from boundmark.problems.arrays import IntArray
from boundmark.problems.certificate import Certificate
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementGraph, PlacementInstance

KIND = "path-prices/1"


# Part of the time for intervals between operators that all paths pass.
INSIDE = 0.3

# The sum of all prices after rounding.
UNITS = 2**24


@dataclass(frozen=True)
class Arcs:
    """Pairs of operators, and the least ticks between them.

    Attributes
    ----------
    first, last
        The operators of each arc, shape (m,).
    lag
        From the end of the first to the start of the last, by their devices, shape (m, D, D);
        `NEVER` where they cannot be.
    to_end
        Ticks from the end of each operator to the end of the schedule, shape (n, D).
    from_begin
        Ticks from the begin of the schedule to the start of each operator, shape (n, D).
    """

    first: IntArray
    last: IntArray
    lag: IntArray
    to_end: IntArray
    from_begin: IntArray


@dataclass(frozen=True)
class Prices:
    """The dual solution, with a makespan of one unit of price.

    Attributes
    ----------
    paths
        Of each arc, shape (m,).
    work, memory
        Of each device, in ticks per unit of memory, shape (D,).
    near, far
        What arcs take over from their ends, in ticks, shape (m, D).
    """

    paths: FloatArray
    work: FloatArray
    memory: FloatArray
    near: FloatArray
    far: FloatArray


def run(
    instance: PlacementInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    **params: Any,
) -> None:
    """Report bounds by prices: of the tensors' paths alone, then with intervals."""
    read = checker.check_instance(instance.to_json())
    best = Best.before(instance, progress)
    _report(instance, read, [], [], budget, best)
    if budget.is_spent() or best.is_proven:
        return
    jumps, documents = _inside(instance, read, budget)
    if jumps:
        _report(instance, read, jumps, documents, budget, best)


def report_with_modules(
    instance: PlacementInstance, closing: ClosingIn, budget: Budget, best: Best
) -> None:
    """Report the bound by prices with paths over searched modules, too.

    They see what a chain of modules does not: tensors that run past modules, operators beside the
    chain, and memory.
    """
    parts = affordable(closing.parts)
    if parts:
        inside, proofs = _inside(instance, closing.read, budget)
        # Modules first: their searches were made without other intervals inside.
        jumps = [*(part.jump() for part in parts), *inside]
        documents = [*(part.to_json() for part in parts), *proofs]
        _report(instance, closing.read, jumps, documents, budget, best)


def _inside(
    instance: PlacementInstance, read: Instance, budget: Budget
) -> tuple[list[Jump], list[dict[str, Any]]]:
    """Return the intervals that loads bound, as jumps and as documents."""
    intervals = proven_inside(instance.graph, Network(read), budget.part(INSIDE))
    documents = [{**interval.to_json(), "searches": []} for interval in intervals]
    return [interval.jump for interval in intervals], documents


def _report(
    instance: PlacementInstance,
    read: Instance,
    jumps: Sequence[Jump],
    documents: Sequence[dict[str, Any]],
    budget: Budget,
    best: Best,
) -> None:
    """Report a certificate if the program is solved in time."""
    arcs = arcs_of(instance.graph, jumps)
    prices = best_prices(instance.graph, arcs, budget)
    if prices is None:
        return
    payload = {"intervals": list(documents), **rounded(instance.graph, arcs, prices)}
    bound = path_prices(read, payload)
    best.bound(Certificate.of(instance, KIND, bound, payload, "path-prices"))


class _Rows:
    """Builder of a sparse matrix, block by block."""

    def __init__(self) -> None:
        self.row: list[NDArray[np.int64]] = []
        self.column: list[NDArray[np.int64]] = []
        self.value: list[FloatArray] = []
        self.lower: list[FloatArray] = []
        self.upper: list[FloatArray] = []
        self.count = 0

    def add(self, count: int, lower: float, upper: float, *entries: tuple[Any, Any, Any]) -> slice:
        """Add rows with the same limits; entries are (row within the block, column, value)."""
        for entry in entries:
            row, column, value = np.broadcast_arrays(*entry)
            self.row.append(row.ravel().astype(np.int64) + self.count)
            self.column.append(column.ravel().astype(np.int64))
            self.value.append(value.ravel().astype(np.float64))
        self.lower.append(np.full(count, lower))
        self.upper.append(np.full(count, upper))
        self.count += count
        return slice(self.count - count, self.count)


def best_prices(graph: PlacementGraph, arcs: Arcs, budget: Budget) -> Prices | None:
    """Return the best prices, None if the program is not solved in time.

    Operators are spread over devices, ``sum_d x_vd = 1``, and arcs over pairs of devices such that
    ``sum_e z_ade = x_ud`` and ``sum_d z_ade = x_we``. Each operator has a start: 0 or later, and
    after the end of what it waits for by what the arc takes. The makespan is at least each end, and
    each device's work; its memory is at most its capacity.
    """
    n, span, m = graph.nodes, graph.devices, len(arcs.first)
    # Larger programs take minutes.
    if n * span + m * span**2 > 2_000_000:
        return None
    can_be = graph.fits
    ticks = np.where(can_be, graph.duration, 0)
    unit = max(1, int(ticks.max()))
    ticks = ticks / unit
    room = np.maximum(graph.capacity, 1).astype(np.float64)
    x = np.arange(n * span).reshape(n, span)
    z = n * span + np.arange(m * span**2).reshape(m, span, span)
    start = n * span + m * span**2 + np.arange(n)
    makespan = int(start[-1]) + 1
    is_possible = arcs.lag < NEVER
    lag = np.where(is_possible, arcs.lag, 0) / unit
    every, each = np.arange(n)[:, None], np.arange(m)[:, None]
    rows, free = _Rows(), np.inf
    rows.add(n, 1, 1, (every, x, 1.0))
    rows.add(
        n, 0, free,
        (every, makespan, 1.0), (every, start[:, None], -1.0),
        (every, x, -ticks - arcs.to_end / unit),
    )  # fmt: skip
    late = np.flatnonzero(arcs.from_begin.any(axis=1))
    at = np.arange(len(late))[:, None]
    rows.add(
        len(late), 0, free,
        (at, start[late][:, None], 1.0), (at, x[late], -arcs.from_begin[late] / unit),
    )  # fmt: skip
    paths = rows.add(
        m, 0, free,
        (each, start[arcs.last][:, None], 1.0), (each, start[arcs.first][:, None], -1.0),
        (each, x[arcs.first], -ticks[arcs.first]),
        (each[:, :, None], z, -lag),
    )  # fmt: skip
    pairs = np.arange(m * span).reshape(m, span)
    near = rows.add(m * span, 0, 0, (pairs, x[arcs.first], 1.0), (pairs[:, :, None], z, -1.0))
    far = rows.add(m * span, 0, 0, (pairs, x[arcs.last], 1.0), (pairs[:, None, :], z, -1.0))
    device = np.arange(span)
    work = rows.add(span, 0, free, (device, makespan, 1.0), (device[None, :], x, -ticks))
    held = graph.memory[:, None] / room
    memory = rows.add(span, -free, 1, (device[None, :], x, held))
    most = np.concatenate(
        [can_be.ravel(), is_possible.ravel(), np.full(n + 1, free)], dtype=np.float64
    )
    cost = np.zeros(makespan + 1)
    cost[makespan] = 1.0
    matrix = coo_array(
        (np.concatenate(rows.value), (np.concatenate(rows.row), np.concatenate(rows.column))),
        shape=(rows.count, makespan + 1),
    ).tocsr()
    if budget.is_spent():
        return None
    solver = highs_solver(
        matrix, cost, (np.zeros(makespan + 1), most),
        (np.concatenate(rows.lower), np.concatenate(rows.upper)), threads=budget.threads,
    )  # fmt: skip
    # Rounding and checking what large programs prove takes seconds, so unfinished duals are left.
    dual = dual_in_time(solver, budget)
    if dual is None:
        return None
    return Prices(
        paths=np.maximum(0.0, dual[paths]),
        work=np.maximum(0.0, dual[work]),
        memory=np.maximum(0.0, -dual[memory]) * unit / room,
        near=-dual[near].reshape(m, span) * unit,
        far=-dual[far].reshape(m, span) * unit,
    )


def rounded(graph: PlacementGraph, arcs: Arcs, prices: Prices) -> dict[str, Any]:
    """Round prices to the arcs, work and memory of a payload."""
    work = [round(float(value) * UNITS) for value in prices.work]
    amounts = _whole_paths(graph, arcs, prices.paths, max(0, UNITS - sum(work)))
    rows = []
    near, far = (np.rint(values * UNITS) for values in (prices.near, prices.far))
    for at, (first, last) in enumerate(zip(arcs.first.tolist(), arcs.last.tolist(), strict=True)):
        amount = amounts[first, last]
        if amount:
            rows.append([first, last, amount, *map(int, near[at]), *map(int, far[at])])
    none = [0] * graph.devices
    for (first, last), amount in amounts.items():
        if amount and OUTSIDE in (first, last):
            rows.append([first, last, amount, *([0] if first == OUTSIDE else none),
                         *([0] if last == OUTSIDE else none)])  # fmt: skip
    memory = [round(float(value) * UNITS) for value in prices.memory]
    return {"arcs": rows, "work": work, "memory": memory}


def _whole_paths(
    graph: PlacementGraph, arcs: Arcs, paths: FloatArray, total: int
) -> dict[tuple[int, int], int]:
    """Round a flow of paths to integers, with as much into as out of each operator.

    Whatever arrives at an operator is divided among what leaves it, from the begin on.
    """
    n = graph.nodes
    leaving: list[list[tuple[int, float]]] = [[] for _ in range(n)]
    to, out = np.zeros(n), np.zeros(n)
    for first, last, amount in zip(
        arcs.first.tolist(), arcs.last.tolist(), paths.tolist(), strict=True
    ):
        leaving[first].append((last, amount))
        out[first] += amount
        to[last] += amount
    from_outside = [(v, float(max(0.0, out[v] - to[v]))) for v in range(n)]
    for v in range(n):
        ending = float(max(0.0, to[v] - out[v]))
        if ending > 0 or not leaving[v]:
            leaving[v].append((OUTSIDE, ending))
    found: dict[tuple[int, int], int] = {}
    arrived = [0] * n
    for v, ways in ((OUTSIDE, from_outside), *((v, leaving[v]) for v in _order(graph))):
        amount = total if v == OUTSIDE else arrived[v]
        for (last, _), part in zip(ways, _divided(amount, [w for _, w in ways]), strict=True):
            found[v, last] = part
            if last != OUTSIDE:
                arrived[last] += part
    return found


def _order(graph: PlacementGraph) -> list[int]:
    order: list[int] = graph.dag.topological_order.tolist()
    return order


def _divided(amount: int, weights: Sequence[float]) -> list[int]:
    """Divide an amount into integers, nearly in proportion to weights."""
    sum_of_weights = sum(weights)
    if not amount or sum_of_weights <= 0:
        # Hardly any flow: all goes to the first.
        return [amount, *[0] * (len(weights) - 1)]
    parts = [int(amount * (weight / sum_of_weights)) for weight in weights]
    parts[max(range(len(weights)), key=weights.__getitem__)] += amount - sum(parts)
    return parts


def arcs_of(graph: PlacementGraph, jumps: Sequence[Jump]) -> Arcs:
    """Return the arcs of a graph and of proven jumps, one per pair of operators."""
    span = graph.devices
    lags: dict[tuple[int, int], IntArray] = {}

    def add(pair: tuple[int, int], lag: IntArray) -> None:
        lags[pair] = np.maximum(lags[pair], lag) if pair in lags else lag

    for tensor, readers in enumerate(graph.consumers):
        for reader in readers:
            add((int(graph.producer[tensor]), reader), graph.times[graph.size[tensor]])
    to_end, from_begin = np.zeros((2, graph.nodes, span), dtype=np.int64)
    for jump in jumps:
        least = np.minimum(np.array(jump.least, dtype=object), NEVER).astype(np.int64)
        if OUTSIDE not in (jump.first, jump.last):
            add((jump.first, jump.last), least)
        elif jump.first != OUTSIDE:
            to_end[jump.first] = np.maximum(to_end[jump.first], least[:, 0])
        elif jump.last != OUTSIDE:
            from_begin[jump.last] = np.maximum(from_begin[jump.last], least[0])
    pairs = sorted(lags)
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    lag = np.array([lags[pair] for pair in pairs], dtype=np.int64).reshape(-1, span, span)
    return Arcs(ends[:, 0], ends[:, 1], lag, to_end, from_begin)
