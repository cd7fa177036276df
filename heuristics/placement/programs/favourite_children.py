"""Favourite children: with whom an operator shares its device ([HANEN01]), by a linear program."""

import numpy as np

from boundmark.heuristics.placement.programs.solving import minimum
from boundmark.heuristics.placement.schedules.mean_costs import mean_durations, mean_transfers
from boundmark.problems.arrays import IntArray
from boundmark.problems.method import Budget
from boundmark.problems.placement import PlacementGraph


def edge_times(graph: PlacementGraph) -> IntArray:
    """Return the mean time of the longest transfer along each edge of the graph, shape (m,)."""
    dag = graph.dag
    moved = mean_transfers(graph)
    lengths = [len(readers) for readers in graph.consumers]
    readers = np.array([v for row in graph.consumers for v in row], dtype=np.int64)
    # Edges are sorted by producer and consumer.
    key = dag.sources * graph.nodes + dag.targets
    edge = np.searchsorted(key, np.repeat(graph.producer, lengths) * graph.nodes + readers)
    times = np.zeros(dag.edges, dtype=np.int64)
    np.maximum.at(times, edge, np.repeat(moved, lengths))
    return times


def favourite_children(graph: PlacementGraph, budget: Budget) -> IntArray:
    """Return the favourite child of each operator, -1 where it has none, shape (n,).

    With as many devices as one likes, an operator's favourite child need not wait for a transfer;
    each has at most one, and is that of one at most. There are start times s, and a variable e per
    edge that is 0 if the edge's end is the favourite child of its beginning:
    ``s_i + p_i + c_ij e_ij <= s_j``; of the edges that leave an operator, or arrive, all but one
    are 1. In the linear relaxation, an edge counts if e < 1/2, which at most one of them can be.
    Costs are means over the devices.

    Raises
    ------
    UnsupportedError
        If the time is up before the program is solved.
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
