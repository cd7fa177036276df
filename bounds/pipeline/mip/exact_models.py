"""Exact formulations: as printed ([MTPP24], Figure 3), and a stronger one."""

import numpy as np

from boundmark.bounds.mip.linear_model import LinearModel, RowCollector
from boundmark.bounds.pipeline.mip.superblock_columns import (
    SuperblockColumns,
    add_cost_rows,
    add_cut_rows,
    add_order_rows,
)
from boundmark.bounds.pipeline.shares.windows import Windows
from boundmark.problems.pipeline.graph import PipelineGraph


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
