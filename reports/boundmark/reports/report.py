"""From a results folder to its report: tables, plots, and pages for people."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from boundmark.problems.catalog import find
from boundmark.problems.errors import StoreError
from boundmark.reports.analysis import MICROBATCH, PIPELINE, Analysis, analyse
from boundmark.reports.durable import write_durably
from boundmark.reports.html import render_html
from boundmark.reports.markdown import render_markdown
from boundmark.reports.page import Page, Plot, Section
from boundmark.reports.plots.all_plots import GANTT, write_plots
from boundmark.reports.sections import overview
from boundmark.reports.sections.bounds import bound_section
from boundmark.reports.sections.failures import failure_section
from boundmark.reports.sections.gaps import gap_section
from boundmark.reports.sections.heuristics import heuristic_section
from boundmark.reports.sections.instances import instance_section
from boundmark.reports.sections.methods import method_section
from boundmark.reports.sections.microbatch.bubble_rates import bubble_rate_section
from boundmark.reports.sections.microbatch.communication import communication_section
from boundmark.reports.sections.microbatch.drawings import drawing_section
from boundmark.reports.sections.microbatch.instances import (
    instance_section as microbatch_instances,
)
from boundmark.reports.sections.microbatch.search_time import search_time_section
from boundmark.reports.sections.runtime import runtime_section
from boundmark.reports.store import ResultStore
from boundmark.reports.tables.parquet import parquet_bytes

RENDERERS: Mapping[str, Callable[[Page], str]] = {"html": render_html, "md": render_markdown}


def write_report(directory: Path, formats: Sequence[str] = ("html", "md")) -> list[Path]:
    """Write `report.*`, `tables/` and `plots/` into a results folder.

    What is written depends on the stored results and `environment.json` alone.

    Parameters
    ----------
    formats
        Any of ``"html"`` and ``"md"``.

    Returns
    -------
    list of Path
        The files written, the pages first.

    Raises
    ------
    UnknownNameError
        If there is no such format.
    StoreError
        If there are no results, they contradict each other (a verified solution below a certified
        bound), or a file cannot be read or written. Pages of an earlier report stay as they were.
    """
    renderers = {name: find("report format", name, RENDERERS) for name in formats}
    analysis = analyse(ResultStore.open(directory))
    try:
        for folder in ("tables", "plots"):
            (directory / folder).mkdir(exist_ok=True)
    except OSError as error:
        raise StoreError(f"{directory} cannot be written: {error.strerror}.") from error
    paths = []
    for name, table in analysis.tables().items():
        path = directory / "tables" / f"{name}.parquet"
        write_durably(path, parquet_bytes(table))
        paths.append(path)
    plots, plot_paths = write_plots(analysis, directory / "plots")
    page = build_page(analysis, plots)
    pages = []
    for name, render in renderers.items():
        path = directory / f"report.{name}"
        write_durably(path, render(page).encode())
        pages.append(path)
    return [*pages, *paths, *plot_paths]


def build_page(analysis: Analysis, plots: Mapping[str, Plot]) -> Page:
    """Return everything the pages say; parts without data are left out."""
    problems = sorted(set(analysis.tasks["problem"]))
    sections = []
    for problem in problems:
        label = f"{problem}: " if len(problems) > 1 else ""
        sections += [
            replace(section, title=label + section.title)
            for section in problem_sections(analysis, plots, problem)
        ]
    sections += [failure_section(analysis), overview.definitions()]
    return Page(
        title=overview.title(analysis),
        summary=overview.summary(analysis),
        settings=overview.settings(analysis),
        environment=overview.environment(analysis),
        limitations=overview.limitations(analysis),
        sections=tuple(sections),
    )


def problem_sections(analysis: Analysis, plots: Mapping[str, Plot], problem: str) -> list[Section]:
    """Return the parts about one problem; parts without data are left out."""

    def named(*names: str) -> list[Plot]:
        return [plots[name] for name in names if name in plots]

    methods = analysis.methods[analysis.methods["problem"] == problem]
    certified = analysis.certified[analysis.certified["problem"] == problem]
    parts: list[Section | None]
    if problem == MICROBATCH:
        drawings = [plot for name, plot in plots.items() if name.startswith(GANTT)]
        drawable = analysis.best_schedules["solution_sha256"].notna().sum()
        parts = [
            microbatch_instances(analysis.best_schedules),
            bubble_rate_section(
                analysis.bubble_rates,
                named("bubble_rate_by_memory", "bubble_rate_by_repetend"),
            ),
            method_section(methods),
            search_time_section(
                analysis.search_time, analysis.search_time_ratios, named("search_time")
            ),
            communication_section(analysis.communication, named("communication")),
            drawing_section(drawings, int(drawable) - len(drawings)),
        ]
    elif problem == PIPELINE:
        parts = [
            gap_section(analysis, named("gap_by_k", "gap_distribution")),
            bound_section(analysis),
            heuristic_section(analysis, named("performance_profile")),
            runtime_section(analysis, named("runtime_scatter")),
            method_section(methods),
            instance_section(certified),
        ]
    else:
        parts = [method_section(methods), instance_section(certified)]
    return [part for part in parts if part is not None]
