"""Solves a relaxation with HiGHS, for a point and for multipliers."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from boundmark.bounds.pipeline.tree.relaxation import FloatArray, Relaxation
from boundmark.problems.solver_module import require_module

# With so many columns or fewer, the dual simplex method is faster than an interior point: twice at
# 400. With 700 it takes five times as long.
SIMPLEX_COLUMNS = 450


@dataclass(frozen=True, eq=False)
class Point:
    """What the solver says: the optimum, values of the columns, multipliers of the rows."""

    optimum: float
    columns: FloatArray
    multipliers: FloatArray


def solve(relaxation: Relaxation, price: float, seconds: float, threads: int) -> Point | None:
    """Return a nearly optimal point; None if the time was too short.

    Nothing here has to be exact: the certificate is made from the multipliers, whatever they are.

    Raises
    ------
    UnsupportedError
        If HiGHS is not installed.
    """
    require_module("highspy")
    import highspy

    matrix = csr_matrix(
        (relaxation.values, (relaxation.rows, relaxation.columns)),
        shape=(len(relaxation.lower), len(relaxation.upper)),
    )
    program = highspy.HighsLp()
    program.num_row_, program.num_col_ = matrix.shape
    cost = np.zeros(matrix.shape[1])
    cost[-2:] = price, 1.0
    program.col_cost_ = cost
    program.col_lower_ = np.zeros(matrix.shape[1])
    program.col_upper_ = relaxation.upper
    program.row_lower_ = relaxation.lower
    program.row_upper_ = np.full(matrix.shape[0], np.inf)
    program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    program.a_matrix_.start_ = matrix.indptr
    program.a_matrix_.index_ = matrix.indices
    program.a_matrix_.value_ = matrix.data
    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", threads)
    if matrix.shape[1] <= SIMPLEX_COLUMNS:
        solver.setOptionValue("solver", "simplex")
        solver.setOptionValue("presolve", "off")
    else:
        solver.setOptionValue("solver", "ipm")
        solver.setOptionValue("run_crossover", "off")
    solver.setOptionValue("time_limit", max(seconds, 0.01))
    solver.passModel(program)
    solver.run()
    solution = solver.getSolution()
    if not solution.dual_valid:
        return None
    return Point(
        optimum=float(solver.getInfo().objective_function_value),
        columns=np.array(solution.col_value),
        multipliers=np.maximum(np.array(solution.row_dual), 0.0),
    )
