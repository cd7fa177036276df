"""Bubble rate over the micro-batches in a repetend (the form of [TESSEL24], Figure 11)."""

from typing import TYPE_CHECKING

import pandas as pd

from boundmark.reports.plots.axes import include_zero, integer_ticks
from boundmark.reports.plots.style import looks
from boundmark.reports.text.natural_order import natural_order

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def bubble_rate_by_repetend_data(schedules: pd.DataFrame) -> pd.DataFrame:
    """Return the smallest bubble rate of verified schedules with at most so many micro-batches.

    Of each layout at its largest memory, over all methods, for the numbers that occur;
    layouts whose schedules all have the same number are left out.
    """
    having = schedules[
        (schedules["micro_batches"] == 0)
        & schedules["repetend_micro_batches"].notna()
        & schedules["bubble_rate"].notna()
    ]
    key = ["dataset", "instance"]
    largest = having.groupby(key)["memory"].transform("max")
    having = having[(having["memory"] == largest).fillna(False).astype(bool)]
    points = having.groupby([*key, "memory", "repetend_micro_batches"])["bubble_rate"].min()
    table = points.reset_index()
    several = table.groupby(key)["repetend_micro_batches"].transform("size") > 1
    table = table[several].assign(
        bubble_rate=lambda frame: frame.groupby(key)["bubble_rate"].cummin()
    )
    return table.reset_index(drop=True)


def draw_bubble_rate_by_repetend(data: pd.DataFrame, axes: "Axes") -> None:
    """Draw one step function per layout."""
    largest = int(data["repetend_micro_batches"].max())
    for name, look in looks(natural_order(data["instance"])).items():
        line = data[data["instance"] == name]
        numbers = [*line["repetend_micro_batches"].astype("int64"), largest]
        rates = [*line["bubble_rate"], line["bubble_rate"].iloc[-1]]
        axes.plot(
            numbers, [100 * rate for rate in rates], drawstyle="steps-post",
            color=look.color, linestyle=look.linestyle, marker=look.marker,
            markevery=slice(0, len(line)), label=name,
        )  # fmt: skip
    axes.set(xlabel="micro-batches in a repetition (at most)", ylabel="bubble rate (%)")
    integer_ticks(axes.xaxis)
    include_zero(axes, largest)
