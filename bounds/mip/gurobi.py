"""Gurobi, through gurobipy. Its free licence ends at 2,000 columns or rows."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from boundmark.bounds.mip.linear_model import FloatingModel, LinearModel
from boundmark.bounds.mip.solving import Improving, ModelTooLargeError, Outcome, Search
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import require_module

# The free licence covers models of this many columns, and as many rows.
FREE_COLUMNS = 2_000


def solve(model: LinearModel, search: Search) -> Outcome:
    """Minimise a model with Gurobi.

    Raises `UnsupportedError` if there is no licence. Raises `ModelTooLargeError` if the licence is
    for smaller models.
    """
    with _gurobi_of(model.columns, model.rows) as gurobi:
        return _solve(gurobi, FloatingModel.of(model), search)


def presolved_size(model: LinearModel) -> tuple[int, int]:
    """Return the numbers of columns and of rows that presolve leaves."""
    with _gurobi_of(model.columns, model.rows) as gurobi:
        _add_model(gurobi, FloatingModel.of(model))
        gurobi.update()
        left = gurobi.presolve()
        return int(left.NumVars), int(left.NumConstrs)


def most_columns() -> float:
    """Return how many columns a model may have by the licence: 2,000, or no limit.

    Raises `UnsupportedError` if there is no licence.
    """
    try:
        with _gurobi_of(FREE_COLUMNS + 1, 0) as gurobi:
            gurobi.addVars(FREE_COLUMNS + 1)
            gurobi.optimize()
    except ModelTooLargeError:
        return FREE_COLUMNS
    return math.inf


@contextmanager
def _gurobi_of(columns: int, rows: int) -> Iterator[Any]:
    """Provide an empty Gurobi model; a licence that does not cover the model is a sentence.

    Raises `UnsupportedError` if there is no licence. Raises `ModelTooLargeError` if the licence is
    for smaller models.
    """
    # `columns`, `rows`: Of the model that is to be, for the sentence.
    require_module("gurobipy")
    import gurobipy

    try:
        with (
            gurobipy.Env(params={"OutputFlag": 0}) as env,
            gurobipy.Model(env=env) as gurobi,
        ):
            yield gurobi
    except gurobipy.GurobiError as error:
        kinds = {
            gurobipy.GRB.Error.NO_LICENSE: UnsupportedError,
            gurobipy.GRB.Error.SIZE_LIMIT_EXCEEDED: ModelTooLargeError,
        }
        if error.errno not in kinds:
            raise
        raise kinds[error.errno](
            f"Gurobi's licence does not cover a model of {columns} columns and "
            f"{rows} rows: {str(error).rstrip('.')}."
        ) from error


def _solve(gurobi: Any, floating: FloatingModel, search: Search) -> Outcome:
    import gurobipy

    grb = gurobipy.GRB
    gurobi.Params.Threads = search.budget.threads
    gurobi.Params.SoftMemLimit = search.budget.memory_bytes / 1e9
    gurobi.Params.Seed = search.seed % 2_000_000_000
    gurobi.Params.MIPGap = 0.0
    variables = _add_model(gurobi, floating)
    if search.start is not None:
        for variable, value in zip(variables, floating.scaled(search.start), strict=True):
            variable.Start = value
    on_bound = Improving(search.on_bound)

    def on_event(_: Any, where: int) -> None:
        if where == grb.Callback.MIPSOL:
            search.on_incumbent(np.array(gurobi.cbGetSolution(variables)))
        elif where == grb.Callback.MIP:
            bound = floating.ticks(gurobi.cbGet(grb.Callback.MIP_OBJBND))
            if abs(bound) < grb.INFINITY:
                on_bound(bound)
            if bound >= search.enough:
                gurobi.terminate()

    gurobi.Params.TimeLimit = search.budget.remaining()
    gurobi.optimize(on_event)
    nodes = int(gurobi.NodeCount)
    if gurobi.Status in (grb.INFEASIBLE, grb.INF_OR_UNBD):
        return Outcome(math.inf, True, nodes)
    bound = floating.ticks(gurobi.ObjBound)
    if abs(bound) >= grb.INFINITY:
        bound = -math.inf
    return Outcome(bound, gurobi.Status == grb.OPTIMAL, nodes)


def _add_model(gurobi: Any, floating: FloatingModel) -> list[Any]:
    import gurobipy

    model = floating.model
    objective = np.zeros(model.columns)
    objective[model.objective] = 1.0
    added = gurobi.addVars(
        model.columns,
        lb=floating.lower.tolist(),
        ub=floating.upper.tolist(),
        obj=objective.tolist(),
        vtype=np.where(model.is_integer, "I", "C").tolist(),
    )
    variables = [added[column] for column in range(model.columns)]
    columns, values = model.row_columns.tolist(), floating.row_values.tolist()
    starts = model.row_start.tolist()
    for row, (lower, upper) in enumerate(
        zip(floating.row_lower.tolist(), floating.row_upper.tolist(), strict=True)
    ):
        entries = slice(starts[row], starts[row + 1])
        terms = gurobipy.LinExpr(values[entries], [variables[i] for i in columns[entries]])
        if not math.isinf(lower):
            gurobi.addLConstr(terms, ">", lower)
        if not math.isinf(upper):
            gurobi.addLConstr(terms, "<", upper)
    return variables
