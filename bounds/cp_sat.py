"""CP-SAT (OR-Tools), imported when it is used: it and highspy do not load into one process."""

from typing import TYPE_CHECKING

from boundmark.problems.method import require_module

if TYPE_CHECKING:
    from ortools.sat.python import cp_model


def new_model() -> "cp_model.CpModel":
    """Return an empty model."""
    require_module("ortools")
    from ortools.sat.python import cp_model

    return cp_model.CpModel()


def new_solver(seconds: float, threads: int) -> "cp_model.CpSolver":
    """Return a solver with limits on time and threads, and a fixed seed."""
    from ortools.sat.python import cp_model

    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = threads
    solver.parameters.random_seed = 1
    return solver


def solve(
    solver: "cp_model.CpSolver",
    model: "cp_model.CpModel",
    report: "cp_model.CpSolverSolutionCallback | None" = None,
) -> "cp_model.CpSolverStatus":
    """Solve the model, and return the solver's status.

    Raises
    ------
    AssertionError
        If the solver refuses the model, as it does with sums beyond 64 bits: it finds nothing then,
        as if there were nothing.
    """
    from ortools.sat.python import cp_model

    status = solver.solve(model, report)
    if status == cp_model.MODEL_INVALID:
        raise AssertionError(model.validate())
    return status
