"""Search time by layout and method (the form of [TESSEL24], Figure 9)."""

from typing import TYPE_CHECKING

import pandas as pd

from boundmark.reports.plots.axes import names_below, plain_log_ticks
from boundmark.reports.plots.runtime_scatter import SMALLEST_SECONDS
from boundmark.reports.plots.style import GREY, Looks
from boundmark.reports.plots.style import looks as looks_of
from boundmark.reports.text.natural_order import natural_order

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Of the distance between layouts, what the marks of all methods take.
SPREAD = 0.7


def search_time_data(times: pd.DataFrame) -> pd.DataFrame:
    """Return the times there are, one per instance and method."""
    columns = ["dataset", "instance", "parameters", "method", "seconds", "is_limited", "ratio"]
    return times[times["seconds"].notna()][columns].reset_index(drop=True)


def draw_search_time(data: pd.DataFrame, axes: "Axes", looks: Looks | None = None) -> None:
    """Draw one mark per instance and method, hollow where the time is limited.

    Parameters
    ----------
    looks
        By method, if they are to be those of another plot.
    """
    names, methods = natural_order(data["instance"]), natural_order(data["method"])
    looks = looks or looks_of(methods)
    seconds = data["seconds"].clip(lower=SMALLEST_SECONDS)
    for at, method in enumerate(methods):
        look = looks[method]
        shift = SPREAD * ((at + 0.5) / len(methods) - 0.5)
        for limited, fill in ((False, look.color), (True, "none")):
            shown = (data["method"] == method) & (data["is_limited"] == limited)
            if not shown.any():
                # An empty line that is not clipped would make room for itself in a corner.
                continue
            axes.plot(
                [names.index(name) + shift for name in data["instance"][shown]], seconds[shown],
                linestyle="none", marker=look.marker, markersize=4, clip_on=False,
                markerfacecolor=fill, markeredgecolor=look.color,
            )  # fmt: skip
        # For the legend: a filled mark, whether or not there is one.
        axes.plot([], [], linestyle="none", color=look.color, marker=look.marker, label=method)
    axes.set(yscale="log", ylabel="search time (s)", xlim=(-0.5, len(names) - 0.5))
    plain_log_ticks(axes.yaxis)
    names_below(axes, names)
    for at in range(1, len(names)):
        axes.axvline(at - 0.5, color=GREY, alpha=0.3, linewidth=0.6)
