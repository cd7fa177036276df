"""`bottleneck-guess`: such a program for each position of the stage ([MTPP24], Section 3.3)."""

from functools import partial

from boundmark.bounds.best import Best
from boundmark.bounds.mip.claims import claim
from boundmark.bounds.mip.solvers import SOLVERS
from boundmark.bounds.mip.solvers.search import Search
from boundmark.bounds.pipeline.mip.superblock_models import guess_model, simple_bound
from boundmark.problems.lookup import find
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import PipelineInstance


def run(
    instance: PipelineInstance, budget: Budget, seed: int, progress: Progress, *, solver: str
) -> None:
    """Report the smallest bound of all guesses.

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
