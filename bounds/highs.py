"""Load a linear program into HiGHS, and solve it while a budget lasts."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from boundmark.problems.method import Budget, require_module

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


def solve_in_time(solver: Any, budget: Budget) -> bool:
    """Solve a program by interior points, without a vertex; return whether it was solved in time.

    The solver looks at the budget between its steps, some hundred times a second. Its own time
    limit would not do: where methods take turns, time passes in which it is not its turn.

    Raises
    ------
    BaseException
        What looking at the budget raises, after the solver has stopped.
    """
    import highspy

    raised: list[BaseException] = []

    def look(kind: Any, message: str, output: Any, request: Any, data: Any) -> None:
        try:
            request.user_interrupt = bool(raised) or budget.is_spent()
        except BaseException as error:
            # Nothing may be raised through the solver.
            raised.append(error)
            request.user_interrupt = True

    if budget.is_spent():
        return False
    solver.setOptionValue("solver", "ipm")
    solver.setOptionValue("run_crossover", "off")
    solver.setCallback(look, None)
    for kind in ("kCallbackIpmInterrupt", "kCallbackSimplexInterrupt"):
        solver.startCallback(getattr(highspy.cb.HighsCallbackType, kind))
    solver.run()
    if raised:
        raise raised[0]
    return bool(solver.getModelStatus() != highspy.HighsModelStatus.kInterrupt)
