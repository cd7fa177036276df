"""Page tables with one row per layout and one column per method, in groups by parameters."""

from collections.abc import Callable
from typing import Any

import pandas as pd

from boundmark.reports.pages.page import Cell, Group, Table
from boundmark.reports.text.natural_order import natural_order


def layout_table(
    title: str,
    frame: pd.DataFrame,
    cell: Callable[[Any, pd.DataFrame], Cell],
    notes: tuple[str, ...],
) -> Table:
    """Return the table of a data frame with one row per instance and method.

    Parameters
    ----------
    cell
        Makes a cell from its row, whose name is the method, and all rows of the instance.
    """
    methods = natural_order(frame["method"])
    groups = []
    for parameters in natural_order(frame["parameters"]):
        part = frame[frame["parameters"] == parameters]
        rows = []
        for sha256 in part["instance_sha256"].unique():
            own = part[part["instance_sha256"] == sha256].set_index("method")
            cells = [
                cell(own.loc[name], own) if name in own.index else Cell("") for name in methods
            ]
            rows.append((Cell(str(own["instance"].iloc[0])), *cells))
        heading = (Cell(parameters), Cell(f"n = {len(rows)}"), *(Cell(""),) * (len(methods) - 1))
        groups.append(Group(heading, tuple(rows)))
    return Table(title, ("layout", *methods), tuple(groups), notes)
