"""The part of a report about one problem, computed by its `ProblemReport`."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint
from typing import Any

import pandas as pd

from boundmark.problems.entry_points import described as named
from boundmark.problems.entry_points import entry_points_of, leave_out, loaded
from boundmark.problems.errors import BoundmarkError, StoreError
from boundmark.reports.default import DEFAULT
from boundmark.reports.dictionary import described
from boundmark.reports.folder_results import FolderResults
from boundmark.reports.pages.page import Section
from boundmark.reports.plots.drawing import drawing_of
from boundmark.reports.problem_report import ProblemReport, ProblemResults, Tables
from boundmark.reports.sections.answer import answer_section, dataset_section
from boundmark.reports.sections.comparisons import statistics_section
from boundmark.reports.sections.instances import MOST_BYTES, detail_section
from boundmark.reports.sections.methods import speedup_section
from boundmark.reports.sections.robustness import robustness_section
from boundmark.reports.sections.trends import trend_section
from boundmark.reports.stored.parquet import parquet_bytes
from boundmark.reports.tables.comparisons import (
    instance_gaps,
    method_gaps,
    method_pairs,
    method_statistics,
)
from boundmark.reports.tables.methods import speedup_table
from boundmark.reports.tables.robustness import robustness_table
from boundmark.reports.text import count, file_name


@dataclass(frozen=True)
class ProblemPart:
    """One problem's part of a report.

    Attributes
    ----------
    sections
        With plots called ``"<problem>/<name>"``, like their files.
    files
        Content by path below the results folder.
    svg
        Each plot of the sections as SVG text, by name.
    """

    problem: str
    headline: str
    limitations: tuple[str, ...]
    sections: tuple[Section, ...]
    files: Mapping[str, Any]
    svg: Mapping[str, str]


def part_of(folder: FolderResults, problem: str, *, with_png: bool = False) -> ProblemPart:
    """Compute a problem's part with its report, or with the default one if that fails.

    Parameters
    ----------
    with_png
        Whether its files have each plot as PNG too.

    Raises
    ------
    StoreError
        If a file of the folder cannot be read.
    """
    report, complaints = report_of(problem)
    try:
        part = _computed(report, folder, problem, with_png)
    except (StoreError, KeyboardInterrupt):
        raise
    except BaseException as error:
        # Somebody else's code again, see `report_of`; what is wrong with the default one is ours.
        if report is DEFAULT:
            raise
        complaints.append(leave_out(f"the report of {problem!r}, which failed", error))
        part = _computed(DEFAULT, folder, problem, with_png)
    told = (line[0].upper() + line[1:] for line in complaints)
    return replace(part, limitations=(*told, *part.limitations))


def _computed(
    report: ProblemReport, folder: FolderResults, problem: str, with_png: bool
) -> ProblemPart:
    results = folder.of_problem(problem, report.grouping)
    most_bytes = MOST_BYTES * len(results.tasks) // len(folder.tasks)
    tables: dict[str, pd.DataFrame] = {
        "method_gaps": method_gaps(results.tasks, results.certified),
        "instance_gaps": instance_gaps(results.tasks, results.certified),
        "method_statistics": method_statistics(results.tasks, results.traces, results.certified),
        "pairs": method_pairs(results.tasks),
        **report.tables(results),
    }
    prefix = file_name(problem)
    baselines = report.baselines if results.baseline is None else (results.baseline,)
    speedups = speedup_table(results.tasks, results.certified, baselines)
    if baselines:
        tables["speedups"] = speedups
    robustness = robustness_table(results, baselines)
    if results.noises:
        tables["robustness"] = robustness
    made = [
        answer_section(results, tables),
        speedup_section(speedups),
        robustness_section(robustness),
        *(make(results, tables) for make in report.sections),
        dataset_section(results, tables),
        statistics_section(tables),
        trend_section(results),
    ]
    sections = tuple(_with_file_names(part, prefix) for part in made if part is not None)
    plots = [plot for section in sections for plot in section.plots]
    details = detail_section(results, plots, most_bytes)
    if details is not None:
        sections = (*sections, details)
    plot_files, svg = _drawn(sections, with_png)
    return ProblemPart(
        problem,
        report.headline(results, tables),
        (*_without_parameter(results), *report.limitations(results, tables)),
        sections,
        {**_table_files(tables, prefix), **plot_files},
        svg,
    )


def _with_file_names(section: Section, prefix: str) -> Section:
    """Return the section without plots that have no data, the others named after their files."""
    plots = tuple(
        replace(plot, name=f"{prefix}/{file_name(plot.name)}")
        for plot in section.plots
        if len(plot.data)
    )
    return replace(section, plots=plots)


def _table_files(tables: Tables, prefix: str) -> dict[str, Any]:
    return {
        f"tables/{prefix}/{file_name(name)}.parquet": parquet_bytes(
            described(f"{prefix}/{name}", table)
        )
        for name, table in tables.items()
    }


def _drawn(sections: tuple[Section, ...], with_png: bool) -> tuple[dict[str, Any], dict[str, str]]:
    files: dict[str, Any] = {}
    svg: dict[str, str] = {}
    for plot in (plot for section in sections for plot in section.plots):
        if plot.name in svg:
            raise ValueError(f"two plots are called {plot.name}; expected names of their own")
        drawing = drawing_of(plot, plot.name.replace("/", "."), with_png=with_png)
        files[f"plots/{plot.name}.parquet"] = parquet_bytes(plot.data)
        files[f"plots/{plot.name}.svg"] = drawing.svg.encode()
        if drawing.png is not None:
            files[f"plots/{plot.name}.png"] = drawing.png
        svg[plot.name] = drawing.svg
    return files, svg


def _without_parameter(results: ProblemResults) -> tuple[str, ...]:
    name, problem = results.grouping.parameter, results.problem
    missing = int(results.certified[results.grouping.column].isna().sum())
    if not missing:
        return ()
    return (f"{count(missing, 'instance')} of {problem} without {name}, in no table by {name}.",)


GROUP = "boundmark.reports"


def report_of(problem: str) -> tuple[ProblemReport, list[str]]:
    """Return the report of a problem, or the default one, and a line for each that was left out.

    Of several, ours comes first, and then the first in the order of `entry_points_of`.
    """
    serving: ProblemReport | None = None
    complaints: list[str] = []
    for point in entry_points_of(GROUP):
        if point.name != problem:
            continue
        try:
            if serving is not None:
                raise BoundmarkError(f"{problem!r} is taken; expected one report per problem.")
            serving = _loaded_report(point)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            # Another package's code may raise anything, even SystemExit; the report goes on.
            complaints.append(leave_out(named(point), error))
    return serving or DEFAULT, complaints


def _loaded_report(point: EntryPoint) -> ProblemReport:
    value = loaded(point)
    if not isinstance(value, ProblemReport):
        raise BoundmarkError(f"it holds a {type(value).__name__}; expected a ProblemReport.")
    return value
