"""The section on times: how long methods take, and how good they are meanwhile."""

from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from boundmark.reports.pages.page import Section, Table
from boundmark.reports.plots import Looks, Panels, Plot, hint, plain_log_ticks
from boundmark.reports.plots import looks as looks_of
from boundmark.reports.problem_report import ProblemResults, Tables
from boundmark.reports.sections.page_tables import Shown, methods_by_parameter
from boundmark.reports.tables.parameters import values_in_order
from boundmark.reports.text import natural_order, percent, seconds

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# Below this, times are those of the clock and of the runner.
SMALLEST_SECONDS = 1e-4

# Marks of all panels together; each takes some 100 bytes of a page.
MOST_MARKS = 1500


def runtime_scatter_data(tasks: pd.DataFrame, by: str) -> pd.DataFrame:
    """Return one row per task that ran, for the first, the middle and the last value.

    Where that is more than `MOST_MARKS`, one in every few of them, in order of nodes.
    """
    ran = tasks[(tasks["status"] != "unsupported") & tasks[by].notna() & (tasks["nodes"] > 0)]
    ran = ran[ran["wall_seconds"].notna()]
    values = values_in_order(ran[by])
    chosen = {values[0], values[len(values) // 2], values[-1]} if values else set()
    columns = ["dataset", by, "method", "nodes", "wall_seconds", "status"]
    shown = ran[ran[by].isin(chosen)]
    if len(shown) > MOST_MARKS:
        ordered = shown.sort_values(["nodes", "method", "task_id"], kind="stable")
        shown = ordered.iloc[:: -(-len(shown) // MOST_MARKS)].sort_index()
    return shown[columns].reset_index(drop=True)


def draw_runtime_scatter(data: pd.DataFrame, axes: "Axes", looks: Looks | None = None) -> None:
    """Draw a mark per task, filled if it ended ok."""
    methods = natural_order(data["method"])
    looks = looks or looks_of(methods)
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


TIME_NOTES = (
    "Cells: geometric mean of wall-clock seconds with a shift of 1 s, seeds averaged within an "
    "instance; verification is not included. n: the largest number of instances that a method ran "
    "on.",
    "Failures: a task that did not end ok counts with its time limit, or with the time it took if "
    "that is longer. Unsupported tasks have no time. Not ok: tasks by status.",
)
ANYTIME_NOTES = (
    "Cells: mean over the time limit of (U - L)/U in percent, where U and L are the best solution "
    "and bound reported so far; 0 is best. A heuristic is measured against the best certified "
    "bound of the instance, a bound method against the best verified solution; instances without "
    "one are left out.",
    "Failures: a task has a gap of 100 % until it reports something; results reported before a "
    "failure count. n: the largest number of instances of a method.",
)


def runtime_section(results: ProblemResults, tables: Tables) -> Section | None:
    """Return the tables of times and of primal-dual integrals; None without times."""
    grouping = results.grouping
    times = tables[grouping.named("runtime")].fillna({"instances": 0})
    if (times["instances"] == 0).all():
        return None
    shown = Shown("mean_seconds", seconds)
    title = "Wall-clock time in seconds"
    found: list[Table] = [methods_by_parameter(times, grouping, title, shown, TIME_NOTES)]
    anytime = tables[grouping.named("anytime")]
    if len(anytime):
        shown = Shown("mean_gap_over_time", percent, with_statuses=False)
        title = "Primal-dual integral in percent of the time limit"
        found.append(methods_by_parameter(anytime, grouping, title, shown, ANYTIME_NOTES))
    return Section("Time", tuple(found), (_scatter(results),))


def _scatter(results: ProblemResults) -> Plot:
    grouping = results.grouping
    methods = looks_of(natural_order(results.tasks["method"]))
    return Plot(
        "runtime_scatter",
        "Time against size",
        "One mark per task, filled if it ended ok; times below 0.1 ms are drawn at 0.1 ms. Of "
        "more than 1,500 tasks, an evenly spaced part is drawn.",
        runtime_scatter_data(results.tasks, grouping.column),
        partial(draw_runtime_scatter, looks=methods),
        Panels(grouping.column, grouping.heading),
    )
