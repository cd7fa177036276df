"""How long methods take, and how good they are on the way."""

from functools import partial

from boundmark.reports.pages.page import Section, Table
from boundmark.reports.plots.plot import Panels, Plot
from boundmark.reports.plots.runtime_scatter import draw_runtime_scatter, runtime_scatter_data
from boundmark.reports.plots.style import looks
from boundmark.reports.problem_report import ProblemResults, Tables
from boundmark.reports.sections.methods_by_parameter import Shown, methods_by_parameter
from boundmark.reports.text.natural_order import natural_order
from boundmark.reports.text.number_text import percent, seconds

TIME_NOTES = (
    "Cells: geometric mean of wall-clock seconds, shifted by 1 s, seeds averaged within an "
    "instance; verification is not included. n: the largest number of instances that a method ran "
    "on.",
    "Failures: a task that did not end ok counts with its time limit, or with the time it took if "
    "that is longer. Unsupported tasks have no time. Not ok: tasks by status.",
)
ANYTIME_NOTES = (
    "Cells: mean over the time limit of (U - L)/U in percent, U and L being the best solution and "
    "bound reported so far; 0 is best. A heuristic is measured against the best certified bound of "
    "the instance, a bound method against the best verified solution; instances without it are "
    "left out.",
    "Failures: a task has a gap of 100 % until it reports something; what it reported before it "
    "failed counts. n: the largest number of instances of a method.",
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
    methods = looks(natural_order(results.tasks["method"]))
    return Plot(
        "runtime_scatter",
        "Time against size",
        "One mark per task, filled if it ended ok; times below 0.1 ms are drawn at 0.1 ms. Of "
        "more than 1,500 tasks, one in every few is drawn.",
        runtime_scatter_data(results.tasks, grouping.column),
        partial(draw_runtime_scatter, looks=methods),
        Panels(grouping.column, grouping.heading),
    )
