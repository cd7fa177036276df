"""Blocking and non-blocking communication (the form of papers/tessel, Figure 17)."""

from fractions import Fraction

import pandas as pd
from matplotlib.figure import Figure

from boundmark.reports.natural_order import natural_order
from boundmark.reports.plots.style import COLOURS, new_figure

SIDES = (("blocking", COLOURS[1]), ("non_blocking", COLOURS[0]))
BAR = 0.38


def draw_communication(data: pd.DataFrame) -> Figure:
    """Draw two bars a layout, a panel a duration of transfers."""
    names, transfers = natural_order(data["instance"]), sorted(set(data["transfer"]))
    figure = new_figure(max(7.4, 1.0 + 0.28 * len(names) * len(transfers)), 3.4)
    panels = figure.subplots(1, len(transfers), sharey=True, squeeze=False)[0]
    for axes, transfer in zip(panels, transfers, strict=True):
        part = data[data["transfer"] == transfer]
        at = [names.index(name) for name in part["instance"]]
        for side, (column, color) in enumerate(SIDES):
            places = [place + (side - 0.5) * BAR for place in at]
            label = column.replace("_", "-") if axes is panels[0] else None
            axes.bar(places, part[column], BAR, color=color, label=label)
        axes.set(title=f"transfer: {Fraction(transfer)}")
        axes.set_xticks(range(len(names)), names, rotation=60, ha="right", rotation_mode="anchor")
        axes.grid(visible=False, axis="x")
        axes.axhline(1.0, color="#808080", linewidth=0.8)
    panels[0].set_ylabel("time, without transfers = 1")
    figure.legend(loc="outside lower center", ncols=2)
    return figure
