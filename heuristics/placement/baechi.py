"""`m-topo`, `m-etf` and `m-sct`: the methods of Baechi ([BAECHI20], Section 3).

`m-topo` fills one device after another in topological order. `m-etf` places the operator and the
device that can start first (after [ETF89]). In `m-sct`, devices also wait for favourite children, a
linear program's choice of consumers that share the device of their producer ([HANEN01]).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from boundmark.heuristics.placement.greedy_kernels import earliest_start
from boundmark.heuristics.placement.heft import mean_durations, mean_transfers
from boundmark.heuristics.placement.incumbent import PlacementIncumbent
from boundmark.heuristics.placement.room import leaving_room, require_room
from boundmark.problems.arrays import IntArray
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementGraph, PlacementInstance


@leaving_room
def run_m_topo(
    instance: PlacementInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the placement; raises `UnsupportedError` if no room is found."""
    PlacementIncumbent(instance, progress).evaluate(require_room(instance, filled(instance)))


@leaving_room
def run_m_etf(
    instance: PlacementInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the placement, scheduled by longest paths and in the order found."""
    best = PlacementIncumbent(instance, progress)
    devices, starts = earliest_start(best.arrays, np.full(instance.nodes, -1))
    best.evaluate_list_schedule(devices, -starts)


@leaving_room
def run_m_sct(
    instance: PlacementInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the placement, scheduled by longest paths and in the order found."""
    favourite = favourite_children(instance.graph, budget)
    best = PlacementIncumbent(instance, progress)
    devices, starts = earliest_start(best.arrays, favourite)
    best.evaluate_list_schedule(devices, -starts)


def filled(instance: PlacementInstance) -> IntArray:
    """Return the placement of `m-topo`, shape (n,), which may exceed the last device's capacity.

    A device gets operators until it would hold more than the mean over all devices and the largest
    operator together, or more than its capacity. So all devices hold about the same.
    """
    graph = instance.graph
    cap = int(graph.memory.sum()) // graph.devices + int(graph.memory.max())
    devices = np.empty(graph.nodes, dtype=np.int64)
    device = held = 0
    for node in graph.dag.topological_order.tolist():
        needed = int(graph.memory[node])
        if held + needed > min(cap, int(graph.capacity[device])) and device + 1 < graph.devices:
            device, held = device + 1, 0
        devices[node] = device
        held += needed
    return devices


def edge_times(graph: PlacementGraph) -> IntArray:
    """Return the mean time of the longest transfer along each edge of the graph, shape (m,)."""
    dag = graph.dag
    moved = mean_transfers(graph)
    tensor, reader = graph.readings
    # Edges are sorted by producer and consumer.
    key = dag.sources * graph.nodes + dag.targets
    edge = np.searchsorted(key, graph.producer[tensor] * graph.nodes + reader)
    times = np.zeros(dag.edges, dtype=np.int64)
    np.maximum.at(times, edge, moved[tensor])
    return times


def favourite_children(graph: PlacementGraph, budget: Budget) -> IntArray:
    """Return the favourite child of each operator, -1 where it has none, shape (n,).

    With unlimited devices, an operator's favourite child need not wait for a transfer; each
    operator has at most one, and is the favourite child of at most one. The program has start times
    s and a variable e per edge, which is 0 if the edge's target is the favourite child of its
    source: ``s_i + p_i + c_ij e_ij <= s_j``; of the edges that leave an operator, or enter it, all
    but one have e = 1. In the linear relaxation, the target is the favourite child if e < 1/2,
    which holds for at most one of these edges. Costs are means over the devices.
    """
    from scipy.sparse import csr_array, vstack

    dag, n = graph.dag, graph.nodes
    favourite = np.full(n, -1, dtype=np.int64)
    if not dag.edges:
        return favourite
    ticks = mean_durations(graph).astype(float)
    moved = edge_times(graph).astype(float)
    # In units in which the numbers are small.
    unit = max(1.0, ticks.max(), moved.max())
    edges, columns = np.arange(dag.edges), dag.edges + n + 1
    ones = np.ones(dag.edges)

    def rows(count: int, *parts: tuple[IntArray, IntArray, np.ndarray]) -> csr_array:
        row, column, value = (np.concatenate(column) for column in zip(*parts, strict=True))
        return csr_array((value, (row, column)), shape=(count, columns))

    start, makespan = dag.edges + np.arange(n), dag.edges + n
    precedence = rows(
        dag.edges,
        (edges, start[dag.sources], ones),
        (edges, start[dag.targets], -ones),
        (edges, edges, moved / unit),
    )
    out_degree = np.bincount(dag.sources, minlength=n)
    in_degree = np.bincount(dag.targets, minlength=n)
    leaving = rows(n, (dag.sources, edges, -ones))
    arriving = rows(n, (dag.targets, edges, -ones))
    every = np.arange(n)
    ends = rows(n, (every, start, np.ones(n)), (every, np.full(n, makespan), -np.ones(n)))
    cost = np.zeros(columns)
    cost[makespan] = 1.0
    bounds = np.zeros((columns, 2))
    bounds[:, 1] = np.inf
    bounds[edges, 1] = 1.0
    x = minimum(
        cost,
        (
            vstack([precedence, leaving, arriving, ends]).tocsr(),
            np.concatenate(
                [-ticks[dag.sources] / unit, 1.0 - out_degree, 1.0 - in_degree, -ticks / unit]
            ),
        ),
        bounds,
        budget,
    )
    # A little less than a half, for the solver's tolerance.
    chosen = x[edges] < 0.5 - 1e-6
    favourite[dag.sources[chosen]] = dag.targets[chosen]
    return favourite


def minimum(
    cost: NDArray[np.float64],
    at_most: tuple[Any, NDArray[np.float64]],
    bounds: NDArray[np.float64],
    budget: Budget,
    equal: tuple[Any, NDArray[np.float64]] | tuple[None, None] = (None, None),
) -> NDArray[np.float64]:
    """Return x that minimises ``cost x``.

    By HiGHS as scipy brings it: unlike highspy it gets along with other solvers in one process.
    Pairs of a sparse matrix A and a vector b say ``A x <= b`` and ``A x = b``; the bounds, shape
    (columns, 2), are the least and the largest value of each x. It raises `UnsupportedError` if the
    time is up before.
    """
    from scipy.optimize import linprog

    result = linprog(
        cost, *at_most, *equal, bounds, method="highs", options={"time_limit": budget.remaining()}
    )
    if result.status != 0:
        raise UnsupportedError("the linear program was not solved in the time that there was.")
    return np.asarray(result.x)
