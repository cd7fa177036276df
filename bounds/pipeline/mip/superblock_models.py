"""Three-superblock relaxations: before, at and after one superblock ([MTPP24], 3.2 and 3.3)."""

import numpy as np

from boundmark.bounds.mip.linear_model import LinearModel, RowCollector
from boundmark.bounds.pipeline.mip.superblock_columns import (
    SuperblockColumns,
    add_cost_rows,
    add_cut_rows,
    add_order_rows,
    add_work_row,
)
from boundmark.problems.pipeline.graph import PipelineGraph


def simple_bound(graph: PipelineGraph, k: int) -> int:
    """Return L of Lemma 3.3 (Equation 13): some superblock has as much work.

    Work is an integer, so L is rounded up.
    """
    return max(int(graph.work.max()), -(-int(graph.work.sum()) // k))


def bottleneck_model(graph: PipelineGraph, k: int) -> LinearModel:
    """Return the relaxation of Section 3.2: only the middle superblock costs, and has work L."""
    columns = SuperblockColumns(graph, superblocks=3, costed=(2,))
    rows = RowCollector()
    add_order_rows(columns, rows)
    add_cut_rows(columns, rows, 2)
    add_cost_rows(columns, rows, 2)
    add_work_row(columns, rows, 2, simple_bound(graph, k))
    lower, upper = columns.bounds()
    return columns.model(lower, upper, rows)


def guess_model(graph: PipelineGraph, k: int, guess: int) -> LinearModel:
    """Return the relaxation of Section 3.3: superblock `guess`, counted from 1, has work L.

    The superblocks before and after it cost what their average superblock does at least.
    """
    merged = {1: guess - 1, 2: 1, 3: k - guess}
    costed = tuple(superblock for superblock, count in merged.items() if count)
    columns = SuperblockColumns(graph, superblocks=3, costed=costed)
    rows = RowCollector()
    add_order_rows(columns, rows)
    for superblock in costed:
        add_cut_rows(columns, rows, superblock)
        add_cost_rows(columns, rows, superblock, merged_superblocks=merged[superblock])
    add_work_row(columns, rows, 2, simple_bound(graph, k))
    lower, upper = columns.bounds()
    nodes = np.arange(graph.dag.nodes)
    if guess == 1:
        upper[columns.y(nodes, 1)] = 0
    if guess == k:
        lower[columns.y(nodes, 2)] = 1
    return columns.model(lower, upper, rows)
