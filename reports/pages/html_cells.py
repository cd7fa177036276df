"""Cells of tables as HTML: there may be tens of thousands on a page, too many for a template."""

import re
from collections.abc import Collection, Sequence

from markupsafe import Markup, escape

from boundmark.reports.pages.page import Cell, Table
from boundmark.reports.plots.style import COLOURS, GLYPHS
from boundmark.reports.text.visible import visible

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
