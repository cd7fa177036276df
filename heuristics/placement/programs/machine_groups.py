"""Devices in groups of similar speed, and a group for each operator ([GETF20], Section 4).

This is a reconstruction: the paper's formulas were not at hand, and public descriptions of it only
tell of a linear relaxation, groups of machines of similar speed, and tasks that keep to the group
that they get. The program here is the usual one for machines of related speeds. [MOIRAI24] solves
"the GETF MILP" exactly; here, its relaxation is rounded.
"""

import math

import numpy as np
from numpy.typing import NDArray

from boundmark.heuristics.placement.programs.solving import minimum
from boundmark.heuristics.placement.schedules.mean_costs import mean_durations
from boundmark.problems.arrays import IntArray
from boundmark.problems.method import Budget
from boundmark.problems.placement import PlacementGraph


def speeds(graph: PlacementGraph) -> NDArray[np.float64]:
    """Return how fast each device is, shape (D,): mean durations over its own, of what it supports.

    The paper's machines have a speed; here, devices are faster at some operators than at others.
    """
    mean = np.where(graph.is_supported, mean_durations(graph)[:, None], 0).sum(axis=0)
    own = np.where(graph.is_supported, graph.duration, 0).sum(axis=0)
    return np.asarray((mean + 1.0) / (own + 1.0))


def speed_groups(speed: NDArray[np.float64], gamma: float) -> IntArray:
    """Return the number of each device's group, 0 for the slowest, shape (D,).

    Group k has the speeds from gamma^k up to gamma^(k + 1), in units of the least one.
    """
    ratio = np.log(speed / speed.min()) / math.log(gamma)
    # Rounding must not part devices of equal speed.
    return np.asarray(np.floor(ratio + 1e-9), dtype=np.int64)


def assigned_groups(
    graph: PlacementGraph, group: IntArray, speed: NDArray[np.float64], budget: Budget
) -> IntArray:
    """Return the group of devices for each operator, shape (n,).

    The linear program spreads operators over devices, ``sum_d x_vd = 1``; all have to end by T,
    each after those before it, ``C_u + sum_d p_vd x_vd <= C_v <= T``, and a device runs for T at
    most. Of an operator, at least half is in its median group and faster ones; of these groups, it
    gets the one that is fastest altogether. Memory is a row per device.

    Raises
    ------
    UnsupportedError
        If the time is up before the program is solved.
    """
    shares = _shares(graph, budget)
    groups = int(group.max()) + 1
    of_group = np.stack([shares[:, group == k].sum(axis=1) for k in range(groups)], axis=1)
    from_here_up = of_group[:, ::-1].cumsum(axis=1)[:, ::-1]
    median = groups - 1 - np.argmax((from_here_up >= 0.5 - 1e-6)[:, ::-1], axis=1)
    power = np.array([speed[group == k].sum() for k in range(groups)])
    candidates = np.where(np.arange(groups) >= median[:, None], power, -1.0)
    return np.asarray(candidates.argmax(axis=1))


def _shares(graph: PlacementGraph, budget: Budget) -> NDArray[np.float64]:
    """Return how much of each operator the linear program puts on each device, shape (n, D)."""
    from scipy.sparse import coo_array, csr_array, vstack

    n, span, dag = graph.nodes, graph.devices, graph.dag
    ticks = np.where(graph.is_supported, graph.duration, 0).astype(float)
    unit = max(1.0, float(ticks.max()))
    columns = n * span + n + 1
    x = np.arange(n * span).reshape(n, span)
    end, makespan = n * span + np.arange(n), n * span + n

    def work(rows: IntArray, of: IntArray) -> coo_array:
        """Return the duration of operators as it is spread, a row each."""
        return coo_array(
            ((ticks[of] / unit).ravel(), (np.repeat(rows, span), x[of].ravel())),
            shape=(len(rows), columns),
        )

    def one(rows: IntArray, at: IntArray, value: float) -> coo_array:
        return coo_array((np.full(len(rows), value), (rows, at)), shape=(len(rows), columns))

    every, edges = np.arange(n), np.arange(dag.edges)
    row_of = np.tile(np.arange(span), n)
    whole = coo_array((np.ones(n * span), (np.repeat(every, span), x.ravel())), (n, columns))
    load = coo_array(((ticks / unit).ravel(), (row_of, x.ravel())), (span, columns))
    total = coo_array((-np.ones(span), (np.arange(span), np.full(span, makespan))), (span, columns))
    room = np.maximum(graph.capacity, 1).astype(float)
    held = coo_array(((graph.memory[:, None] / room).ravel(), (row_of, x.ravel())), (span, columns))
    matrix = vstack(
        [
            work(edges, dag.targets) + one(edges, end[dag.sources], 1.0)
            + one(edges, end[dag.targets], -1.0),
            work(every, every) + one(every, end, -1.0),
            one(every, end, 1.0) + one(every, np.full(n, makespan), -1.0),
            load + total,
            held,
        ]
    )  # fmt: skip
    at_most = np.zeros(matrix.shape[0])
    at_most[-span:] = graph.capacity / room
    cost = np.zeros(columns)
    cost[makespan] = 1.0
    bounds = np.zeros((columns, 2))
    bounds[:, 1] = np.inf
    bounds[: n * span, 1] = graph.is_supported.ravel()
    found = minimum(
        cost, (csr_array(matrix), at_most), bounds, budget, (csr_array(whole), np.ones(n))
    )
    return found[: n * span].reshape(n, span)
