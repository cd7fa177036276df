"""Mixed-integer linear programs with integer data, and the solvers that run them.

Each solver is imported when it is used: some cannot share a process.
"""

import math

from boundmark.bounds.mip import gurobi, highs, scip
from boundmark.bounds.mip.solving import Presolve, Solve

SOLVERS: dict[str, Solve] = {"highs": highs.solve, "scip": scip.solve, "gurobi": gurobi.solve}

PRESOLVERS: dict[str, Presolve] = {
    "highs": highs.presolved_size,
    "scip": scip.presolved_size,
    "gurobi": gurobi.presolved_size,
}


def most_columns(solver: str) -> float:
    """Return how many columns a model may have by a solver's licence; infinite if any."""
    return gurobi.most_columns() if solver == "gurobi" else math.inf
