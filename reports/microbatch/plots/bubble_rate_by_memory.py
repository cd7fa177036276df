"""Bubble rate over memory, one line per layout (the form of [TESSEL24], Figure 12)."""

from typing import TYPE_CHECKING

import pandas as pd

from boundmark.reports.plots.axes import include_zero, integer_ticks
from boundmark.reports.plots.style import Looks
from boundmark.reports.plots.style import looks as looks_of
from boundmark.reports.text.natural_order import natural_order

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Distance between lines as a fraction of the axis, so that they do not cover each other.
OFFSET = 0.008


def bubble_rate_by_memory_data(best: pd.DataFrame) -> pd.DataFrame:
    """Return the best periods' bubble rates, of layouts with at least two memories.

    Layouts that keep nothing in memory are left out.
    """
    shown = best[(best["micro_batches"] == 0) & best["bubble_rate"].notna()]
    shown = shown[shown["keeps_memory"].fillna(False).astype(bool) & shown["memory"].notna()]
    several = shown.groupby(["dataset", "instance"])["memory"].transform("nunique") > 1
    columns = ["dataset", "instance", "devices", "memory", "bubble_rate", "optimal"]
    return shown[several][columns].reset_index(drop=True)


def draw_bubble_rate_by_memory(
    data: pd.DataFrame, axes: "Axes", looks: Looks | None = None
) -> None:
    """Draw lines, hollow marks where the period is not proven optimal.

    Parameters
    ----------
    data
        Best of layouts with the same number of devices.
    looks
        By layout, if they are to be those of another panel.
    """
    lines = natural_order(data["instance"])
    looks = looks or looks_of(lines)
    reach = float(data["memory"].max() - data["memory"].min())
    for at, name in enumerate(lines):
        line = data[data["instance"] == name].sort_values("memory")
        look = looks[name]
        shift = (at - (len(lines) - 1) / 2) * OFFSET * reach
        memory = line["memory"].astype("float64") + shift
        axes.plot(
            memory, 100 * line["bubble_rate"],
            color=look.color, linestyle=look.linestyle, label=name,
            marker=look.marker, markevery=list(line["optimal"].to_numpy().nonzero()[0]),
        )  # fmt: skip
        unproven = ~line["optimal"].astype(bool)
        axes.plot(
            memory[unproven], 100 * line["bubble_rate"][unproven],
            color=look.color, linestyle="none", marker=look.marker, markerfacecolor="none",
        )  # fmt: skip
    axes.set(xlabel="memory of a device", ylabel="bubble rate (%)")
    integer_ticks(axes.xaxis)
    include_zero(axes, float(data["memory"].min()))
