"""From a results folder to its report: tables, plots, and pages for people."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from boundmark.problems.catalog import find
from boundmark.problems.errors import StoreError
from boundmark.reports.analysis import Analysis, analyse
from boundmark.reports.durable import write_durably
from boundmark.reports.html import render_html
from boundmark.reports.markdown import render_markdown
from boundmark.reports.page import Page, Plot
from boundmark.reports.plots.all_plots import write_plots
from boundmark.reports.sections import overview
from boundmark.reports.sections.bounds import bound_section
from boundmark.reports.sections.failures import failure_section
from boundmark.reports.sections.gaps import gap_section
from boundmark.reports.sections.heuristics import heuristic_section
from boundmark.reports.sections.instances import instance_section
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
    gap_plots = [plots[name] for name in ("gap_by_k", "gap_distribution") if name in plots]
    profile = [plots[name] for name in ("performance_profile",) if name in plots]
    runtime = [plots[name] for name in ("runtime_scatter",) if name in plots]
    sections = (
        gap_section(analysis, gap_plots),
        bound_section(analysis),
        heuristic_section(analysis, profile),
        runtime_section(analysis, runtime),
        instance_section(analysis),
        failure_section(analysis),
        overview.definitions(),
    )
    return Page(
        title=overview.title(analysis),
        summary=overview.summary(analysis),
        settings=overview.settings(analysis),
        environment=overview.environment(analysis),
        limitations=overview.limitations(analysis),
        sections=tuple(section for section in sections if section is not None),
    )
