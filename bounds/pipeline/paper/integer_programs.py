"""The paper's programs, claimed by a solver: `bottleneck`, `bottleneck-guess`, `exact` ([MTPP24]).

`exact` has all stages in it (Figure 3). In the three-superblock programs (Sections 3.2 and 3.3),
one superblock is a single stage, the others are all stages before it and all stages after it;
`bottleneck-guess` solves one for each position of the single stage.

A superblock is one stage, or several stages in a row. y[v][b] says that node v is in superblock b
or before, for b = 0 .. superblocks, with y[v][0] = 0 and y[v][superblocks] = 1. By Equation 11,
x[v][b] = y[v][b] - y[v][b - 1] says that v is in superblock b; x is eliminated, as the paper
recommends. c[u][b] says that u's tensor enters or leaves superblock b, for the superblocks whose
cost counts. Only y has to be integer (the paper, after Figure 3).

The paper drops the overflow term. Here it is one linear column per superblock, at least 0 and
at least ``sum over v of param_load[v] x[v][b] - cache``, if parameters can overflow at all.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from boundmark.bounds.best import Best
from boundmark.bounds.mip import SOLVERS
from boundmark.bounds.mip.linear_model import UNBOUNDED, FloatArray, LinearModel, RowCollector
from boundmark.bounds.mip.solving import Search, claim, claim_up_to_best
from boundmark.bounds.pipeline.quick_partition import segmented
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.errors import find
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import Partition, PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph
from boundmark.problems.pipeline.instance import stage_costs, stage_overflow


def run_bottleneck(
    instance: PipelineInstance, budget: Budget, seed: int, progress: Progress, *, solver: str
) -> None:
    """Claim the simple bound of Lemma 3.3, then the solver's bound of the program."""
    solve = find("solver", solver, SOLVERS)
    best = Best(instance, progress)
    report = partial(claim, "bottleneck", progress=best)
    report(simple_bound(instance.graph, instance.k))
    model = bottleneck_model(instance.graph, instance.k)
    report(solve(model, Search(budget, seed, on_bound=report)).bound)


def run_bottleneck_guess(
    instance: PipelineInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    *,
    solver: str,
) -> None:
    """Claim the smallest bound over all positions of the stage, at least the simple bound.

    Every guess is solved for an equal part of half of the time, those in the middle first: they are
    the smallest more often than not. A solver stops when its bound reaches the smallest one so far.
    Then the guess with the smallest bound is solved again with all the time that is left, up to the
    next larger bound, until the smallest is an optimum or the time is up.
    """
    solve = find("solver", solver, SOLVERS)
    graph, k = instance.graph, instance.k
    report = partial(claim, "bottleneck-guess", progress=Best(instance, progress))
    floor = float(simple_bound(graph, k))
    report(floor)
    bounds = dict.fromkeys(range(1, k + 1), floor)
    finished: set[int] = set()

    def solve_guess(guess: int, time: Budget, search: Search) -> None:
        if not time.is_spent():
            outcome = solve(guess_model(graph, k, guess), search)
            bounds[guess] = max(bounds[guess], outcome.bound)
            if outcome.finished:
                finished.add(guess)

    def report_smallest(others: float, ticks: float) -> None:
        report(min(ticks, others))

    first_pass = budget.part(0.5)
    smallest = float("inf")
    for done, guess in enumerate(sorted(bounds, key=lambda guess: abs(2 * guess - k - 1))):
        part = first_pass.part(1 / (k - done))
        solve_guess(guess, part, Search(part, seed, enough=smallest))
        smallest = min(smallest, bounds[guess])
    report(smallest)
    while not budget.is_spent():
        guess = min(bounds, key=bounds.__getitem__)
        before = bounds[guess]
        if guess in finished:
            return
        others = min((bounds[other] for other in bounds if other != guess), default=float("inf"))
        larger = min((bound for bound in bounds.values() if bound > before), default=float("inf"))
        rest = budget.part(1.0)
        # What is known of the others holds until they are solved again.
        improve = partial(report_smallest, others)
        solve_guess(guess, rest, Search(rest, seed, on_bound=improve, enough=larger))
        report(min(bounds.values()))
        if bounds[guess] == before:
            # The solver is no further than when it had less time.
            return


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


@dataclass(frozen=True, eq=False)
class SuperblockColumns:
    """The numbering of a program's columns."""

    graph: PipelineGraph
    # Number of superblocks.
    superblocks: int
    # The superblocks whose cost counts, counted from 1, ascending.
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
    columns: SuperblockColumns, rows: RowCollector, superblock: int, merged: int = 1
) -> None:
    """Add Equations 6 and 7 with the cost of superblock b eliminated, and the overflow."""
    # `merged`: How many stages this superblock stands for: the bottleneck is at least the cost of
    # the average one (Section 3.3), and as many caches hold its parameters.
    graph = columns.graph
    here, before, nodes = _membership(columns, superblock)
    bottleneck = np.array([columns.bottleneck])
    cost = [here, before, columns.c(nodes, superblock), bottleneck]
    values = [-graph.work, graph.work, -graph.transfer, np.array([merged])]
    if not graph.is_cached:
        overflow = np.array([columns.overflow(superblock)])
        cost.append(overflow)
        values.append(np.array([-1]))
        load = [overflow, here, before]
        load_values = [np.array([1]), -graph.param_load, graph.param_load]
        rows.add(
            np.concatenate(load)[None, :],
            np.concatenate(load_values),
            lower=-graph.cache * merged,
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


def simple_bound(graph: PipelineGraph, k: int) -> int:
    """Return L of Lemma 3.3 (Equation 13): some stage has as much work.

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
    """Return the relaxation of Section 3.3: stage `guess`, counted from 1, has work L.

    The superblocks before and after it cost what their average stage does at least.
    """
    merged = {1: guess - 1, 2: 1, 3: k - guess}
    costed = tuple(superblock for superblock, count in merged.items() if count)
    columns = SuperblockColumns(graph, superblocks=3, costed=costed)
    rows = RowCollector()
    add_order_rows(columns, rows)
    for superblock in costed:
        add_cut_rows(columns, rows, superblock)
        add_cost_rows(columns, rows, superblock, merged=merged[superblock])
    add_work_row(columns, rows, 2, simple_bound(graph, k))
    lower, upper = columns.bounds()
    nodes = np.arange(graph.dag.nodes)
    if guess == 1:
        upper[columns.y(nodes, 1)] = 0
    if guess == k:
        lower[columns.y(nodes, 2)] = 1
    return columns.model(lower, upper, rows)


def exact_columns(graph: PipelineGraph, k: int) -> SuperblockColumns:
    """Return the columns of `exact`."""
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
