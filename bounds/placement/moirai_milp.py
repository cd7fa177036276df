"""`moirai-milp`: placement and schedule as one mixed-integer program ([MOIRAI24]).

It is the published one, but for this: each big-M is the least that windows of the operators allow,
which follow from the longest paths and a known makespan; pairs whose order is clear by paths or
windows have no rows; z, which says whether a tensor is moved, is written as the sum of u, which
says from where to where, and so are the differences of x in the rows of congestion control; with
transfers per tensor, there is one for all consumers on a device; what takes no time excludes
nothing; and devices that are alike are used in the order of their numbers.

Graphs that are too large for one program are treated window by window (`moirai_windows`).
"""

from boundmark.bounds.best import Best
from boundmark.bounds.mip import SOLVERS
from boundmark.bounds.mip.solving import Search, claim_up_to_best, rounded_up
from boundmark.bounds.placement.moirai_program import Columns, linear_model
from boundmark.bounds.placement.moirai_windows import improve_by_windows
from boundmark.bounds.placement.schedules import (
    longest_schedule,
    offer,
    quick_schedule,
    relabelled,
)
from boundmark.problems.errors import UnsupportedError, find
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementInstance

# A program of more pairs than this does not get beyond its first relaxation in minutes.
MOST_PAIRS = 40_000


def run(
    instance: PlacementInstance, budget: Budget, seed: int, progress: Progress, *, solver: str
) -> None:
    """Report a quick schedule, then the solver's schedules, and claim its bound.

    Where the program would be too large, there are programs for windows, and no claim.

    Raises
    ------
    UnsupportedError
        If the operators do not fit into the memory, as far as is found.
    """
    solve = find("solver", solver, SOLVERS)
    graph = instance.graph
    best = Best(instance, progress)
    horizon = longest_schedule(graph)
    start = quick_schedule(instance)
    if start is not None:
        start = relabelled(instance, start)
        best.solution(start)
        horizon = int(best.objective)
    if budget.is_spent():
        return
    columns = None if graph.nodes**2 > 4 * MOST_PAIRS else Columns(instance, horizon)
    if columns is None or len(columns.before) + len(columns.move_before) > MOST_PAIRS:
        improve_by_windows(instance, best, solve, budget, seed)
        if best.objective == float("inf"):
            raise UnsupportedError("no placement was found for which the devices have room.")
        return
    model = linear_model(columns)
    if budget.is_spent():
        return

    def on_bound(ticks: float) -> None:
        # Makespans are integers.
        claim_up_to_best("moirai-milp", best, rounded_up(ticks))

    outcome = solve(
        model,
        Search(
            budget,
            seed,
            start=None if start is None else columns.values(start),
            on_incumbent=lambda values: offer(best, instance, columns.schedule(values)),
            on_bound=on_bound,
        ),
    )
    if outcome.bound == float("inf") and start is None and best.objective == float("inf"):
        raise UnsupportedError("the operators do not fit into the devices' memory.")
    on_bound(outcome.bound)
