"""The row of a table that a test is about."""

from typing import Any

import pandas as pd

# What rows of bound methods have in common.
BOUND = {"method_kind": "bound"}


def one_row(table: pd.DataFrame, **where: Any) -> Any:
    """Return the one row with these values."""
    for column, value in where.items():
        table = table[table[column] == value]
    assert len(table) == 1
    return table.iloc[0]
