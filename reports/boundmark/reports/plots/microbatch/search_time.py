"""Search time by layout and method (the form of papers/tessel, Figure 9)."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from boundmark.reports.natural_order import natural_order
from boundmark.reports.plots.runtime_scatter import SMALLEST_SECONDS
from boundmark.reports.plots.style import Look, legend_columns, new_figure, plain_log_ticks

INCHES_A_PLACEMENT = 0.45

# Of the distance between layouts, what the marks of all methods take.
SPREAD = 0.7


def search_time_data(times: pd.DataFrame) -> pd.DataFrame:
    """Return the times there are, one an instance and method."""
    columns = ["dataset", "instance", "parameters", "method", "seconds", "is_limited", "ratio"]
    return times[times["seconds"].notna()][columns].reset_index(drop=True)


def draw_search_time(data: pd.DataFrame, looks: Mapping[str, Look]) -> Figure:
    """Draw a mark an instance and method, hollow where the time is limited."""
    names, methods = natural_order(data["instance"]), natural_order(data["method"])
    width = max(7.4, 0.8 + INCHES_A_PLACEMENT * len(names))
    figure = new_figure(width, 3.9 + 0.18 * -(-len(methods) // 4))
    axes = figure.subplots()
    seconds = data["seconds"].clip(lower=SMALLEST_SECONDS)
    for at, method in enumerate(methods):
        look = looks[method]
        shift = SPREAD * ((at + 0.5) / len(methods) - 0.5)
        for limited, fill in ((False, look.color), (True, "none")):
            shown = (data["method"] == method) & (data["is_limited"] == limited)
            axes.plot(
                [names.index(name) + shift for name in data["instance"][shown]], seconds[shown],
                linestyle="none", marker=look.marker, markersize=4, clip_on=False,
                markerfacecolor=fill, markeredgecolor=look.color,
            )  # fmt: skip
    axes.set(yscale="log", ylabel="search time (s)", xlim=(-0.5, len(names) - 0.5))
    plain_log_ticks(axes.yaxis, seconds.min(), seconds.max())
    axes.set_xticks(range(len(names)), names, rotation=60, ha="right", rotation_mode="anchor")
    axes.grid(visible=False, axis="x")
    for at in range(1, len(names)):
        axes.axvline(at - 0.5, color="#808080", alpha=0.3, linewidth=0.6)
    handles = [
        Line2D([], [], color=looks[name].color, marker=looks[name].marker, linestyle="none",
               label=name)
        for name in methods
    ]  # fmt: skip
    figure.legend(
        handles=handles, loc="outside lower center", ncols=legend_columns(figure, methods)
    )
    return figure
