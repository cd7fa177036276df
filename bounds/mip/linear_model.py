"""Mixed-integer linear programs in integers, whatever solves them."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from boundmark.problems.arrays import IntArray, frozen

# Stands for no bound; beyond every cost and every sum of costs.
UNBOUNDED = 2**62


@dataclass(frozen=True, eq=False)
class LinearModel:
    """Minimise one column subject to bounds on columns and rows; all data are integers.

    Attributes
    ----------
    lower, upper
        Bounds of the columns, shape (columns,); `UNBOUNDED` stands for none.
    is_integer
        Which columns take integers only, shape (columns,).
    is_cost
        Which columns are in ticks; all others are numbers of the order of 1.
    objective
        The column to minimise; one in ticks.
    row_start, row_columns, row_values
        Nonzeros: row i has ``row_columns[row_start[i]:row_start[i + 1]]``.
    row_lower, row_upper
        Bounds of the rows, shape (rows,).
    """

    lower: IntArray
    upper: IntArray
    is_integer: npt.NDArray[np.bool_]
    is_cost: npt.NDArray[np.bool_]
    objective: int
    row_start: IntArray
    row_columns: IntArray
    row_values: IntArray
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
    """Gathers rows, many of one shape at a time."""

    def __init__(self) -> None:
        self._columns: list[IntArray] = []
        self._values: list[IntArray] = []
        self._lower: list[IntArray] = []
        self._upper: list[IntArray] = []
        self._widths: list[IntArray] = []

    def add(
        self, columns: IntArray, values: IntArray, lower: int = -UNBOUNDED, upper: int = UNBOUNDED
    ) -> None:
        """Add ``lower <= values . columns <= upper`` for each row of `columns`.

        Parameters
        ----------
        columns
            Different columns in each row, shape (rows, width).
        values
            Their coefficients, the same in all rows, shape (width,).
        """
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
