"""Write a results folder's report: tables, plots and pages."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pandas as pd

from boundmark.problems.entry_points import described as named
from boundmark.problems.entry_points import entry_points_of, leave_out, loaded
from boundmark.problems.errors import BoundmarkError, StoreError, find
from boundmark.problems.method import require_module
from boundmark.reports.best_known import (
    BestKnown,
    best_known_section,
    improvements,
    of_results,
    shipped,
)
from boundmark.reports.comparison.compare import read_verdict
from boundmark.reports.default import DEFAULT
from boundmark.reports.dictionary import described
from boundmark.reports.folder_results import FolderResults, read_folder
from boundmark.reports.history import add_to_history, trend_section
from boundmark.reports.method_statistics import (
    instance_gaps,
    method_gaps,
    method_pairs,
    method_statistics,
    statistics_section,
)
from boundmark.reports.methods import (
    history_rows,
    speedup_means,
    speedup_section,
    speedup_table,
)
from boundmark.reports.overview import (
    definitions,
    environment,
    limitations,
    settings,
    summary,
    title,
)
from boundmark.reports.pages.formats import FOLDER as PAGE_TABLES
from boundmark.reports.pages.formats import csv_files, latex_files, render_html, render_markdown
from boundmark.reports.pages.page import Page, Section
from boundmark.reports.plots import drawing_of
from boundmark.reports.problem_report import ProblemReport, ProblemResults, Tables
from boundmark.reports.sections.answer import answer_section, dataset_section
from boundmark.reports.sections.failures import DRAFT, check_section, failure_section
from boundmark.reports.sections.instances import MOST_BYTES, detail_section
from boundmark.reports.stored.durable import write_durably
from boundmark.reports.stored.parquet import is_made_by_reports, parquet_bytes
from boundmark.reports.stored.run_records import reference_seconds
from boundmark.reports.stored.store import ResultStore
from boundmark.reports.stored.verified_results import Checks, ignore
from boundmark.reports.tables.tasks import contradicted_claims, failures
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
    """Compute a problem's part with its report, or with the default one if that fails."""
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
    means = speedup_means(speedups)
    if baselines:
        tables |= {"speedups": speedups, "speedup_means": means}
    made = [
        answer_section(results, tables),
        speedup_section(speedups, means),
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


# Each returns files by path below the results folder, the one for people first.
FORMATS: Mapping[str, Callable[[Page], Mapping[str, str]]] = {
    "html": lambda page: {"report.html": render_html(page)},
    "md": lambda page: {"report.md": render_markdown(page)},
    "latex": latex_files,
    "csv": csv_files,
    # Those of the plots, which are drawn with the parts of the page.
    "png": lambda page: {},
}


@dataclass(frozen=True)
class ReportOptions:
    """Options of a report: texts and tables beside the results.

    Attributes
    ----------
    history
        A file of earlier runs, to which this one is added; it need not be there yet.
    highlight
        Names of methods that stand in front, as tables name them.
    baseline
        A method, as tables name it, that the solutions of all others are held against.
    unchecked
        Whether to write a draft, which says so: of documents that the checker has not seen.
    comparison
        `comparison.json` of this run with an earlier one, whose verdict stands first.
    """

    history: Path | None = None
    highlight: Sequence[str] = ()
    baseline: str | None = None
    unchecked: bool = False
    comparison: Path | None = None


def write_report(
    directory: Path,
    formats: Sequence[str] = ("html", "md"),
    options: ReportOptions = ReportOptions(),
    on_check: Callable[[Checks], None] = ignore,
) -> list[Path]:
    """Write `report.*`, `tables/` and `plots/` into a results folder.

    What is written depends on the folder, the history and the options alone, and on which packages
    bring reports of problems; but for the sentence on what was checked, and how long that took.
    """
    require_module("matplotlib")
    renderers = [find("report format", name, FORMATS) for name in formats]
    history = options.history
    if options.unchecked and history is not None:
        raise StoreError(f"{history}: a draft, of unchecked results, is not added to a history.")
    store = ResultStore.open(directory)
    folder = read_folder(store, unchecked=options.unchecked, on_check=on_check)
    treated = dict.fromkeys(folder.tasks["method"])
    named = [*options.highlight, *([] if options.baseline is None else [options.baseline])]
    for name in named:
        find(f"method in {directory}", name, treated)
    folder = replace(
        folder,
        highlight=tuple(options.highlight),
        baseline=options.baseline,
    )
    if history is not None:
        folder = replace(folder, history=add_to_history(history, list(_history_rows(folder))))
    verdict: tuple[str, ...] = ()
    if options.comparison is not None:
        verdict = read_verdict(options.comparison, folder.label, folder.history)
    parts = [part_of(folder, problem, with_png="png" in formats) for problem in folder.problems]
    common = {
        "certified": folder.certified,
        "failures": failures(folder.tasks),
        "unsupported": folder.unsupported,
        "contradicted_claims": contradicted_claims(folder.tasks),
    }
    files = {
        f"tables/{name}.parquet": parquet_bytes(described(name, table))
        for name, table in common.items()
    }
    for part in parts:
        files |= part.files
    found = of_results(folder.tasks)
    page = _page(folder, parts, found, common["failures"], common["contradicted_claims"])
    page = replace(page, verdict=verdict)
    pages = {path: text.encode() for render in renderers for path, text in render(page).items()}
    paths = write_files(directory, {**files, **pages})
    remove_stale(directory, set(paths))
    return [*paths[len(files) :], *paths[: len(files)]]


def _history_rows(folder: FolderResults) -> Iterator[dict[str, Any]]:
    times = reference_seconds(folder.store)
    return history_rows(folder.label, folder.tasks, folder.certified, times)


def _page(
    folder: FolderResults,
    parts: Sequence[ProblemPart],
    found: BestKnown,
    failed: pd.DataFrame,
    contradicted: pd.DataFrame,
) -> Page:
    # What readers ask first, of all problems, before anything else.
    ordered = sorted(
        (
            (part.problem, section, section.is_headline or (at == 0))
            for part in parts
            for at, section in enumerate(part.sections)
        ),
        key=lambda one: not one[2],
    )
    sections = [
        replace(
            section if at == 0 or not is_open else first_table_open(section),
            problem=problem if len(parts) > 1 else "",
            is_open=is_open,
        )
        for at, (problem, section, is_open) in enumerate(ordered)
    ]
    checked = check_section(folder.checks, folder.unsupported)
    against = best_known_section(shipped(), found)
    improved = improvements(shipped(), found).sentence
    headlines = tuple(part.headline for part in parts if part.headline)
    findings = headlines if len(parts) > 1 else ()
    return Page(
        title=title(folder),
        summary=summary(folder, [*(() if findings else headlines), improved]),
        findings=findings,
        settings=settings(folder),
        environment=environment(folder),
        limitations=(
            *limitations(folder, contradicted),
            *(said for part in parts for said in part.limitations),
        ),
        sections=(
            *([replace(checked, is_open=True)] if len(folder.unsupported) else []),
            *sections,
            *filter(None, [against]),
            *([] if len(folder.unsupported) else [checked]),
            failure_section(failed, contradicted),
            definitions(),
        ),
        svg={name: text for part in parts for name, text in part.svg.items()},
        warning=DRAFT if folder.checks is None else "",
    )


def first_table_open(section: Section) -> Section:
    """Return the section with all its tables but the first one folded."""
    first, *others = section.tables or (None,)
    folded = tuple(replace(table, is_folded=True) for table in others if table)
    return replace(section, tables=(first, *folded)) if first else section


FOLDERS = ("tables", "plots")


def write_files(directory: Path, files: Mapping[str, Any]) -> list[Path]:
    """Write files by their path below a directory, and return where they are."""
    paths = [directory / name for name in files]
    try:
        for folder in (*(directory / name for name in FOLDERS), *(path.parent for path in paths)):
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{directory} cannot be written: {error.strerror}.") from error
    for path, content in zip(paths, files.values(), strict=True):
        write_durably(path, content)
    return paths


def remove_stale(directory: Path, written: Collection[Path]) -> None:
    """Remove the tables, plots and pictures of earlier reports that were not written again.

    Files that no report wrote are left alone, but for LaTeX and CSV in `page_tables/`.
    """
    for path in (directory / PAGE_TABLES).glob("*"):
        if path.suffix in (".tex", ".csv") and path not in written:
            path.unlink()
    for folder in FOLDERS:
        for path in (directory / folder).rglob("*.parquet"):
            if is_made_by_reports(path):
                for ending in (".parquet", ".svg", ".png"):
                    if path.with_suffix(ending) not in written:
                        path.with_suffix(ending).unlink(missing_ok=True)
