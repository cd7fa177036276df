"""The library's pages: a table of all instances that sorts by any column, and their history."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from boundmark.benchmarks.library.entry import Entry, Find
from boundmark.benchmarks.library.folder import Library
from boundmark.reports.pages.formats import render_html, render_markdown
from boundmark.reports.pages.page import Cell, Detail, Group, Page, Section, Table
from boundmark.reports.stored.durable import make_folder, write_durably
from boundmark.reports.text import MISSING, count, integer, natural_order, percent, size

COLUMNS = (
    "instance", "gap (%)", "cost", "bound", "nodes", "status", "solution by", "bound by", "since",
    "added",
)  # fmt: skip

HISTORY_COLUMNS = ("what", "value", "method", "date", "added by")

LEAD = (
    "Cost: of the best known solution, in ticks. Bound: the best certified one; no solution costs "
    "less."
)

NOTES = (
    "Gap: cost over bound less one. Since: the day of the last improvement. Added: by whom.",
    "A bound in brackets is better than the one beside it, but only stated: its certificate is too "
    "large to be kept, and boundmark library recipe says how to make it again.",
)


def write_tables(library: Library, out: Path) -> list[Path]:
    """Write the pages of all entries, as HTML, Markdown and data; return the files.

    Raises
    ------
    InvalidInputError
        If an entry is damaged.
    StoreError
        If a file cannot be written.
    """
    entries = in_order(library)
    page = library_page(library, entries)
    data = [json.loads(entry.to_text()) | {"name": entry.name} for entry in entries]
    contents = {
        "library.html": render_html(page),
        "library.md": render_markdown(page),
        "library.json": json.dumps(data, sort_keys=True, separators=(",", ":")) + "\n",
    }
    make_folder(out)
    for name, text in contents.items():
        write_durably(out / name, text.encode())
    return [out / name for name in contents]


def in_order(library: Library) -> list[Entry]:
    """Return all entries by problem, label and device, with numbers in labels by value."""
    found = list(library.entries())
    places = {label: at for at, label in enumerate(natural_order(one.label for one in found))}
    return sorted(found, key=lambda one: (one.problem, places[one.label], one.device))


def library_page(library: Library, entries: Sequence[Entry]) -> Page:
    """Return the page: a section for each problem, and the history of each instance below."""
    found = sum(entry.status == "optimal" for entry in entries)
    summary = (
        f"{count(len(entries), 'instance')}, {found:,} of them proven optimal, in "
        f"{size(library.size)}: solutions and certificates for anybody to check. "
        f"All of it is under {library.facts.licence}."
    )
    counts = Counter(entry.problem for entry in entries)
    problems = sorted(counts, key=lambda name: (-counts[name], name))
    return Page(
        title="Best-known results",
        summary=summary,
        findings=tuple(
            _finding(problem, [one for one in entries if one.problem == problem])
            for problem in problems
        ),
        settings=(),
        environment=(),
        limitations=NOTES,
        sections=tuple(
            section
            for problem in problems
            for section in problem_sections(
                problem, [one for one in entries if one.problem == problem]
            )
        ),
        svg={},
    )


def _finding(problem: str, entries: Sequence[Entry]) -> str:
    found = sum(entry.status == "optimal" for entry in entries)
    gaps = [entry.gap for entry in entries if entry.status == "open" and entry.gap is not None]
    rest = f"; the largest gap of the others is {percent(max(gaps))} %" if gaps else ""
    return f"{problem}: {count(len(entries), 'instance')}, {found:,} proven optimal{rest}"


def problem_sections(
    problem: str, entries: Sequence[Entry], files: str = ""
) -> tuple[Section, Section]:
    """Return a problem's table, and the history of its instances to be unfolded.

    Parameters
    ----------
    files
        Where the library's files are, as seen from the page; empty to link none.
    """
    groups = [
        Group((), tuple(_row(one, files) for one in entries if one.dataset == dataset), dataset)
        for dataset in sorted({one.dataset for one in entries})
    ]
    table = Table(
        f"{problem}: {count(len(entries), 'instance')}",
        (*COLUMNS, *(("proof",) if files else ())),
        tuple(groups),
        text_columns=1,
        text_columns_right=6 if files else 5,
        lead=LEAD,
    )
    details = tuple(_detail(entry) for entry in entries)
    return (
        Section("Best-known results", (table,), problem=problem, is_open=True),
        Section("History", details=details, problem=problem),
    )


def _row(entry: Entry, files: str) -> tuple[Cell, ...]:
    bound = entry.bound
    found = [one for one in (entry.solution, entry.bound) if one is not None]
    written = MISSING if bound is None else integer(bound.value)
    return (
        Cell(entry.full_label, href=f"#{_anchor(entry)}"),
        Cell(percent(entry.gap) if entry.gap is not None else MISSING),
        Cell(MISSING if entry.solution is None else integer(entry.solution.value)),
        Cell(written, f"({integer(entry.beyond.value)})" if entry.beyond else ""),
        Cell(integer(entry.nodes)),
        Cell(entry.status),
        Cell(_who(entry.solution)),
        Cell(_who(entry.bound)),
        Cell(max((one.date for one in found), default="")),
        Cell(", ".join(dict.fromkeys(one.by for one in found))),
        *((Cell("download", href=f"{files}{entry.name}.jsonl.gz"),) if files else ()),
    )


def _who(find: Find | None) -> str:
    return MISSING if find is None else f"{find.method} {find.method_version}"


def _anchor(entry: Entry) -> str:
    return f"instance-{entry.instance_sha256[:12]}"


def _detail(entry: Entry) -> Detail:
    """Return the history of an instance, the newest first, with how to look at its documents."""
    rows = [
        (Cell(what), Cell(integer(one.value)), Cell(f"{one.method} {one.method_version}"),
         Cell(one.date), Cell(one.by))
        for what, one in (
            ("solution", entry.solution), ("bound", entry.bound), ("by recipe", entry.beyond)
        )
        if one is not None
    ]  # fmt: skip
    rows += [
        (Cell(f"{one.what}, former"), Cell(integer(one.value)),
         Cell(f"{one.method} {one.method_version}"), Cell(one.date), Cell(one.by))
        for one in reversed(entry.history)
    ]  # fmt: skip
    return Detail(
        anchor=_anchor(entry),
        title=entry.full_label,
        summary=f"{entry.status}, {count(len(entry.history), 'former result')}",
        dataset=entry.dataset,
        table=Table(
            "Who found what", HISTORY_COLUMNS, (Group((), tuple(rows)),), text_columns=1,
            text_columns_right=3,
        ),
        commands=(f"boundmark library show {entry.name} --out DIR",),
    )  # fmt: skip
