"""Blocking and non-blocking communication (the form of [TESSEL24], Figure 17)."""

from typing import TYPE_CHECKING

import pandas as pd

from boundmark.reports.plots.axes import names_below
from boundmark.reports.plots.style import COLOURS, GREY
from boundmark.reports.text.natural_order import natural_order

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIDES = (("blocking", COLOURS[1]), ("non_blocking", COLOURS[0]))
BAR = 0.38


def draw_communication(data: pd.DataFrame, axes: "Axes") -> None:
    """Draw two bars per layout.

    Parameters
    ----------
    data
        The communication table, of one duration of transfers.
    """
    names = natural_order(data["instance"])
    at = [names.index(name) for name in data["instance"]]
    for side, (column, color) in enumerate(SIDES):
        places = [place + (side - 0.5) * BAR for place in at]
        axes.bar(places, data[column], BAR, color=color, label=column.replace("_", "-"))
    names_below(axes, names)
    axes.axhline(1.0, color=GREY, linewidth=0.8)
    axes.set_ylabel("time, without transfers = 1")
