"""How long the search for schedules takes."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd

from boundmark.reports.microbatch.plots.search_time import draw_search_time, search_time_data
from boundmark.reports.microbatch.sections.layout_table import layout_table
from boundmark.reports.microbatch.tables.search_time import REFERENCE, reference_method
from boundmark.reports.pages.page import Cell, Group, Section, Table
from boundmark.reports.plots.plot import Plot
from boundmark.reports.plots.style import looks
from boundmark.reports.problem_report import ProblemResults, Tables
from boundmark.reports.text.natural_order import natural_order
from boundmark.reports.text.number_text import MISSING, plain, seconds

INCHES_PER_LAYOUT = 0.45


@dataclass(frozen=True)
class _Measure:
    """A way to measure search: its columns, and what the tables say of it."""

    title: str
    seconds: str
    is_limited: str
    ratio: str
    means: tuple[str, str, str]
    meaning: str
    limited: str


MEASURES = (
    _Measure(
        "Search time",
        "seconds",
        "is_limited",
        "ratio",
        ("instances", "limited", "mean_ratio"),
        "Wall-clock seconds of the whole search, averaged over seeds, without verification",
        "the method used its whole time, or failed and counts with its time limit (or with the "
        "time it took, if that is longer)",
    ),
    _Measure(
        "Time until the best schedule",
        "best_seconds",
        "is_best_limited",
        "best_ratio",
        ("best_instances", "best_limited", "best_mean_ratio"),
        "Wall-clock seconds until a schedule with the best objective of all methods was first "
        "reported, averaged over seeds",
        "the method did not reach that objective and counts with the time it took (or with its "
        "time limit, if it failed)",
    ),
)


def search_time_section(results: ProblemResults, tables: Tables) -> Section | None:
    """Return the tables of seconds and of ratios, and the plot; None without times."""
    times, means = tables["search_time"], tables["search_time_ratios"]
    if times["seconds"].notna().sum() == 0:
        return None
    found = []
    for measure in MEASURES:
        found.append(_seconds(times, measure))
        if len(means):
            found.append(_ratios(times, means, measure))
    return Section("Search time", tuple(found), (_plot(times),))


def _plot(times: pd.DataFrame) -> Plot:
    data = search_time_data(times)
    layouts = data["instance"].nunique()
    methods = looks(natural_order(times["method"]))
    return Plot(
        "search_time",
        "Search time",
        "One mark per instance and method, averaged over seeds; hollow where a task used its whole "
        "time or failed, so that it needs at least that time.",
        data,
        partial(draw_search_time, looks=methods),
        width=max(7.4, 0.8 + INCHES_PER_LAYOUT * layouts),
        height=3.9,
    )


def _seconds(times: pd.DataFrame, measure: _Measure) -> Table:
    notes = (
        f"{measure.meaning}. The small number is the ratio to the time of {REFERENCE}, given where "
        f"the time of {REFERENCE} is not marked with ≥. Solvers are loaded before tasks start. A "
        "cell is one instance; n: instances of a group.",
        f"≥: {measure.limited}, so that it needs at least this time. ×: the method does not "
        "support the layout.",
    )
    reference = reference_method(times["method"].unique())
    cell = partial(_cell, reference=reference, measure=measure)
    return layout_table(f"{measure.title} in seconds", times, cell, notes)


def _cell(row: Any, own: pd.DataFrame, reference: str | None, measure: _Measure) -> Cell:
    if pd.isna(row[measure.seconds]):
        return Cell("×")
    sign = "≥ " if row[measure.is_limited] else ""
    ratio = row[measure.ratio]
    is_other = not pd.isna(ratio) and row.name != reference
    return Cell(sign + seconds(row[measure.seconds]), f"{sign}{_times(ratio)}" if is_other else "")


def _times(ratio: float) -> str:
    return f"{plain(float(f'{ratio:.2g}'))}×" if ratio < 1e5 else f"{ratio:.1e}×"


def _ratios(times: pd.DataFrame, means: pd.DataFrame, measure: _Measure) -> Table:
    by_name = means.set_index("method")
    instances, limited, mean = measure.means
    lines: list[Any] = [by_name.loc[name] for name in natural_order(by_name.index)]
    rows = tuple(
        (
            Cell(str(row.name)),
            Cell(("≥ " if row[limited] else "") + _times(row[mean])),
            Cell(f"{int(row[instances])}"),
            Cell(f"{int(row[limited])}" if row[limited] else MISSING),
        )
        for row in lines
        if row[instances]
    )
    reference = reference_method(times["method"].unique())
    return Table(
        f"{measure.title} relative to {reference}",
        ("method", "mean ratio", "n", "limited"),
        (Group((), rows),),
        (
            f"Geometric mean of the ratios to the time of {reference}, over the n instances that "
            f"the method ran on and where the time of {reference} is not marked with ≥. Limited: "
            "how many of them are marked for the method; they make the mean a lower bound, "
            "marked with ≥ too.",
        ),
    )
