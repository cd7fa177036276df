"""Solves a relaxation with HiGHS, for a point and for multipliers."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from boundmark.bounds.highs import highs_solver
from boundmark.bounds.pipeline.tree.relaxation import FloatArray, Relaxation

# With so many columns or fewer, the dual simplex method is faster than an interior point: twice at
# 400. With 700 it takes five times as long.
SIMPLEX_COLUMNS = 450


@dataclass(frozen=True, eq=False)
class Point:
    """The solver's answer: the optimum, values of the columns, multipliers of the rows."""

    optimum: float
    columns: FloatArray
    multipliers: FloatArray


def solve(
    relaxation: Relaxation,
    price: float,
    seconds: float,
    threads: int,
    precision: float | None = None,
) -> Point | None:
    """Return a nearly optimal point; None if the time was too short.

    Nothing here has to be exact: the certificate is made from the multipliers, whatever they are.

    Parameters
    ----------
    precision
        Relative gap at which an interior point is near enough; None for the solver's own.

    Raises
    ------
    UnsupportedError
        If HiGHS is not installed.
    """
    matrix = csr_matrix(
        (relaxation.values, (relaxation.rows, relaxation.columns)),
        shape=(len(relaxation.lower), len(relaxation.upper)),
    )
    cost = np.zeros(matrix.shape[1])
    cost[-2:] = price, 1.0
    solver = highs_solver(
        matrix,
        cost,
        (np.zeros(matrix.shape[1]), relaxation.upper),
        (relaxation.lower, np.full(matrix.shape[0], np.inf)),
        threads,
    )
    if matrix.shape[1] <= SIMPLEX_COLUMNS:
        solver.setOptionValue("solver", "simplex")
        solver.setOptionValue("presolve", "off")
    else:
        solver.setOptionValue("solver", "ipm")
        solver.setOptionValue("run_crossover", "off")
        if precision is not None:
            solver.setOptionValue("ipm_optimality_tolerance", precision)
    solver.setOptionValue("time_limit", max(seconds, 0.01))
    solver.run()
    solution = solver.getSolution()
    if not solution.dual_valid:
        return None
    return Point(
        optimum=float(solver.getInfo().objective_function_value),
        columns=np.array(solution.col_value),
        multipliers=np.maximum(np.array(solution.row_dual), 0.0),
    )
