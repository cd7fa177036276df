"""The report as one HTML page that needs nothing else and makes no request.

Its one script sorts and filters rows; without it, all tables are there as they are.
"""

import re
from collections.abc import Collection, Sequence
from functools import cache

import jinja2
from markupsafe import Markup, escape

from boundmark.reports.pages.page import Cell, Page, Table
from boundmark.reports.plots.style import COLOURS, GLYPHS
from boundmark.reports.text import visible

# Characters of a text that may be broken into lines.
LONG_TEXT = 40

# What stands for something else in HTML.
SPECIAL = re.compile("[&<>'\"]")


def html_rows(table: Table, rows: Sequence[tuple[Cell, ...]], anchors: Collection[str]) -> Markup:
    """Return rows of a table as `tr` elements, the first cell of each a heading.

    Parameters
    ----------
    anchors
        The places on the page that links may lead to.
    """
    are_numbers = [table.is_number(at) for at in range(len(table.columns))]
    lines = []
    for row in rows:
        cells = [_cell(cell, at, are_numbers[at], anchors) for at, cell in enumerate(row)]
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return Markup("\n".join(lines))


def html_text(cell: Cell, anchors: Collection[str]) -> Markup:
    """Return the text of a cell, with its mark and its link."""
    return Markup(_text(cell, anchors))


def _text(cell: Cell, anchors: Collection[str]) -> str:
    text = _escaped(cell.text)
    if cell.href and (cell.href[0] != "#" or cell.href[1:] in anchors):
        text = f'<a href="{_escaped(cell.href)}">{text}</a>'
    if cell.mark is not None:
        glyph = GLYPHS[cell.mark % len(GLYPHS)]
        text = f'<i class="c{cell.mark % len(COLOURS)}">{glyph}</i>{text}'
    return text


def _cell(cell: Cell, at: int, is_number: bool, anchors: Collection[str]) -> str:
    names = "n" if is_number else ""
    names += " b" if cell.best else ""
    names += " w" if len(cell.text) > LONG_TEXT else ""
    # Short, and without quotes where they are not needed: a tenth of a large page.
    names = names.lstrip()
    quote = '"' if " " in names else ""
    classes = f" class={quote}{names}{quote}" if names else ""
    text = _text(cell, anchors)
    if at == 0:
        return f'<th scope="row"{classes}>{text}</th>'
    detail = f"<small>{_escaped(cell.detail)}</small>" if cell.detail else ""
    both = f"{detail} {text}" if is_number and detail else f"{text}{detail}"
    return f"<td{classes}>{both}</td>"


def _escaped(text: str) -> str:
    if text.isprintable() and not SPECIAL.search(text):
        return text
    return str(escape(visible(text)))


def render_html(page: Page) -> str:
    """Return the page with styles and plots inside; all text is escaped."""
    svg = {name: Markup(text) for name, text in page.svg.items()}
    template = _environment().get_template("report.html.j2")
    return template.render(
        page=page,
        svg=svg,
        anchors=_anchors(page),
        colours=COLOURS,
        cells=html_rows,
        text_of=html_text,
    )


def _anchors(page: Page) -> frozenset[str]:
    """Return the places that links of cells may lead to."""
    details = (detail.anchor for section in page.sections for detail in section.details)
    plots = (f"plot-{plot.name}" for section in page.sections for plot in section.plots)
    return frozenset((*details, *plots))


@cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("boundmark.reports.pages"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        # Plots are of another class, `Markup`.
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
