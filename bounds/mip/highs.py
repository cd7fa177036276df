"""HiGHS, through highspy. It cannot limit its memory; the runner does.

highspy and ortools do not load into one process (undefined symbol, in either order).
"""

import math
from typing import Any

import numpy as np

from boundmark.bounds.mip.linear_model import FloatingModel, LinearModel
from boundmark.bounds.mip.solving import Improving, Outcome, Search
from boundmark.problems.method import require_module


def solve(model: LinearModel, search: Search) -> Outcome:
    """Minimise a model with HiGHS."""
    require_module("highspy")
    import highspy

    floating = FloatingModel.of(model)
    highs = _loaded(floating)
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
    require_module("highspy")
    highs = _loaded(FloatingModel.of(model))
    highs.presolve()
    left = highs.getPresolvedLp()
    return int(left.num_col_), int(left.num_row_)


def _loaded(floating: FloatingModel) -> Any:
    import highspy

    highs = highspy.Highs()  # type: ignore[no-untyped-call]
    highs.setOptionValue("output_flag", False)
    highs.passModel(_problem(floating))
    return highs


def _problem(floating: FloatingModel) -> Any:
    import highspy

    model = floating.model
    problem = highspy.HighsLp()
    problem.num_col_ = model.columns
    problem.num_row_ = model.rows
    cost = np.zeros(model.columns)
    cost[model.objective] = 1.0
    problem.col_cost_ = cost
    problem.col_lower_ = floating.lower
    problem.col_upper_ = floating.upper
    problem.row_lower_ = floating.row_lower
    problem.row_upper_ = floating.row_upper
    problem.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    problem.a_matrix_.num_col_ = model.columns
    problem.a_matrix_.num_row_ = model.rows
    problem.a_matrix_.start_ = model.row_start.astype(np.int32)
    problem.a_matrix_.index_ = model.row_columns.astype(np.int32)
    problem.a_matrix_.value_ = floating.row_values
    kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
    problem.integrality_ = [kinds[int(integer)] for integer in model.is_integer]
    return problem
