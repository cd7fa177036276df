"""Rows of a data frame."""

from collections import namedtuple
from collections.abc import Collection, Iterable
from typing import Any

import pandas as pd


def rows(frame: pd.DataFrame) -> Iterable[Any]:
    """Return the rows as named tuples; the stubs' union of all scalar types helps nobody."""
    made: Any = namedtuple
    row = made("Row", list(frame.columns), rename=True)
    return map(row._make, zip(*(values_of(frame[name]) for name in frame), strict=True))


def is_among(column: "pd.Series[Any]", values: Collection[str]) -> "pd.Series[bool]":
    """Return which texts of a column are among others.

    As `isin` says too, which goes through the others one by one.
    """
    return column.astype(object).isin(list(values))


def values_of(column: "pd.Series[Any]") -> list[Any]:
    """Return the values of a column as a list.

    To go through a column of text one by one takes ten times as long.
    """
    found: list[Any] = column.to_numpy(dtype=object).tolist()
    return found
