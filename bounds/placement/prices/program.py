"""The linear program of paths, work and memory, of which the prices are the dual.

Operators are spread over devices, ``sum_d x_vd = 1``, and arcs over pairs of devices such that
``sum_e z_ade = x_ud`` and ``sum_d z_ade = x_we``. Each operator has a start: 0 or later, and after
the end of what it waits for by what the arc takes. The makespan is at least each end, and each
device's work; its memory is at most its capacity.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array

from boundmark.bounds.checker.placement.paths import NEVER
from boundmark.bounds.highs import highs_solver
from boundmark.bounds.placement.prices.arcs import Arcs
from boundmark.problems.method import Budget
from boundmark.problems.placement import PlacementGraph

FloatArray = NDArray[np.float64]

# Larger programs take minutes.
MOST_COLUMNS = 2_000_000


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


class _Rows:
    """Entries of a matrix, gathered block by block."""

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
    """Return prices that prove most, None if they are not found in the time that there is."""
    n, span, m = graph.nodes, graph.devices, len(arcs.first)
    if n * span + m * span**2 > MOST_COLUMNS:
        return None
    can_be = graph.is_supported & (graph.memory[:, None] <= graph.capacity)
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
    # A dual solution is enough: no vertex is needed.
    solver.setOptionValue("solver", "ipm")
    solver.setOptionValue("run_crossover", "off")
    solver.setOptionValue("time_limit", max(0.01, budget.remaining()))
    solver.run()
    dual = np.array(solver.getSolution().row_dual)
    # The solver's word counts for nothing here: what duals prove is computed from them.
    if not solver.getSolution().dual_valid or not np.isfinite(dual).all():
        return None
    return Prices(
        paths=np.maximum(0.0, dual[paths]),
        work=np.maximum(0.0, dual[work]),
        memory=np.maximum(0.0, -dual[memory]) * unit / room,
        near=-dual[near].reshape(m, span) * unit,
        far=-dual[far].reshape(m, span) * unit,
    )
