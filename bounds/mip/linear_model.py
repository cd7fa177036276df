"""Mixed-integer linear programs with integer data, independent of the solver."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from boundmark.problems.arrays import IntArray, frozen

FloatArray = npt.NDArray[np.float64]

# The largest coefficient after scaling.
LARGEST_COEFFICIENT = 1024

# Stands for no bound; beyond every cost and every sum of costs.
UNBOUNDED = 2**62


@dataclass(frozen=True, eq=False)
class LinearModel:
    """A program: minimise one column subject to bounds on columns and rows, in integers."""

    # lower, upper: Bounds of the columns, shape (columns,); `UNBOUNDED` stands for none.
    lower: IntArray
    upper: IntArray
    # Which columns take integers only, shape (columns,).
    is_integer: npt.NDArray[np.bool_]
    # Which columns are in ticks; all others are numbers of the order of 1.
    is_cost: npt.NDArray[np.bool_]
    # The column to minimise; one in ticks.
    objective: int
    # row_start, row_columns, row_values: Nonzeros: row i has ``row_columns[row_start[i]:row_start[i
    # + 1]]``.
    row_start: IntArray
    row_columns: IntArray
    row_values: IntArray
    # row_lower, row_upper: Bounds of the rows, shape (rows,).
    row_lower: IntArray
    row_upper: IntArray

    @property
    def columns(self) -> int:
        """Number of columns."""
        return len(self.lower)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.row_lower)


class RowCollector:
    """Builder of a model's rows, many of one shape at a time."""

    def __init__(self) -> None:
        self._columns: list[IntArray] = []
        self._values: list[IntArray] = []
        self._lower: list[IntArray] = []
        self._upper: list[IntArray] = []
        self._widths: list[IntArray] = []

    def add(
        self, columns: IntArray, values: IntArray, lower: int = -UNBOUNDED, upper: int = UNBOUNDED
    ) -> None:
        """Add ``lower <= values . columns <= upper`` for each row of `columns`."""
        # `columns`: Different columns in each row, shape (rows, width). `values`: Their
        # coefficients, the same in all rows, shape (width,).
        kept = columns[:, values != 0]
        rows, width = kept.shape
        self._columns.append(kept.ravel())
        self._values.append(np.tile(values[values != 0], rows))
        self._widths.append(np.full(rows, width))
        self._lower.append(np.full(rows, lower))
        self._upper.append(np.full(rows, upper))

    def csr(self) -> dict[str, IntArray]:
        """Return the rows as the fields of a `LinearModel`."""
        return {
            "row_start": frozen(np.concatenate([[0], np.cumsum(np.concatenate(self._widths))])),
            "row_columns": frozen(np.concatenate(self._columns)),
            "row_values": frozen(np.concatenate(self._values)),
            "row_lower": frozen(np.concatenate(self._lower)),
            "row_upper": frozen(np.concatenate(self._upper)),
        }


@dataclass(frozen=True, eq=False)
class FloatingModel:
    """A model scaled for floating-point solvers; infinities stand for no bound.

    Costs of real models are millions of ticks, while solvers accept absolute errors of 1e-6 and
    dislike coefficients that differ by more. Powers of two change no digit.
    """

    model: LinearModel
    # Ticks that a cost column counts in.
    unit: float
    lower: FloatArray
    upper: FloatArray
    row_values: FloatArray
    row_lower: FloatArray
    row_upper: FloatArray

    @classmethod
    def of(cls, model: LinearModel) -> "FloatingModel":
        """Scale a model."""
        unit = float(_powers(np.array([np.abs(model.row_values).max(initial=1)]))[0])
        column_unit = np.where(model.is_cost, unit, 1.0)
        values = model.row_values * column_unit[model.row_columns]
        entries = np.diff(model.row_start)
        # Rows may have no entries, and then are as they are.
        largest = np.zeros(model.rows)
        np.maximum.at(largest, np.repeat(np.arange(model.rows), entries), np.abs(values))
        row_unit = _powers(largest)
        return cls(
            model=model,
            unit=unit,
            lower=_floating(model.lower) / column_unit,
            upper=_floating(model.upper) / column_unit,
            row_values=values / np.repeat(row_unit, entries),
            row_lower=_floating(model.row_lower) / row_unit,
            row_upper=_floating(model.row_upper) / row_unit,
        )

    def scaled(self, values: IntArray) -> FloatArray:
        """Return the columns' values as the solver counts them."""
        return np.where(self.model.is_cost, values / self.unit, values)

    def ticks(self, objective: float) -> float:
        """Return a solver's objective in ticks."""
        return objective * self.unit


def _powers(sizes: npt.NDArray[np.generic]) -> FloatArray:
    """Return powers of two, at least 1, that bring sizes down to `LARGEST_COEFFICIENT`."""
    ratios = np.maximum(1.0, np.asarray(sizes, dtype=np.float64) / LARGEST_COEFFICIENT)
    return np.asarray(2.0 ** np.ceil(np.log2(ratios)))


def _floating(bounds: IntArray) -> FloatArray:
    return np.where(np.abs(bounds) >= UNBOUNDED, np.copysign(np.inf, bounds), bounds)
