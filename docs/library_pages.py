"""Pages of the library, made from `library/` when the site is built, and what makes tables fit.

Each problem has a page with all entries, which sorts and filters by the script of reports, and
links to the files of each entry, which are part of the site.
"""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.errors import SphinxError
from sphinx.transforms.post_transforms import SphinxPostTransform

from boundmark.benchmarks.library import Entry, Library
from boundmark.problems.catalog import problems
from boundmark.reports.pages.formats import html_tables
from boundmark.reports.pages.page import Cell, Group, Section, Table
from boundmark.reports.text import MISSING, count, gap_percent, integer

DOCS = Path(__file__).resolve().parent
LIBRARY = DOCS.parent / "library"
PAGES = "generated/library"

# From a page of a problem to the files of the library.
FILES = "../../library/"

# What a page would load from elsewhere; links that readers follow are no such thing.
FOREIGN = re.compile(
    r"<(?:script|img|iframe|link rel=.?(?:stylesheet|preload))[^>]*(?:src|href)=.?https?:"
)


COLUMNS = (
    "instance", "gap (%)", "cost", "bound", "nodes", "status", "solution by", "bound by", "since",
    "payload",
)  # fmt: skip

LEAD = (
    "Cost: of the best known solution, in ticks. Bound: the best certified one; no solution costs "
    "less. Gap: cost over bound less one. Since: the day of the last improvement."
)


def write_pages(app: Any) -> None:
    """Write a page for each problem, and one that leads to them."""
    entries = Library.open(LIBRARY).entries()
    by_problem = {
        name: [one for one in entries if one.problem == name]
        for name in problems()
        if any(one.problem == name for one in entries)
    }
    out = DOCS / PAGES
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    lines = [
        "# Best-known results",
        "",
        f"{count(len(entries), 'instance')}, {optimal(entries):,} of them proven optimal: "
        "solutions and certificates for anybody to check, all under Apache-2.0.",
        "",
        *(f"- {finding(name, own)}" for name, own in by_problem.items()),
        "",
        "```{toctree}",
        ":maxdepth: 1",
        "",
        *by_problem,
        "```",
        "",
    ]
    (out / "index.md").write_text("\n".join(lines))
    for name, own in by_problem.items():
        lines = [
            f"# {name}: best-known results",
            "",
            f"{count(len(own), 'instance')} of [{name}](../../problems/{name}.md). Names, costs "
            "and bounds lead to the files of instance, solution and certificate; large "
            "certificates have a file of payload to be stored beside them. `boundmark verify "
            "INSTANCE SOLUTION CERTIFICATE` checks them. Heads of columns sort.",
            "",
            "```{raw} html",
            html_tables(
                (Section("Best-known results", (table(own),), problem=name, is_open=True),)
            ),
            "```",
            "",
        ]
        (out / f"{name}.md").write_text("\n".join(lines))


def optimal(entries: Sequence[Entry]) -> int:
    """Return how many entries are proven optimal."""
    return sum(one.is_optimal for one in entries)


def finding(problem: str, entries: Sequence[Entry]) -> str:
    """Return how much is proven of a problem's instances, as a clause."""
    gaps = [one.gap for one in entries if not one.is_optimal and one.gap is not None]
    rest = f"; the largest gap of the others is {gap_percent(max(gaps), ' %')}" if gaps else ""
    found = f"{count(len(entries), 'instance')}, {optimal(entries):,} proven optimal"
    return f"{problem}: {found}{rest}"


def table(entries: Sequence[Entry]) -> Table:
    """Return a problem's table, with a group for each data set."""
    groups = [
        Group((), tuple(row(one) for one in entries if one.dataset == dataset), dataset)
        for dataset in sorted({one.dataset for one in entries})
    ]
    return Table(
        f"{entries[0].problem}: {count(len(entries), 'instance')}",
        COLUMNS,
        tuple(groups),
        text_columns=1,
        text_columns_right=5,
        lead=LEAD,
    )


def row(entry: Entry) -> tuple[Cell, ...]:
    """Return an entry's cells; what has a document leads to its file."""
    return (
        Cell(entry.label, href=f"{FILES}instances/{entry.instance_sha256}.json"),
        Cell(gap_percent(entry.gap)),
        cell(entry.objective, f"solutions/{entry.solution_sha256}.json"),
        cell(entry.bound, f"certificates/{entry.certificate_sha256}.json"),
        Cell(integer(entry.nodes)),
        Cell("optimal" if entry.is_optimal else "open"),
        Cell(entry.objective_method or MISSING),
        Cell(entry.bound_method or MISSING),
        Cell(max(entry.objective_date, entry.bound_date)),
        *(
            (Cell("download", href=f"{FILES}certificates/{entry.payload_sha256}.json.gz"),)
            if entry.payload_sha256
            else (Cell(""),)
        ),
    )


def cell(value: int | None, file: str) -> Cell:
    """Return a value that leads to the file of its document."""
    return Cell(MISSING) if value is None else Cell(integer(value), href=f"{FILES}{file}")


def add_script(app: Any, page: str, template: str, context: Any, tree: Any) -> None:
    """Give pages of the library the styles and the script of reports."""
    if page.startswith(f"{PAGES}/") and not page.endswith("/index"):
        app.add_css_file("tables.css")
        app.add_js_file("report.js", loading_method="defer")


def finish(app: Any, error: Exception | None) -> None:
    """Add the library's files to the site, and refuse pages that load something from elsewhere."""
    if error is not None or app.builder.name != "html":
        return
    out = Path(app.outdir)
    shutil.copytree(
        LIBRARY,
        out / "library",
        dirs_exist_ok=True,
        ignore=shutil.ignore_patterns("README.md", ".lock"),
    )
    for path in out.rglob("*.html"):
        if found := FOREIGN.search(path.read_text()):
            raise SphinxError(f"{path} loads {found[0]}...; expected pages that need no network.")


class GapColumn(SphinxPostTransform):
    """Marks the first column of gaps in each table, which narrow screens keep in view."""

    default_priority = 500

    def run(self, **options: Any) -> None:
        """Add the class `g` to its cells."""
        for table in self.document.findall(nodes.table):
            rows = [list(row.findall(nodes.entry)) for row in table.findall(nodes.row)]
            heads = [head.astext().lower() for head in rows[0]]
            at = next((at for at, head in enumerate(heads) if re.search(r"\bgap\b", head)), 0)
            for row in rows if at else []:
                if at < len(row):
                    row[at]["classes"].append("g")


def setup(app: Any) -> dict[str, bool]:
    """Connect all of this with the build."""
    app.connect("builder-inited", write_pages)
    app.connect("html-page-context", add_script)
    app.connect("build-finished", finish)
    app.add_post_transform(GapColumn)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
