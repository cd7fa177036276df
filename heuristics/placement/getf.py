"""`getf`: earliest start within a group of devices of similar speed ([GETF20])."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boundmark.heuristics.placement.baechi import minimum
from boundmark.heuristics.placement.greedy_kernels import earliest_start
from boundmark.heuristics.placement.heft import mean_durations
from boundmark.heuristics.placement.incumbent import PlacementIncumbent
from boundmark.heuristics.placement.room import leaving_room
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import UNSUPPORTED, PlacementGraph, PlacementInstance


@leaving_room
def run(
    instance: PlacementInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    *,
    gamma: float,
    **params: Any,
) -> None:
    """Report the placement, scheduled by longest paths and in the order found.

    An operator that no device of its group supports may go anywhere. Speeds within a group differ
    by less than `gamma`.
    """
    if not gamma > 1:
        raise InvalidInputError(f"gamma is {gamma}; expected more than 1.")
    graph = instance.graph
    speed = speeds(graph)
    group = speed_groups(speed, gamma)
    is_allowed = graph.is_supported
    if group.max() > 0:
        chosen = assigned_groups(graph, group, speed, budget)
        in_group = graph.is_supported & (group == chosen[:, None])
        is_allowed = np.where(in_group.any(axis=1)[:, None], in_group, graph.is_supported)
    best = PlacementIncumbent(instance, progress)
    duration = frozen(np.where(is_allowed, graph.duration, UNSUPPORTED))
    few = best.arrays._replace(duration=duration)
    devices, starts = earliest_start(few, np.full(instance.nodes, -1))
    best.evaluate_list_schedule(devices, -starts)


def speeds(graph: PlacementGraph) -> NDArray[np.float64]:
    """Return the speed of each device, shape (D,): mean durations over its own durations.

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
    # Rounding must not separate devices of equal speed.
    return np.asarray(np.floor(ratio + 1e-9), dtype=np.int64)


def assigned_groups(
    graph: PlacementGraph, group: IntArray, speed: NDArray[np.float64], budget: Budget
) -> IntArray:
    """Return the group of devices for each operator, shape (n,).

    The linear program spreads operators over devices, ``sum_d x_vd = 1``; all have to end by T,
    each after those before it, ``C_u + sum_d p_vd x_vd <= C_v <= T``, and a device runs for T at
    most. Of an operator, at least half is in its median group and faster ones; of these groups, it
    gets the one that is fastest altogether. Memory is a row per device.
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
    """Return the share of each operator that the linear program puts on each device, (n, D)."""
    from scipy.sparse import coo_array, csr_array, vstack

    n, span, dag = graph.nodes, graph.devices, graph.dag
    ticks = np.where(graph.is_supported, graph.duration, 0).astype(float)
    unit = max(1.0, float(ticks.max()))
    columns = n * span + n + 1
    x = np.arange(n * span).reshape(n, span)
    end, makespan = n * span + np.arange(n), n * span + n

    def work(rows: IntArray, of: IntArray) -> coo_array:
        """Return the rows of operators' durations, spread over devices."""
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
