"""HiGHS, through highspy: linear programs, their duals, and mixed-integer programs.

It cannot limit its memory; the runner does. highspy and ortools do not load into one process
(undefined symbol, in either order).
"""

import math
from typing import Any, TypeAlias

import numpy as np

from boundmark.bounds.mip.linear_model import FloatArray, FloatingModel, LinearModel
from boundmark.bounds.mip.solving import Improving, Outcome, Search
from boundmark.problems.method import require_module

Limits: TypeAlias = tuple[FloatArray, FloatArray]


def solve(model: LinearModel, search: Search) -> Outcome:
    """Minimise a model with HiGHS."""
    floating = FloatingModel.of(model)
    highs = _model_loaded(floating)
    import highspy

    highs.setOptionValue("threads", search.budget.threads)
    highs.setOptionValue("random_seed", search.seed % 2**31)
    highs.setOptionValue("mip_rel_gap", 0.0)
    highs.setOptionValue("mip_abs_gap", 0.0)
    if search.start is not None:
        start = highspy.HighsSolution()
        start.col_value = floating.scaled(search.start).tolist()
        highs.setSolution(start)

    on_bound = Improving(search.on_bound)
    improving = highspy.cb.HighsCallbackType.kCallbackMipImprovingSolution
    logging = highspy.cb.HighsCallbackType.kCallbackMipLogging
    interrupt = highspy.cb.HighsCallbackType.kCallbackMipInterrupt

    def on_event(kind: Any, message: str, output: Any, request: Any, data: Any) -> None:
        if kind == improving:
            search.on_incumbent(np.array(output.mip_solution))
        bound = floating.ticks(output.mip_dual_bound)
        on_bound(bound)
        if kind == interrupt and (bound >= search.enough or search.budget.is_spent()):
            request.user_interrupt = True

    highs.setCallback(on_event, None)
    for kind in (improving, logging, interrupt):
        highs.startCallback(kind)
    highs.setOptionValue("time_limit", search.budget.remaining())
    highs.run()
    status = highs.getModelStatus()
    info = highs.getInfo()
    nodes = max(0, int(info.mip_node_count))
    if status == highspy.HighsModelStatus.kInfeasible:
        return Outcome(math.inf, True, nodes)
    finished = status == highspy.HighsModelStatus.kOptimal
    return Outcome(floating.ticks(info.mip_dual_bound), finished, nodes)


def presolved_size(model: LinearModel) -> tuple[int, int]:
    """Return the numbers of columns and of rows that presolve leaves."""
    highs = _model_loaded(FloatingModel.of(model))
    highs.presolve()
    left = highs.getPresolvedLp()
    return int(left.num_col_), int(left.num_row_)


def _model_loaded(floating: FloatingModel) -> Any:
    model = floating.model
    cost = np.zeros(model.columns)
    cost[model.objective] = 1.0
    nonzeros = model.row_start.astype(np.int32), model.row_columns.astype(np.int32)
    return _loaded(
        (*nonzeros, floating.row_values),
        cost,
        (floating.lower, floating.upper),
        (floating.row_lower, floating.row_upper),
        model.is_integer,
    )


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
    solver = _loaded((matrix.indptr, matrix.indices, matrix.data), cost, columns, rows)
    solver.setOptionValue("threads", threads)
    return solver


def _loaded(
    nonzeros: tuple[Any, Any, Any],
    cost: FloatArray,
    columns: Limits,
    rows: Limits,
    is_integer: Any = None,
) -> Any:
    """Return a silent `highspy.Highs` that holds a program.

    Parameters
    ----------
    nonzeros
        Where rows start, columns and values of the matrix, as in CSR form.
    is_integer
        Which columns take integers only; none by default.
    """
    require_module("highspy")
    import highspy

    program = highspy.HighsLp()
    program.num_row_, program.num_col_ = len(rows[0]), len(cost)
    program.col_cost_ = cost
    program.col_lower_, program.col_upper_ = columns
    program.row_lower_, program.row_upper_ = rows
    matrix = program.a_matrix_
    matrix.format_ = highspy.MatrixFormat.kRowwise
    matrix.num_row_, matrix.num_col_ = program.num_row_, program.num_col_
    matrix.start_, matrix.index_, matrix.value_ = nonzeros
    if is_integer is not None:
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        program.integrality_ = [kinds[int(integer)] for integer in is_integer]
    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    solver.setOptionValue("output_flag", False)
    solver.passModel(program)
    return solver
