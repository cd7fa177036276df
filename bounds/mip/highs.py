"""HiGHS, through highspy: linear programs, their duals, and mixed-integer programs.

It cannot limit its memory; the runner does. highspy and ortools do not load into one process
(undefined symbol, in either order).
"""

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from boundmark.bounds.mip.linear_model import FloatArray, FloatingModel, LinearModel
from boundmark.bounds.mip.solving import Improving, Outcome, Search
from boundmark.problems.method import require_module

Limits: TypeAlias = tuple[FloatArray, FloatArray]
# Numbers of columns and rows, as HiGHS takes them.
IndexArray: TypeAlias = npt.NDArray[np.int32]


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


@dataclass(frozen=True, eq=False)
class Solved:
    """An answer to a linear program."""

    # Infinite if there is no solution.
    optimum: float
    # values, reduced_costs: Of the columns; both are empty without a solution.
    values: FloatArray
    reduced_costs: FloatArray
    # One per row, of the optimum, or of a proof that there is no solution, the largest 1.
    multipliers: FloatArray
    # To start a later solution from.
    basis: Any


class LinearProgram:
    """A program ``min cost x`` that changes little by little, solved by the simplex method.

    Each solution starts from the last basis, or from one that is given.

    Raises `UnsupportedError` if HiGHS is not installed.
    """

    # `matrix`: Of the rows, a `scipy.sparse` matrix in CSR form. `columns`, `rows`: Least and
    # largest values of x, and of ``matrix x``. `method`: The primal simplex method, for which new
    # columns leave the basis feasible; the dual one, for which new limits do; or the dual one after
    # an interior point and crossover.

    def __init__(
        self,
        matrix: Any,
        cost: FloatArray,
        columns: Limits,
        rows: Limits,
        threads: int,
        method: Literal["primal", "dual", "interior"] = "dual",
    ) -> None:
        self._solver = _loaded((matrix.indptr, matrix.indices, matrix.data), cost, columns, rows)
        import highspy

        self._status = highspy.HighsModelStatus
        # On 800 columns of a program over stages, an interior point takes a fifth of the time of
        # the simplex method, on few no less.
        self._begins_inside = method == "interior" and len(cost) > 450
        for option, value in (
            ("threads", threads),
            ("presolve", "off"),
            ("simplex_strategy", 4 if method == "primal" else 1),
            # Devex where bases are set: exact weights are lost with each, and take long to compute.
            ("simplex_dual_edge_weight_strategy", 1 if method == "interior" else -1),
        ):
            self._solver.setOptionValue(option, value)

    def limit_columns(self, columns: IndexArray, least: FloatArray, most: FloatArray) -> None:
        """Change what columns are at least and at most."""
        self._solver.changeColsBounds(len(columns), columns, least, most)

    def limit_row(self, row: int, least: float, most: float) -> None:
        """Change what a row is at least and at most."""
        self._solver.changeRowBounds(row, least, most)

    def change_cost(self, column: int, cost: float) -> None:
        """Change the cost of a column."""
        self._solver.changeColCost(column, cost)

    def add_column(self, cost: float, rows: IndexArray, values: FloatArray) -> None:
        """Add a column of at least 0."""
        self._solver.addCol(cost, 0.0, math.inf, len(rows), rows, values)

    def delete_columns(self, columns: IndexArray) -> None:
        """Delete columns; those behind them move up."""
        self._solver.deleteCols(len(columns), columns)

    def solve(self, seconds: float, basis: Any = None) -> Solved | None:
        """Solve the program; return None if the time was too short."""
        # `basis`: Of a solution of this program under other limits.
        solver, status = self._solver, self._status
        if basis is not None:
            solver.setBasis(basis)
        methods = ["ipm"] * (self._begins_inside and basis is None) + ["simplex"]
        self._begins_inside = False
        # The limit counts from the solver's first run on.
        end = solver.getRunTime() + max(seconds, 0.01)
        for method in methods:
            solver.setOptionValue("solver", method)
            solver.setOptionValue("time_limit", end)
            solver.run()
            if solver.getModelStatus() == status.kOptimal:
                solution = solver.getSolution()
                return Solved(
                    optimum=float(solver.getInfo().objective_function_value),
                    values=np.array(solution.col_value),
                    reduced_costs=np.array(solution.col_dual),
                    multipliers=np.array(solution.row_dual),
                    basis=solver.getBasis(),
                )
        if solver.getModelStatus() != status.kInfeasible:
            return None
        _, found, ray = solver.getDualRay()
        proof = np.array(ray) if found else np.zeros(solver.getNumRow())
        none = np.zeros(0)
        return Solved(math.inf, none, none, proof / max(float(np.abs(proof).max()), 1e-9), None)


def _loaded(
    nonzeros: tuple[Any, Any, Any],
    cost: FloatArray,
    columns: Limits,
    rows: Limits,
    is_integer: Any = None,
) -> Any:
    """Return a silent `highspy.Highs` that holds a program."""
    # `nonzeros`: Where rows start, columns and values of the matrix, as in CSR form. `is_integer`:
    # Which columns take integers only; none by default.
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
