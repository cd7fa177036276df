"""Time against size, a panel a k (the form of papers/mtpp, Figures 4 and 5)."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from boundmark.reports.natural_order import natural_order
from boundmark.reports.plots.style import Look, legend_columns, new_figure, plain_log_ticks

PANELS = 3

# Below this, times are those of the clock and of the runner.
SMALLEST_SECONDS = 1e-4


def runtime_scatter_data(tasks: pd.DataFrame) -> pd.DataFrame:
    """Return one row a task that ran, for the smallest, the middle and the largest k."""
    ran = tasks[(tasks["status"] != "unsupported") & tasks["k"].notna() & (tasks["nodes"] > 0)]
    ran = ran[ran["wall_seconds"].notna()]
    values = sorted({int(k) for k in ran["k"]})
    chosen = {values[0], values[len(values) // 2], values[-1]} if values else set()
    columns = ["k", "method", "nodes", "wall_seconds", "status"]
    return ran[ran["k"].isin(chosen)][columns].reset_index(drop=True)


def draw_runtime_scatter(data: pd.DataFrame, looks: Mapping[str, Look]) -> Figure:
    """Draw the panels, all with the same axes; `looks` by method."""
    values = sorted({int(k) for k in data["k"]})
    methods = natural_order(data["method"])
    figure = new_figure(height=3.4 + 0.18 * -(-len(methods) // 4))
    panels = figure.subplots(1, len(values), sharex=True, sharey=True, squeeze=False)[0]
    for axes, k in zip(panels, values, strict=True):
        axes.set(title=f"k = {k}", xscale="log", yscale="log", xlabel="nodes")
        for method in methods:
            look = looks[method]
            chosen = data[(data["k"] == k) & (data["method"] == method)]
            seconds = chosen["wall_seconds"].clip(lower=SMALLEST_SECONDS)
            for is_ok, fill in ((True, look.color), (False, "none")):
                shown = (chosen["status"] == "ok") == is_ok
                axes.plot(
                    chosen["nodes"][shown].astype("float64"),
                    seconds[shown],
                    linestyle="none",
                    marker=look.marker,
                    markersize=4,
                    markerfacecolor=fill,
                    markeredgecolor=look.color,
                    alpha=0.8,
                )
    plain_log_ticks(panels[0].xaxis, float(data["nodes"].min()), float(data["nodes"].max()))
    seconds = data["wall_seconds"].clip(lower=SMALLEST_SECONDS)
    plain_log_ticks(panels[0].yaxis, seconds.min(), seconds.max())
    panels[0].set_ylabel("wall-clock time (s)")
    handles = [
        Line2D(
            [],
            [],
            color=looks[method].color,
            marker=looks[method].marker,
            linestyle="none",
            label=method,
        )
        for method in methods
    ]
    figure.legend(
        handles=handles, loc="outside lower center", ncols=legend_columns(figure, methods)
    )
    return figure
