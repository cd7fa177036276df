"""`moirai-milp`: placement and schedule as one mixed-integer program ([MOIRAI24])."""

from boundmark.bounds.best import Best
from boundmark.bounds.mip.claims import claim
from boundmark.bounds.mip.solvers import SOLVERS
from boundmark.bounds.mip.solvers.search import Search
from boundmark.bounds.placement.programs.columns import Columns
from boundmark.bounds.placement.programs.linear import linear_model
from boundmark.bounds.placement.programs.sequences import quick_schedule
from boundmark.bounds.placement.programs.twins import relabelled
from boundmark.bounds.placement.programs.windows import longest_schedule
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.lookup import find
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementInstance

# A program of more pairs than this does not get beyond its first relaxation in minutes.
MOST_PAIRS = 40_000


def run(
    instance: PlacementInstance, budget: Budget, seed: int, progress: Progress, *, solver: str
) -> None:
    """Report a quick schedule, then what the solver finds, and its bound as a claim.

    Raises
    ------
    UnsupportedError
        If the program would be too large, or the operators do not fit into the memory.
    """
    solve = find("solver", solver, SOLVERS)
    graph = instance.graph
    if graph.nodes**2 > 4 * MOST_PAIRS:
        raise UnsupportedError(f"{graph.nodes} operators would make the program too large.")
    best = Best(instance, progress)
    horizon = longest_schedule(graph)
    start = quick_schedule(instance)
    if start is not None:
        start = relabelled(instance, start)
        best.solution(start)
        horizon = int(best.objective)
    columns = Columns(instance, horizon)
    pairs = len(columns.before) + len(columns.move_before)
    if pairs > MOST_PAIRS:
        raise UnsupportedError(
            f"the program would have {pairs:,} pairs of what may overlap; expected at most "
            f"{MOST_PAIRS:,}."
        )

    if budget.is_spent():
        return
    model = linear_model(columns)
    if budget.is_spent():
        return

    def on_bound(ticks: float) -> None:
        claim("moirai-milp", min(ticks, best.objective), best)

    outcome = solve(
        model,
        Search(
            budget,
            seed,
            start=None if start is None else columns.values(start),
            on_incumbent=lambda values: best.solution(columns.schedule(values)),
            on_bound=on_bound,
        ),
    )
    if outcome.bound == float("inf") and start is None and best.objective == float("inf"):
        raise UnsupportedError("the operators do not fit into the devices' memory.")
    on_bound(outcome.bound)
