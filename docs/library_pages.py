"""Pages of the library, made from `library/` when the site is built, and what makes tables fit.

Each problem has a page with all entries, which sorts and filters by the script of reports, and
links to the files of each entry, which are part of the site.
"""

import re
import shutil
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.errors import SphinxError
from sphinx.transforms.post_transforms import SphinxPostTransform

from boundmark.benchmarks.library.folder import Library
from boundmark.benchmarks.library.tables import in_order, library_page, problem_sections
from boundmark.problems.catalog import problems
from boundmark.reports.pages.formats import html_tables
from boundmark.reports.text import count

DOCS = Path(__file__).resolve().parent
LIBRARY = DOCS.parent / "library"
PAGES = "generated/library"

# From a page of a problem to the files of the library.
FILES = "../../library/"

# What a page would load from elsewhere; links that readers follow are no such thing.
FOREIGN = re.compile(
    r"<(?:script|img|iframe|link rel=.?(?:stylesheet|preload))[^>]*(?:src|href)=.?https?:"
)


def write_pages(app: Any) -> None:
    """Write a page for each problem, and one that leads to them."""
    library = Library.open(LIBRARY)
    entries = in_order(library)
    page = library_page(library, entries)
    out = DOCS / PAGES
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    names = [one for one in problems() if any(entry.problem == one for entry in entries)]
    lines = [f"# {page.title}", "", page.summary, "", *(f"- {one}" for one in page.findings), ""]
    lines += ["```{toctree}", ":maxdepth: 1", "", *names, "```", ""]
    (out / "index.md").write_text("\n".join(lines))
    for name in names:
        own = [entry for entry in entries if entry.problem == name]
        made = html_tables(problem_sections(name, own, FILES))
        lines = [
            f"# {name}: best-known results",
            "",
            f"{count(len(own), 'instance')} of [{name}](../../problems/{name}.md). A file of proof "
            "has an instance, the best known solution and the certificate of the bound, a line of "
            "JSON each; `boundmark library fetch FILE --out DIR` unpacks them for the checker. "
            "Heads of columns sort; below the table is the history of each instance.",
            "",
            "```{raw} html",
            made,
            "```",
            "",
        ]
        (out / f"{name}.md").write_text("\n".join(lines))


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
        LIBRARY, out / "library", dirs_exist_ok=True, ignore=shutil.ignore_patterns("README.md")
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
