"""The search that the exact programs have in common."""

from boundmark.bounds.best import Best
from boundmark.bounds.mip.claims import claim
from boundmark.bounds.mip.linear_model import LinearModel
from boundmark.bounds.mip.solvers.search import Search, Solve
from boundmark.bounds.pipeline.mip.superblock_columns import SuperblockColumns
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import Partition


def search_exactly(
    solve: Solve,
    model: LinearModel,
    columns: SuperblockColumns,
    best: Best,
    kind: str,
    budget: Budget,
    seed: int,
    start: Partition | None = None,
) -> None:
    """Report the partitions that a solver finds, and its bound on the optimum.

    The model may leave out partitions that are no better than the best one known: what the solver
    proves of the others, or the cost of that one, bounds the optimum.

    Parameters
    ----------
    kind
        Of the claims.
    start
        A partition to begin with.
    """

    def on_bound(ticks: float) -> None:
        claim(kind, min(ticks, best.objective), best)

    outcome = solve(
        model,
        Search(
            budget,
            seed,
            start=None if start is None else columns.values(start),
            on_incumbent=lambda values: best.solution(columns.partition(values)),
            on_bound=on_bound,
        ),
    )
    on_bound(outcome.bound)
