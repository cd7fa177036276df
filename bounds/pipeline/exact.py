"""`exact` and `exact-strong`: one program with all stages ([MTPP24], Figure 3).

`exact` is the program as printed. `exact-strong` has stronger cut rows, windows of stages for the
nodes, a cutoff and a floor.
"""

from functools import partial

import numpy as np

from boundmark.bounds.best import Best
from boundmark.bounds.mip import SOLVERS
from boundmark.bounds.mip.linear_model import LinearModel, RowCollector
from boundmark.bounds.mip.solving import Search, claim, claim_up_to_best
from boundmark.bounds.pipeline.quick_partition import quick_partition, segmented
from boundmark.bounds.pipeline.share import FEW_IO_WEIGHTS, share_table
from boundmark.bounds.pipeline.superblock_columns import (
    SuperblockColumns,
    add_cost_rows,
    add_cut_rows,
    add_order_rows,
)
from boundmark.bounds.pipeline.windows import Windows, threshold_windows
from boundmark.problems.errors import find
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph


def run_exact(
    instance: PipelineInstance, budget: Budget, seed: int, progress: Progress, *, solver: str
) -> None:
    """Report the solver's partitions and bounds; start from a segmentation of the graph's order."""
    solve = find("solver", solver, SOLVERS)
    best = Best(instance, progress)
    start = segmented(instance, instance.graph.dag.topological_order)
    best.solution(start)
    columns = exact_columns(instance.graph, instance.k)
    report = partial(claim_up_to_best, "exact", best)
    search = Search(
        budget,
        seed,
        start=columns.values(start),
        on_incumbent=lambda values: best.solution(columns.partition(values)),
        on_bound=report,
    )
    report(solve(exact_model(columns), search).bound)


def run_exact_strong(
    instance: PipelineInstance, budget: Budget, seed: int, progress: Progress, *, solver: str
) -> None:
    """Report a quick partition and the share bound, then search for anything cheaper.

    The program is about partitions that cost less than the quick one. Its bound, or that cost if
    there are none, bounds the optimum.
    """
    solve = find("solver", solver, SOLVERS)
    graph, k = instance.graph, instance.k
    best = Best(instance, progress)
    table = share_table(graph, FEW_IO_WEIGHTS)
    floor = table.bound(k)
    claim("exact-strong", floor, best)
    start = quick_partition(instance, seed, budget.part(0.1), floor)
    best.solution(start)
    cost = instance.objective(start)
    if cost <= floor:
        return
    windows = threshold_windows(graph, k, cost - 1, table.io(cost - 1))
    if not windows.are_possible:
        claim("exact-strong", cost, best)
        return
    columns = exact_columns(graph, k)
    model = strong_model(columns, windows, floor, cost - 1)
    report = partial(claim_up_to_best, "exact-strong", best)
    search = Search(
        budget,
        seed,
        on_incumbent=lambda values: best.solution(columns.partition(values)),
        on_bound=report,
    )
    report(solve(model, search).bound)


def exact_columns(graph: PipelineGraph, k: int) -> SuperblockColumns:
    """Return the columns of both formulations."""
    return SuperblockColumns(graph, superblocks=k, costed=tuple(range(1, k + 1)))


def exact_model(columns: SuperblockColumns) -> LinearModel:
    """Return the formulation of Figure 3."""
    rows = RowCollector()
    add_order_rows(columns, rows)
    for superblock in columns.costed:
        add_cut_rows(columns, rows, superblock)
        add_cost_rows(columns, rows, superblock)
    lower, upper = columns.bounds()
    return columns.model(lower, upper, rows)


def strong_model(
    columns: SuperblockColumns, windows: Windows, smallest_cost: int, largest_cost: int
) -> LinearModel:
    """Return a formulation of all partitions that cost from `smallest_cost` to `largest_cost`.

    Parameters
    ----------
    windows
        The stages that each node may take in such a partition.
    """
    rows = RowCollector()
    add_order_rows(columns, rows)
    for superblock in columns.costed:
        _add_strong_cut_rows(columns, rows, superblock)
        add_cost_rows(columns, rows, superblock)
    lower, upper = columns.bounds()
    nodes = np.arange(columns.graph.dag.nodes)
    for superblock in columns.costed:
        upper[columns.c(nodes, superblock)] = 1
        upper[columns.y(nodes, superblock)[windows.first >= superblock]] = 0
        lower[columns.y(nodes, superblock)[windows.last < superblock]] = 1
    lower[columns.bottleneck] = smallest_cost
    upper[columns.bottleneck] = largest_cost
    return columns.model(lower, upper, rows)


def _add_strong_cut_rows(columns: SuperblockColumns, rows: RowCollector, superblock: int) -> None:
    """Add ``c[u][b] >= x[v][b] - x[u][b]`` and ``c[u][b] >= x[u][b] - x[v][b]`` for edges (u, v).

    They imply Equations 9 and 10, with ``1 - y[u][b]`` and ``y[v][b - 1]`` to spare.
    """
    dag = columns.graph.dag
    c = columns.c(dag.sources, superblock)
    u_before, u_here = columns.y(dag.sources, superblock - 1), columns.y(dag.sources, superblock)
    v_before, v_here = columns.y(dag.targets, superblock - 1), columns.y(dag.targets, superblock)
    ends = np.stack([c, v_here, v_before, u_here, u_before], axis=1)
    rows.add(ends, np.array([1, -1, 1, 1, -1]), lower=0)
    rows.add(ends, np.array([1, 1, -1, -1, 1]), lower=0)
