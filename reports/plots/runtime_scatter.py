"""Time against size (the form of [MTPP24], Figures 4 and 5)."""

from typing import TYPE_CHECKING

import pandas as pd

from boundmark.reports.plots.axes import plain_log_ticks
from boundmark.reports.plots.hints import hint
from boundmark.reports.plots.style import Looks, as_drawn
from boundmark.reports.plots.style import looks as looks_of
from boundmark.reports.tables.parameters import values_in_order
from boundmark.reports.text.natural_order import natural_order

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Below this, times are those of the clock and of the runner.
SMALLEST_SECONDS = 1e-4

# Of all panels together; a mark takes some 100 bytes of a page.
MOST_MARKS = 1500


def runtime_scatter_data(tasks: pd.DataFrame, by: str) -> pd.DataFrame:
    """Return one row per task that ran, for the first, the middle and the last value.

    Where that is more than `MOST_MARKS`, one in every few of them, in order of nodes.

    Parameters
    ----------
    by
        A parameter's column.
    """
    ran = tasks[(tasks["status"] != "unsupported") & tasks[by].notna() & (tasks["nodes"] > 0)]
    ran = ran[ran["wall_seconds"].notna()]
    values = values_in_order(ran[by])
    chosen = {values[0], values[len(values) // 2], values[-1]} if values else set()
    columns = [by, "method", "nodes", "wall_seconds", "status"]
    shown = ran[ran[by].isin(chosen)]
    if len(shown) > MOST_MARKS:
        ordered = shown.sort_values(["nodes", "method", "task_id"], kind="stable")
        shown = ordered.iloc[:: -(-len(shown) // MOST_MARKS)].sort_index()
    return shown[columns].reset_index(drop=True)


def draw_runtime_scatter(data: pd.DataFrame, axes: "Axes", looks: Looks | None = None) -> None:
    """Draw a mark per task, filled if it ended ok.

    Parameters
    ----------
    looks
        By method, if they are to be those of another plot or panel.
    """
    methods = natural_order(data["method"])
    looks = as_drawn(looks) if looks else looks_of(methods)
    for method in methods:
        look = looks[method]
        chosen = data[data["method"] == method]
        seconds = chosen["wall_seconds"].clip(lower=SMALLEST_SECONDS)
        for is_ok, fill in ((True, look.color), (False, "none")):
            shown = (chosen["status"] == "ok") == is_ok
            nodes = chosen["nodes"][shown].astype("float64")
            (line,) = axes.plot(
                nodes,
                seconds[shown],
                linestyle="none",
                marker=look.marker,
                markersize=4,
                markerfacecolor=fill,
                markeredgecolor=look.color,
                alpha=0.8,
            )
            pairs = zip(nodes, chosen["wall_seconds"][shown], strict=True)
            hint(
                line, method, [f"{method}: {size:,.0f} nodes, {time:.3g} s" for size, time in pairs]
            )
        # For the legend: a filled mark, whether or not there is one.
        axes.plot([], [], linestyle="none", color=look.color, marker=look.marker, label=method)
    axes.set(xscale="log", yscale="log", xlabel="nodes", ylabel="wall-clock time (s)")
    plain_log_ticks(axes.xaxis)
    plain_log_ticks(axes.yaxis)
