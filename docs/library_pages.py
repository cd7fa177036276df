"""Pages of the library, made when the site is built, and what makes tables and pictures fit.

Each problem has a page with all entries in one table, which sorts and filters by the script of
reports, and a file for each entry with all of its documents, which is part of the site.
"""

import re
import shutil
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.errors import SphinxError
from sphinx.transforms.post_transforms import SphinxPostTransform

from boundmark.benchmarks.library import Entry, Library
from boundmark.problems.catalog import problems
from boundmark.reports.text import MISSING, count, gap_percent, integer

# With more parameters than this, cost, size and data set are among a row's details.
PARAMETERS = 4

DOCS = Path(__file__).resolve().parent
LIBRARY = DOCS.parent / "library"
PAGES = "generated/library"

# The site has a file for each entry in this folder, and pages lead there.
DOWNLOADS = "downloads"

# What a page would load from elsewhere; links that readers follow are no such thing.
FOREIGN = re.compile(
    r"<(?:script|img|iframe|link rel=.?(?:stylesheet|preload))[^>]*(?:src|href)=.?https?:"
)


LEAD = (
    "Cost: of the best known solution, in ticks. Bound: the best certified one; no solution costs "
    "less. Gap: cost over bound less one. A name unfolds who found what and when, and the command "
    "that checks the download; heads of columns sort."
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
            f"{count(len(own), 'instance')} of [{name}](../../problems/{name}.md)"
            f"{shared(own)}. A download has everything that belongs to an instance: itself, the "
            "solution, and the certificate. `boundmark verify FILE` checks it, and says what it "
            "proves; without boundmark installed, so does `python checker FILE` with a copy of the "
            "folder `bounds/checker`.",
            "",
            "```{raw} html",
            table(own),
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


def varying(entries: Sequence[Entry]) -> list[str]:
    """Return the parameters that differ between entries."""
    names = dict.fromkeys(name for one in entries for name in one.parameters)
    return [name for name in names if len({one.parameters.get(name) for one in entries}) > 1]


def shared(entries: Sequence[Entry]) -> str:
    """Return the parameters that all entries share, as a clause."""
    first = entries[0].parameters
    same = [f"{name} = {first[name]}" for name in first if name not in varying(entries)]
    return f", all with {', '.join(same)}" if same else ""


def table(entries: Sequence[Entry]) -> str:
    """Return a problem's table as HTML, the largest gaps first."""
    names = varying(entries)
    numbers = {
        name: all(isinstance(one.parameters.get(name, 0), int) for one in entries) for name in names
    }
    heads = [
        ("instance", ""), ("gap (%)", "n g"), ("status", ""), ("bound", "n"), ("download", ""),
        *((name.replace("_", " "), "n" * numbers[name]) for name in names),
        *([] if len(names) > PARAMETERS else [("cost", "n"), ("nodes", "n"), ("data set", "")]),
    ]  # fmt: skip
    lines = [
        '<div><form class="filter" hidden><label>rows with the words '
        '<input name="words" type="search" autocomplete="off"></label>'
        '<output name="count"></output></form>',
        f'<p class="lead">{LEAD}</p><div class="scroll long" tabindex="0" role="region" '
        'aria-label="Best-known results"><table><thead><tr>',
        *(f'<th scope="col" class="{kind}">{escape(head)}</th>' for head, kind in heads),
        "</tr></thead><tbody>",
    ]
    for one in sorted(entries, key=lambda own: (-(own.gap or 0), own.label)):
        given = [one.parameters.get(name, "") for name in names]
        lines.append(_row(one, [integer(x) if type(x) is int else str(x) for x in given], heads))
    return "\n".join([*lines, "</tbody></table></div></div>"])


def _row(entry: Entry, given: Sequence[str], heads: Sequence[tuple[str, str]]) -> str:
    file = entry.bundle_name
    link = f'<a href="../../{DOWNLOADS}/{file}" download>file</a>'
    on = f" on {entry.device}" if entry.device else ""
    facts = [f"boundmark verify {file}"]
    for what, method, day in (
        ("solution", entry.objective_method, entry.objective_date),
        ("bound", entry.bound_method, entry.bound_date),
    ):
        facts += [f"{what} by {method}, {day}"] if method else []
    size = [_number(entry.objective), integer(entry.nodes), entry.dataset]
    if len(given) > PARAMETERS:
        facts += [f"cost {size[0]}", f"{size[1]} nodes", f"of {size[2]}"]
        size = []
    first, *others = map(escape, facts)
    name = (
        f"<details><summary>{escape(entry.instance + on)}</summary><code>{first}</code><br>"
        f"{'<br>'.join(others)}</details>"
    )
    cells = [
        escape(gap_percent(entry.gap)), "proven" if entry.is_optimal else "open",
        _number(entry.bound), link, *map(escape, given), *map(escape, size),
    ]  # fmt: skip
    shown = (
        f'<td class="{kind}">{cell}</td>' for cell, (_, kind) in zip(cells, heads[1:], strict=True)
    )
    return f'<tr><th scope="row">{name}</th>{"".join(shown)}</tr>'


def _number(value: int | None) -> str:
    return MISSING if value is None else integer(value)


def finish_page(app: Any, page: str, template: str, context: Any, tree: Any) -> None:
    """Give the library's pages styles and script of reports, and let wide pictures scroll."""
    if page.startswith("generated/gallery/"):
        context["body"] = EXAMPLE.sub(r'<div class="across">\g<0></div>', context["body"])
    if page.startswith(f"{PAGES}/") and not page.endswith("/index"):
        app.add_css_file("tables.css")
        app.add_js_file("report.js", loading_method="defer")


def finish(app: Any, error: Exception | None) -> None:
    """Add the library's files to the site, and refuse pages that load something from elsewhere."""
    if error is not None or app.builder.name != "html":
        return
    out = Path(app.outdir)
    downloads = out / DOWNLOADS
    shutil.rmtree(downloads, ignore_errors=True)
    downloads.mkdir()
    library = Library.open(LIBRARY)
    for entry in library.entries():
        (downloads / entry.bundle_name).write_bytes(library.bundle(entry))
    for path in out.rglob("*.html"):
        if found := FOREIGN.search(path.read_text()):
            raise SphinxError(f"{path} loads {found[0]}...; expected pages that need no network.")


class Tables(SphinxPostTransform):
    """Marks the first column of gaps, which narrow screens keep in view, and widens headings."""

    default_priority = 500

    def run(self, **options: Any) -> None:
        """Add the class `g` to its cells, and let a heading between rows be one cell."""
        for table in self.document.findall(nodes.table):
            rows = [list(row.findall(nodes.entry)) for row in table.findall(nodes.row)]
            heads = [head.astext().lower() for head in rows[0]]
            at = next((at for at, head in enumerate(heads) if re.search(r"\bgap\b", head)), 0)
            for row in rows if at else []:
                if at < len(row):
                    row[at]["classes"].append("g")
            for first, *others in rows:
                is_alone = others and not any(cell.astext() for cell in others)
                if is_alone and next(first.findall(nodes.emphasis), None):
                    first["morecols"] = len(others)
                    for cell in others:
                        first.parent.remove(cell)


# The picture of an example.
EXAMPLE = re.compile(r'<img [^>]*class ?= ?"sphx-glr-single-img"/>')

# The colour of ink that a picture has where it is not part of a page.
OWN_INK = re.compile(r"<style>svg\{color:[^<]*</style>")

# In points; wider pictures are shown in full size, and scroll.
PHONE = 360


class Pictures(SphinxPostTransform):
    """Makes SVG files part of the page, so that they have its colours in both themes."""

    default_priority = 7
    formats = ("html",)

    def run(self, **options: Any) -> None:
        """Replace images by their content."""
        for image in list(self.document.findall(nodes.image)):
            if not image["uri"].endswith(".svg") or "only-" in " ".join(image["classes"]):
                continue
            text = OWN_INK.sub("", (DOCS / image["uri"]).read_text())
            text = text[text.index("<svg") :]
            width = float(re.search(r'width="([\d.]+)pt"', text)[1])  # type: ignore[index]
            kind = "picture wide" if width > PHONE else "picture"
            words = escape(image.get("alt", ""))
            html = f'<div class="{kind}" role="img" aria-label="{words}">{text}</div>'
            image.replace_self(nodes.raw("", html, format="html"))


def setup(app: Any) -> dict[str, bool]:
    """Connect all of this with the build."""
    app.connect("builder-inited", write_pages)
    app.connect("html-page-context", finish_page)
    app.connect("build-finished", finish)
    app.add_post_transform(Tables)
    app.add_post_transform(Pictures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
