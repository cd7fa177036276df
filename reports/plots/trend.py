"""How a number of each method went from run to run."""

from typing import TYPE_CHECKING

import pandas as pd

from boundmark.reports.plots.axes import names_below
from boundmark.reports.plots.style import looks as looks_of
from boundmark.reports.text.natural_order import natural_order

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_trend(data: pd.DataFrame, axes: "Axes", label: str) -> None:
    """Draw one line per method over the runs, evenly spaced and named below.

    Parameters
    ----------
    data
        Columns `run` (a short name), `at` (its place), `method`, `value`.
    label
        What the vertical axis says.
    """
    methods = natural_order(data["method"])
    for method, look in looks_of(methods).items():
        shown = data[data["method"] == method].sort_values("at")
        axes.plot(
            shown["at"], shown["value"], color=look.color, marker=look.marker,
            linestyle=look.linestyle, label=method,
        )  # fmt: skip
    names = data.drop_duplicates("at").sort_values("at")["run"].tolist()
    names_below(axes, names)
    axes.set(ylabel=label)
