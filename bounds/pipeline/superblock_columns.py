"""Columns and rows that all formulations share ([MTPP24], Figure 3).

A superblock is one stage, or several stages in a row. y[v][b] says that node v is in superblock b
or before, for b = 0 .. superblocks, with y[v][0] = 0 and y[v][superblocks] = 1. By Equation 11,
x[v][b] = y[v][b] - y[v][b - 1] says that v is in superblock b; x is eliminated, as the paper
recommends. c[u][b] says that u's tensor enters or leaves superblock b, for the superblocks whose
cost counts. Only y has to be integer (the paper, after Figure 3).

The paper drops the overflow term. Here it is one linear column per superblock, at least 0 and
at least ``sum over v of param_load[v] x[v][b] - cache``, if parameters can overflow at all.
"""

from dataclasses import dataclass

import numpy as np

from boundmark.bounds.mip.linear_model import UNBOUNDED, FloatArray, LinearModel, RowCollector
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.pipeline import Partition
from boundmark.problems.pipeline.graph import PipelineGraph
from boundmark.problems.pipeline.instance import stage_costs, stage_overflow


@dataclass(frozen=True, eq=False)
class SuperblockColumns:
    """The numbering of a program's columns.

    Attributes
    ----------
    superblocks
        Number of superblocks or superblocks.
    costed
        The superblocks whose cost counts, counted from 1, ascending.
    """

    graph: PipelineGraph
    superblocks: int
    costed: tuple[int, ...]

    def y(self, nodes: IntArray, superblock: int) -> IntArray:
        """Return the columns y[v][superblock] for nodes v."""
        return nodes * (self.superblocks + 1) + superblock

    def c(self, producers: IntArray, superblock: int) -> IntArray:
        """Return the columns c[u][superblock] for producers u."""
        first = self.graph.dag.nodes * (self.superblocks + 1 + self.costed.index(superblock))
        return first + producers

    def overflow(self, superblock: int) -> int:
        """Return the column of a superblock's overflow."""
        return self._overflow_start + self.costed.index(superblock)

    @property
    def bottleneck(self) -> int:
        """The column to minimise, the last one."""
        overflows = 0 if self.graph.is_cached else len(self.costed)
        return self._overflow_start + overflows

    @property
    def _overflow_start(self) -> int:
        return self.graph.dag.nodes * (self.superblocks + 1 + len(self.costed))

    def bounds(self) -> tuple[IntArray, IntArray]:
        """Return lower and upper bounds of all columns, to be narrowed by the formulation."""
        lower = np.zeros(self.bottleneck + 1, dtype=np.int64)
        upper = np.full(self.bottleneck + 1, UNBOUNDED)
        nodes = np.arange(self.graph.dag.nodes)
        for superblock in range(self.superblocks + 1):
            upper[self.y(nodes, superblock)] = 1
        upper[self.y(nodes, 0)] = 0
        lower[self.y(nodes, self.superblocks)] = 1
        return lower, upper

    def model(self, lower: IntArray, upper: IntArray, rows: RowCollector) -> LinearModel:
        """Return the finished model."""
        number = np.arange(self.bottleneck + 1)
        return LinearModel(
            lower=frozen(lower),
            upper=frozen(upper),
            is_integer=number < self.graph.dag.nodes * (self.superblocks + 1),
            is_cost=number >= self._overflow_start,
            objective=self.bottleneck,
            **rows.csr(),
        )

    def partition(self, values: FloatArray) -> Partition:
        """Return the partition encoded by a solver's values."""
        nodes = self.graph.dag.nodes
        y = values[: nodes * (self.superblocks + 1)].reshape(nodes, self.superblocks + 1)
        return Partition(frozen((y < 0.5).sum(axis=1) - 1))

    def values(self, partition: Partition) -> IntArray:
        """Return the columns' values for a partition in pipeline order, all superblocks costed."""
        values = np.zeros(self.bottleneck + 1, dtype=np.int64)
        stages, dag = partition.stages, self.graph.dag
        nodes = np.arange(dag.nodes)
        tails, heads = stages[dag.sources], stages[dag.targets]
        for superblock in range(1, self.superblocks + 1):
            values[self.y(nodes, superblock)] = stages < superblock
            touched = (tails != heads) & ((tails == superblock - 1) | (heads == superblock - 1))
            values[self.c(dag.sources[touched], superblock)] = 1
        if not self.graph.is_cached:
            overflow = stage_overflow(self.graph, stages, self.superblocks)
            values[self._overflow_start : self.bottleneck] = overflow
        values[self.bottleneck] = stage_costs(self.graph, stages, self.superblocks).max()
        return values


def add_order_rows(columns: SuperblockColumns, rows: RowCollector) -> None:
    """Add Equation 8, ``y[u][b] >= y[v][b]`` for edges (u, v), and ``y[v][b - 1] <= y[v][b]``.

    Both hold by the bounds for the first and the last b.
    """
    dag = columns.graph.dag
    nodes = np.arange(dag.nodes)
    difference = np.array([1, -1])
    for superblock in range(1, columns.superblocks):
        ends = [columns.y(dag.sources, superblock), columns.y(dag.targets, superblock)]
        rows.add(np.stack(ends, axis=1), difference, lower=0)
        if superblock > 1:
            steps = [columns.y(nodes, superblock), columns.y(nodes, superblock - 1)]
            rows.add(np.stack(steps, axis=1), difference, lower=0)


def add_cut_rows(columns: SuperblockColumns, rows: RowCollector, superblock: int) -> None:
    """Add Equations 9 and 10 for every edge (u, v).

    ``c[u][b] >= y[u][b - 1] + x[v][b] - 1`` and ``c[u][b] >= x[u][b] - y[v][b]``.
    """
    dag = columns.graph.dag
    c = columns.c(dag.sources, superblock)
    u_before, u_here = columns.y(dag.sources, superblock - 1), columns.y(dag.sources, superblock)
    v_before, v_here = columns.y(dag.targets, superblock - 1), columns.y(dag.targets, superblock)
    entering = np.stack([c, u_before, v_here, v_before], axis=1)
    rows.add(entering, np.array([1, -1, -1, 1]), lower=-1)
    leaving = np.stack([c, u_here, u_before, v_here], axis=1)
    rows.add(leaving, np.array([1, -1, 1, 1]), lower=0)


def add_cost_rows(
    columns: SuperblockColumns, rows: RowCollector, superblock: int, merged_superblocks: int = 1
) -> None:
    """Add Equations 6 and 7 with superblock_b eliminated, and the overflow.

    Parameters
    ----------
    merged_superblocks
        How many superblocks this superblock stands for: the bottleneck is at least the cost of the
        average one (Section 3.3), and as many caches hold its parameters.
    """
    graph = columns.graph
    here, before, nodes = _membership(columns, superblock)
    bottleneck = np.array([columns.bottleneck])
    cost = [here, before, columns.c(nodes, superblock), bottleneck]
    values = [-graph.work, graph.work, -graph.transfer, np.array([merged_superblocks])]
    if not graph.is_cached:
        overflow = np.array([columns.overflow(superblock)])
        cost.append(overflow)
        values.append(np.array([-1]))
        load = [overflow, here, before]
        load_values = [np.array([1]), -graph.param_load, graph.param_load]
        rows.add(
            np.concatenate(load)[None, :],
            np.concatenate(load_values),
            lower=-graph.cache * merged_superblocks,
        )
    rows.add(np.concatenate(cost)[None, :], np.concatenate(values), lower=0)


def add_work_row(
    columns: SuperblockColumns, rows: RowCollector, superblock: int, least: int
) -> None:
    """Add Equation 14, ``sum over v of work[v] x[v][b] >= least``."""
    here, before, _ = _membership(columns, superblock)
    work = columns.graph.work
    rows.add(np.concatenate([here, before])[None, :], np.concatenate([work, -work]), lower=least)


def _membership(columns: SuperblockColumns, superblock: int) -> tuple[IntArray, IntArray, IntArray]:
    nodes = np.arange(columns.graph.dag.nodes)
    return columns.y(nodes, superblock), columns.y(nodes, superblock - 1), nodes
