"""How long methods take, and how good they are on the way."""

from collections.abc import Sequence

from boundmark.reports.analysis import Analysis
from boundmark.reports.number_text import percent, seconds
from boundmark.reports.page import Plot, Section
from boundmark.reports.sections.by_k import methods_by_k


def runtime_section(analysis: Analysis, plots: Sequence[Plot]) -> Section | None:
    """Return the tables of times and of primal-dual integrals; None without times."""
    frame = analysis.runtime_by_k.fillna({"instances": 0})
    if (frame["instances"] == 0).all():
        return None
    notes = [
        "Cells: geometric mean of wall-clock seconds, shifted by 1 s, seeds averaged within an "
        "instance; verification is not included. n: the most instances that a method ran on.",
        "Failures: a task that did not end ok counts with its time limit, or with the time it "
        "took if that is longer. Unsupported tasks have no time. Not ok: tasks by status.",
    ]
    tables = [methods_by_k(frame, "Wall-clock time in seconds", "mean_seconds", seconds, notes)]
    anytime = analysis.anytime_by_k
    if len(anytime):
        tables.append(
            methods_by_k(
                anytime,
                "Primal-dual integral in percent of the time limit",
                "mean_gap_over_time",
                percent,
                [
                    "Cells: mean over the time limit of (U - L)/U in percent, U and L being the "
                    "best solution and bound reported so far; 0 is best. A heuristic is measured "
                    "against the best certified bound of the instance, a bound method against the "
                    "best verified solution; instances without it are left out.",
                    "Failures: a task has a gap of 100 % until it reports something; what it "
                    "reported before it failed counts. n: the most instances of a method.",
                ],
                with_statuses=False,
            )
        )
    return Section("Time", tuple(tables), tuple(plots))
