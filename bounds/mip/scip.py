"""SCIP, through pyscipopt."""

import math
from typing import Any

import numpy as np

from boundmark.bounds.mip.linear_model import FloatingModel, LinearModel
from boundmark.bounds.mip.solving import Improving, Outcome, Search
from boundmark.problems.method import Budget, require_module

# SCIP's infinity; it is also the bound while nothing is known.
INFINITY = 1e20


def solve(model: LinearModel, search: Search) -> Outcome:
    """Minimise a model with SCIP, in one thread."""
    require_module("pyscipopt")
    import pyscipopt
    from pyscipopt.scip import PY_SCIP_EVENTTYPE

    floating = FloatingModel.of(model)
    scip = pyscipopt.Model()
    scip.hideOutput()
    variables = _add_model(scip, floating, search.budget)
    if search.budget.is_spent():
        return Outcome(-math.inf, finished=False)
    scip.setParam("limits/memory", search.budget.memory_bytes / 2**20)
    scip.setParam("randomization/randomseedshift", search.seed % 2**31)
    scip.setParam("misc/catchctrlc", False)
    if math.isfinite(search.enough):
        scip.setParam("limits/dual", search.enough / floating.unit)
    if search.start is not None:
        start = scip.createSol()
        for variable, value in zip(variables, floating.scaled(search.start), strict=True):
            scip.setSolVal(start, variable, value)
        scip.addSol(start)

    on_bound = Improving(search.on_bound)

    class Listener(pyscipopt.Eventhdlr):
        def eventinit(self) -> None:
            self.model.catchEvent(PY_SCIP_EVENTTYPE.BESTSOLFOUND, self)
            self.model.catchEvent(PY_SCIP_EVENTTYPE.DUALBOUNDIMPROVED, self)

        def eventexit(self) -> None:
            self.model.dropEvent(PY_SCIP_EVENTTYPE.BESTSOLFOUND, self)
            self.model.dropEvent(PY_SCIP_EVENTTYPE.DUALBOUNDIMPROVED, self)

        def eventexec(self, event: Any) -> None:
            if event.getType() == PY_SCIP_EVENTTYPE.BESTSOLFOUND:
                best = self.model.getBestSol()
                values = [self.model.getSolVal(best, variable) for variable in variables]
                search.on_incumbent(np.array(values))
                return
            on_bound(_bound(self.model, floating))

    listener = Listener()
    scip.includeEventhdlr(listener, "progress", "reports incumbents and bounds")
    scip.setParam("limits/time", search.budget.remaining())
    scip.optimize()
    finished = scip.getStatus() in ("optimal", "infeasible")
    return Outcome(_bound(scip, floating), finished, int(scip.getNTotalNodes()))


def presolved_size(model: LinearModel) -> tuple[int, int]:
    """Return the numbers of columns and of rows that presolve leaves."""
    require_module("pyscipopt")
    import pyscipopt

    scip = pyscipopt.Model()
    scip.hideOutput()
    _add_model(scip, FloatingModel.of(model), Budget(math.inf))
    scip.presolve()
    return int(scip.getNVars(transformed=True)), int(scip.getNConss(transformed=True))


def _add_model(scip: Any, floating: FloatingModel, budget: Budget) -> list[Any]:
    """Add columns and rows; stop early, with an unfinished model, when the time is up."""
    import pyscipopt

    model = floating.model
    variables = [
        scip.addVar(
            vtype="I" if integer else "C",
            lb=lower,
            ub=None if math.isinf(upper) else upper,
            obj=float(column == model.objective),
        )
        for column, (integer, lower, upper) in enumerate(
            zip(model.is_integer, floating.lower, floating.upper, strict=True)
        )
    ]
    columns, values = model.row_columns.tolist(), floating.row_values.tolist()
    starts = model.row_start.tolist()
    for row, (lower, upper) in enumerate(
        zip(floating.row_lower.tolist(), floating.row_upper.tolist(), strict=True)
    ):
        if row % 1000 == 0 and budget.is_spent():
            break
        entries = range(starts[row], starts[row + 1])
        terms = pyscipopt.quicksum(values[i] * variables[columns[i]] for i in entries)
        scip.addCons(pyscipopt.scip.ExprCons(terms, _side(lower), _side(upper)))
    return variables


def _side(bound: float) -> float | None:
    return None if math.isinf(bound) else bound


def _bound(scip: Any, floating: FloatingModel) -> float:
    bound = float(scip.getDualbound())
    if abs(bound) >= INFINITY:
        return math.copysign(math.inf, bound)
    return floating.ticks(bound)
