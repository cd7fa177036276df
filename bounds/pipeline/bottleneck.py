"""`bottleneck` and `bottleneck-guess`: the paper's three-superblock programs ([MTPP24], 3.2, 3.3).

One superblock is a single stage, the others are all stages before it and all stages after it.
`bottleneck-guess` solves one program for each position of the single stage.
"""

from collections.abc import Callable
from dataclasses import dataclass
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
from boundmark.problems.errors import find
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


@dataclass(frozen=True)
class GuessSettings:
    """How `bottleneck-guess` divides its time.

    Attributes
    ----------
    bottleneck_share
        Fraction of the time for the program without a guess, whose bound holds for all guesses.
    first_pass_share
        Fraction of the time that is left then for a first look at every guess, in equal parts. The
        rest goes to the guess with the smallest bound, again and again.
    """

    bottleneck_share: float = 0.5
    first_pass_share: float = 0.5


def run_bottleneck_guess(
    instance: PipelineInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    *,
    solver: str,
    settings: GuessSettings = GuessSettings(),
) -> None:
    """Claim the smallest bound over all positions of the stage.

    The program of `bottleneck` comes first and has half of the time; its bound holds for every
    guess, so no claim is below what `bottleneck` proves in half of the time. With all of it,
    `bottleneck` may still be ahead. Every guess is then solved for an equal part of some of the
    time that is left, those in the middle first: they are the smallest more often than not. A
    solver stops when its bound reaches the smallest one so far. Then the guess with the smallest
    bound is solved again with all the time that is left, up to the next larger bound, until the
    smallest is an optimum or the time is up.
    """
    solve = find("solver", solver, SOLVERS)
    graph, k = instance.graph, instance.k
    best = Best(instance, progress)
    report = partial(claim, "bottleneck-guess", progress=best)
    floor = float(simple_bound(graph, k))
    report(floor)
    whole = Search(budget.part(settings.bottleneck_share), seed, on_bound=report)
    floor = max(floor, solve(bottleneck_model(graph, k), whole).bound)
    report(floor)

    bounds = dict.fromkeys(range(1, k + 1), floor)
    finished: set[int] = set()

    def solve_guess(guess: int, time: Budget, search: Search) -> None:
        if not time.is_spent():
            outcome = solve(guess_model(graph, k, guess), search)
            bounds[guess] = max(bounds[guess], outcome.bound)
            if outcome.finished:
                finished.add(guess)

    first_pass = budget.part(settings.first_pass_share)
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
        improve = partial(_report_smallest, report, others)
        solve_guess(guess, rest, Search(rest, seed, on_bound=improve, enough=larger))
        report(min(bounds.values()))
        if bounds[guess] == before:
            # The solver is no further than when it had less time.
            return


def _report_smallest(report: Callable[[float], None], others: float, ticks: float) -> None:
    report(min(ticks, others))


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
