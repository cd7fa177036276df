"""CP-SAT (OR-Tools), imported when it is used: it and highspy do not load into one process."""

from typing import TYPE_CHECKING

from boundmark.problems.solver_module import require_module

if TYPE_CHECKING:
    from ortools.sat.python import cp_model


def new_model() -> "cp_model.CpModel":
    """Return an empty model.

    Raises
    ------
    UnsupportedError
        If OR-Tools is not installed.
    """
    require_module("ortools")
    from ortools.sat.python import cp_model

    return cp_model.CpModel()


def new_solver(seconds: float, threads: int) -> "cp_model.CpSolver":
    """Return a solver with its limits; the same seed each time."""
    from ortools.sat.python import cp_model

    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = threads
    solver.parameters.random_seed = 1
    return solver
