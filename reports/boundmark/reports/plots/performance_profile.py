"""Performance profile of the methods that find solutions."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from boundmark.reports.natural_order import natural_order
from boundmark.reports.plots.style import Look, legend_below, new_figure, plain_log_ticks
from boundmark.reports.statistics.performance_profile import performance_profile
from boundmark.reports.tables.tasks import per_instance

# Up to this factor a linear axis shows more than a logarithmic one.
LARGEST_LINEAR = 4.0


def performance_profile_data(tasks: pd.DataFrame) -> pd.DataFrame:
    """Return the profile over all instances that some method solved; empty for one method."""
    solving = tasks[tasks["method_kind"].isin(["heuristic", "exact"])]
    costs = per_instance(solving, "objective")
    costs = costs.where(costs > 0)
    if len(costs.columns) < 2:
        costs = costs.iloc[:0]
    return performance_profile(costs)


def draw_performance_profile(data: pd.DataFrame, looks: Mapping[str, Look]) -> Figure:
    """Draw one step function a method; `looks` by method."""
    methods = natural_order(data["method"])
    largest = max(float(data["factor"].max()), 1.01)
    figure = new_figure(height=3.4 + 0.18 * -(-len(methods) // 4))
    axes = figure.subplots()
    for method in methods:
        look = looks[method]
        steps = data[data["method"] == method]
        factors = [*steps["factor"], largest]
        fractions = [*steps["fraction"], float(steps["fraction"].iloc[-1])]
        axes.plot(
            factors,
            fractions,
            drawstyle="steps-post",
            color=look.color,
            linestyle=look.linestyle,
            marker=look.marker,
            markevery=max(1, len(factors) // 6),
            label=method,
        )
    if largest > LARGEST_LINEAR:
        axes.set_xscale("log")
        plain_log_ticks(axes.xaxis, 1.0, largest)
    axes.set(
        xlim=(1.0, largest),
        ylim=(0.0, 1.02),
        xlabel="objective as a multiple of the best one found",
        ylabel="fraction of instances",
    )
    legend_below(figure, axes)
    return figure
