"""Performance profile of the methods that find solutions."""

from typing import TYPE_CHECKING

import pandas as pd

from boundmark.reports.plots.axes import plain_log_ticks
from boundmark.reports.plots.style import Looks, as_drawn
from boundmark.reports.plots.style import looks as looks_of
from boundmark.reports.statistics.performance_profile import performance_profile
from boundmark.reports.tables.grouping import per_instance
from boundmark.reports.text.natural_order import natural_order

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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


def draw_performance_profile(data: pd.DataFrame, axes: "Axes", looks: Looks | None = None) -> None:
    """Draw one step function per method.

    Parameters
    ----------
    looks
        By method, if they are to be those of another plot.
    """
    methods = natural_order(data["method"])
    looks = as_drawn(looks) if looks else looks_of(methods)
    largest = max(float(data["factor"].max()), 1.01)
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
    axes.set(
        xlim=(1.0, largest),
        ylim=(0.0, 1.02),
        xlabel="objective as a multiple of the best one found",
        ylabel="fraction of instances",
    )
    if largest > LARGEST_LINEAR:
        axes.set_xscale("log")
        plain_log_ticks(axes.xaxis)
