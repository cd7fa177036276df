"""`placement-cp`: placement and schedule by constraint programming (CP-SAT)."""

from typing import Any

from boundmark.bounds.best import Best
from boundmark.bounds.cp_sat import new_solver, solve
from boundmark.bounds.placement.programs.constraints import ConstraintProgram
from boundmark.bounds.placement.programs.sequences import quick_schedule
from boundmark.bounds.placement.programs.twins import relabelled
from boundmark.bounds.placement.programs.windows import longest_schedule
from boundmark.problems.certificate import Claim
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementInstance

# Larger models take longer to build than to be of use.
MOST_INTERVALS = 400_000


def run(
    instance: PlacementInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report a quick schedule, then what the solver finds, and its bound as a claim.

    Raises
    ------
    UnsupportedError
        If the model would be too large, or the operators do not fit into the memory.
    """
    graph = instance.graph
    pairs = sum(map(len, graph.consumers)) * graph.devices**2
    if pairs > MOST_INTERVALS:
        raise UnsupportedError(f"the model would have more than {MOST_INTERVALS:,} intervals.")
    best = Best(instance, progress)
    horizon = longest_schedule(graph)
    start = quick_schedule(instance)
    if start is not None:
        start = relabelled(instance, start)
        best.solution(start)
        horizon = int(best.objective)
    program = ConstraintProgram(instance, horizon)
    if start is not None:
        program.hint(start)
    from ortools.sat.python import cp_model

    class Report(cp_model.CpSolverSolutionCallback):
        def on_solution_callback(self) -> None:
            best.solution(program.schedule(self))

    def on_bound(value: float) -> None:
        best.bound(Claim("placement-cp", float(round(value))))

    solver = new_solver(budget.remaining(), budget.threads)
    solver.parameters.random_seed = seed % 2**31
    solver.best_bound_callback = on_bound
    status = solve(solver, program.model, Report())
    if status == cp_model.INFEASIBLE:
        raise UnsupportedError("the operators do not fit into the devices' memory.")
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        on_bound(solver.best_objective_bound)
