"""Solves a relaxation with HiGHS, for a point and for multipliers."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix, diags_array

from boundmark.bounds.highs import highs_solver
from boundmark.bounds.pipeline.tree.relaxation import FAMILIES, FloatArray, Relaxation

# With so many columns or fewer, the dual simplex method is faster than an interior point: twice at
# 400. With 700 it takes five times as long.
SIMPLEX_COLUMNS = 450


# Half of what the checker takes for a multiplier.
LARGEST_MULTIPLIER = 2.0**79


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
    unit: float = 1.0,
) -> Point | None:
    """Return a nearly optimal point; None if the time was too short.

    Nothing here has to be exact: the certificate is made from the multipliers, whatever they are.

    Parameters
    ----------
    precision
        Relative gap at which an interior point is near enough; None for the solver's own.
    unit
        Ticks by which costs are divided for the solver, which answers strangely if they are 10^8.

    Raises
    ------
    UnsupportedError
        If HiGHS is not installed.
    """
    matrix = csr_matrix(
        (relaxation.values, (relaxation.rows, relaxation.columns)),
        shape=(len(relaxation.lower), len(relaxation.upper)),
    )
    # Rows of costs and of overflow are in this unit, and so are the columns z and o.
    rows, columns = np.ones(matrix.shape[0]), np.ones(matrix.shape[1])
    if unit != 1:
        in_ticks = [FAMILIES.index("cost"), FAMILIES.index("overflow")]
        rows[np.isin(relaxation.family, in_ticks)] = unit
        columns[-1] = columns[-2 - relaxation.y.shape[1] : -2] = unit
        matrix = diags_array(1 / rows) @ matrix @ diags_array(columns)
    cost = np.zeros(matrix.shape[1])
    cost[-2:] = price / unit, 1.0
    solver = highs_solver(
        matrix,
        cost,
        (np.zeros(matrix.shape[1]), relaxation.upper / columns),
        (relaxation.lower / rows, np.full(matrix.shape[0], np.inf)),
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
        optimum=unit * float(solver.getInfo().objective_function_value),
        columns=np.array(solution.col_value) * columns,
        multipliers=np.maximum(np.array(solution.row_dual), 0.0) * (unit / rows),
    )


def whole_numbers(amounts: FloatArray) -> list[int]:
    """Return amounts rounded to integers that certificates hold, smaller in proportion if need be.

    Multipliers of rows prove the same when all are divided by one number.
    """
    largest = float(amounts.max(initial=0.0))
    if not np.isfinite(largest):
        return [0] * len(amounts)
    fitting = amounts * min(1.0, LARGEST_MULTIPLIER / max(largest, 1.0))
    # Not by way of 64 bits, which costs of 2^39 ticks exceed.
    return [int(amount) for amount in np.rint(fitting).tolist()]
