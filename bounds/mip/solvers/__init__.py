"""Solvers of linear models. Each is imported when used: some cannot share a process."""

from boundmark.bounds.mip.solvers import gurobi, highs, scip
from boundmark.bounds.mip.solvers.search import Solve

SOLVERS: dict[str, Solve] = {"highs": highs.solve, "scip": scip.solve, "gurobi": gurobi.solve}
