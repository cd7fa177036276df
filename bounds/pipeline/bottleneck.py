"""`bottleneck` and `bottleneck-guess`: the paper's three-superblock programs ([MTPP24], 3.2, 3.3).

One superblock is a single stage, the others are all stages before it and all stages after it.
`bottleneck-guess` solves one program for each position of the single stage.
"""

from functools import partial

import numpy as np

from boundmark.bounds.best import Best
from boundmark.bounds.mip import SOLVERS
from boundmark.bounds.mip.linear_model import LinearModel, RowCollector
from boundmark.bounds.mip.solving import Search, claim
from boundmark.bounds.pipeline.superblock_columns import (
    SuperblockColumns,
    add_cost_rows,
    add_cut_rows,
    add_order_rows,
    add_work_row,
)
from boundmark.problems.lookup import find
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph


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
    instance: PipelineInstance, budget: Budget, seed: int, progress: Progress, *, solver: str
) -> None:
    """Claim the smallest bound over all positions of the stage.

    Each guess gets an equal part of the time that is left, and stops as soon as its bound reaches
    the smallest one of the guesses before it. Those in the middle come first: they are the smallest
    more often than not. A guess that time does not reach counts with the simple bound.
    """
    solve = find("solver", solver, SOLVERS)
    graph, k = instance.graph, instance.k
    simple = simple_bound(graph, k)
    best = Best(instance, progress)
    report = partial(claim, "bottleneck-guess", progress=best)
    report(simple)
    smallest = float("inf")
    guesses = sorted(range(1, k + 1), key=lambda guess: abs(2 * guess - k - 1))
    for done, guess in enumerate(guesses):
        if smallest <= simple or budget.is_spent():
            return
        search = Search(budget.part(1 / (k - done)), seed, enough=smallest)
        outcome = solve(guess_model(graph, k, guess), search)
        smallest = min(smallest, max(simple, outcome.bound))
    report(smallest)


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
