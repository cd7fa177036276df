"""Scales a linear model by powers of two into floating point, for solvers.

Costs of real models are millions of ticks, while solvers accept absolute errors of 1e-6 and dislike
coefficients that differ by more. Powers of two change no digit.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from boundmark.bounds.mip.linear_model import UNBOUNDED, LinearModel
from boundmark.problems.arrays import IntArray

FloatArray = npt.NDArray[np.float64]

# The largest coefficient after scaling.
LARGEST_COEFFICIENT = 1024


@dataclass(frozen=True, eq=False)
class FloatingModel:
    """The model's data for a solver; infinities stand for no bound.

    Attributes
    ----------
    unit
        Ticks that a cost column counts in.
    """

    model: LinearModel
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
        largest = (
            np.maximum.reduceat(np.abs(values), model.row_start[:-1]) if model.rows else values
        )
        row_unit = _powers(largest)
        return cls(
            model=model,
            unit=unit,
            lower=_floating(model.lower) / column_unit,
            upper=_floating(model.upper) / column_unit,
            row_values=values / np.repeat(row_unit, np.diff(model.row_start)),
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
