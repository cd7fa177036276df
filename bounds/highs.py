"""Load a linear program into HiGHS."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from boundmark.problems.solver_module import require_module

FloatArray: TypeAlias = NDArray[np.float64]
Limits: TypeAlias = tuple[FloatArray, FloatArray]


def highs_solver(matrix: Any, cost: FloatArray, columns: Limits, rows: Limits, threads: int) -> Any:
    """Return a silent `highspy.Highs` that holds the program ``min cost x``.

    Parameters
    ----------
    matrix
        Of the rows, a `scipy.sparse` matrix in CSR form.
    columns, rows
        Least and largest values of x, and of ``matrix x``.

    Raises
    ------
    UnsupportedError
        If HiGHS is not installed.
    """
    require_module("highspy")
    import highspy

    program = highspy.HighsLp()
    program.num_row_, program.num_col_ = matrix.shape
    program.col_cost_ = cost
    program.col_lower_, program.col_upper_ = columns
    program.row_lower_, program.row_upper_ = rows
    program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    program.a_matrix_.start_ = matrix.indptr
    program.a_matrix_.index_ = matrix.indices
    program.a_matrix_.value_ = matrix.data
    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", threads)
    solver.passModel(program)
    return solver
