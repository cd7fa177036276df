"""The main plots of reports as functions of a frame and axes, for notebooks.

The frames are those of `boundmark.results`, or some of their rows, of one problem.

Examples
--------
>>> import boundmark
>>> boundmark.plots.gaps.__name__
'gaps'
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.reports.plots import Plot, settings
from boundmark.reports.problem_report import ALL_INSTANCES, Grouping
from boundmark.reports.sections.gaps import (
    draw_gap_by_parameter,
    draw_gap_distribution,
    draw_performance_profile,
    gap_by_parameter_data,
    gap_distribution_data,
    performance_profile_data,
)
from boundmark.reports.sections.runtime import draw_runtime_scatter, runtime_scatter_data
from boundmark.reports.tables.parameters import parameter_column, parameter_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MOST_LEGEND_COLUMNS = 4


def gaps(best: pd.DataFrame, ax: "Axes | None" = None, by: str | None = None) -> "Axes":
    """Draw the mean gap for each value of a parameter, with 95 % bootstrap intervals.

    A line joins means over the same instances: those that have a gap at each of its values.
    """
    _check(best, ("problem", "dataset", "instance", "gap"))
    grouping, table = _grouped(best, by)
    data = gap_by_parameter_data(table, grouping.column)
    return _drawn(
        "gaps", data, ax,
        lambda data, axes: draw_gap_by_parameter(
            data, axes, grouping.column, grouping.axis_label
        ),
    )  # fmt: skip


def gap_distribution(best: pd.DataFrame, ax: "Axes | None" = None, by: str | None = None) -> "Axes":
    """Draw the cumulative distribution of gaps, a line for each value of a parameter.

    See `gaps` for the parameters and errors.
    """
    _check(best, ("problem", "gap"))
    grouping, table = _grouped(best, by)
    return _drawn(
        "gap_distribution", gap_distribution_data(table, grouping.column), ax,
        lambda data, axes: draw_gap_distribution(data, axes, grouping.column, grouping.heading),
    )  # fmt: skip


def runtime(tasks: pd.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw the wall-clock time of each task against the size of its instance."""
    _check(tasks, ("task_id", "dataset", "method", "nodes", "wall_seconds", "status"))
    data = runtime_scatter_data(tasks.assign(group=ALL_INSTANCES), "group")
    return _drawn("runtime", data, ax, draw_runtime_scatter)


def profile(tasks: pd.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw for each method the fraction of instances that it solves within a factor of the best.

    See `runtime` for the parameters and errors.
    """
    _check(tasks, ("instance_sha256", "method", "method_kind", "objective"))
    return _drawn("profile", performance_profile_data(tasks), ax, draw_performance_profile)


def drawn(plot: Plot, ax: "Axes | None") -> "Axes":
    """Draw a plot into axes, or into new ones of matplotlib.pyplot, and return them."""
    if ax is not None and not hasattr(ax, "get_legend_handles_labels"):
        raise InvalidInputError(
            f"ax is {quoted(ax)}; expected axes of matplotlib, such as `figure, ax = "
            "pyplot.subplots()` makes."
        )
    with settings():
        if ax is not None:
            plot.draw(plot.data, ax)
            if ax.get_legend_handles_labels()[1]:
                # Beside the axes, where it hides no data.
                ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1))
        else:
            from matplotlib import pyplot as plt

            figure, ax = plt.subplots(
                figsize=(plot.width, plot.height), layout="constrained", facecolor="white"
            )
            plot.draw(plot.data, ax)
            if labels := ax.get_legend_handles_labels()[1]:
                columns = min(len(labels), MOST_LEGEND_COLUMNS)
                figure.legend(loc="outside lower center", ncols=columns)
        if plot.title:
            ax.set_title(plot.title, wrap=True)
    return ax


def _drawn(
    name: str,
    data: pd.DataFrame,
    ax: "Axes | None",
    draw: Callable[[pd.DataFrame, "Axes"], None],
) -> "Axes":
    if data.empty:
        raise InvalidInputError(f"the frame has nothing that the plot of {name!r} could show.")
    return drawn(Plot(name, "", "", data, draw), ax)


def _check(frame: pd.DataFrame, columns: Sequence[str]) -> None:
    if not isinstance(frame, pd.DataFrame):
        raise InvalidInputError(
            f"the frame is {quoted(frame)}; expected one from boundmark.results."
        )
    missing = [name for name in columns if name not in frame]
    if missing:
        raise InvalidInputError(
            f"the frame has no column {' or '.join(map(repr, missing))}; expected one from "
            "boundmark.results."
        )
    if "problem" in frame and frame["problem"].nunique() > 1:
        names = ", ".join(sorted(set(frame["problem"])))
        raise InvalidInputError(
            f"the frame is about the problems {names}; expected one, such as "
            f"frame[frame['problem'] == {min(frame['problem'])!r}]."
        )


def _grouped(best: pd.DataFrame, by: str | None) -> tuple[Grouping, pd.DataFrame]:
    """Choose the parameter that groups rows; return it, and the frame with a column of groups."""
    table = best.dropna(axis="columns", how="all")
    sizes = {name: table[parameter_column(name)].nunique() for name in parameter_names(table)}
    if by is not None and (not isinstance(by, str) or by not in sizes):
        raise InvalidInputError(
            f"by is {quoted(by)}; expected a parameter of the instances: "
            f"{' or '.join(map(repr, sizes)) or 'there is none'}."
        )
    grouping = Grouping(by or (max(sorted(sizes), key=lambda one: sizes[one]) if sizes else None))
    if grouping.parameter is None:
        return grouping, best.assign(group=ALL_INSTANCES)
    return grouping, best
