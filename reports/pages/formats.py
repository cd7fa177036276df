"""A page as HTML, Markdown, LaTeX and CSV.

HTML is one page that needs nothing else and makes no request. Its one script sorts and filters
rows; without it, all tables are there as they are. Markdown changes only where results change.
LaTeX and CSV are the tables of the page as files of their own, for papers.
"""

import csv
import io
import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any

import jinja2
from markupsafe import Markup, escape

from boundmark.reports.pages.page import Cell, Page, Section, Table
from boundmark.reports.plots import COLOURS, GLYPHS, Plot
from boundmark.reports.text import MISSING, visible

# Characters of a text that may be broken into lines.
LONG_TEXT = 40

# The column that narrow screens keep in view, with the first.
GAP = "gap (%)"

# What stands for something else in HTML.
SPECIAL = re.compile("[&<>'\"]")


def html_rows(table: Table, rows: Sequence[tuple[Cell, ...]], anchors: Collection[str]) -> Markup:
    """Return rows of a table as `tr` elements, the first cell of each a heading."""
    names = [_column_class(table, at) for at in range(len(table.columns))]
    lines = []
    for row in rows:
        cells = [_html_cell(cell, at, names[at], anchors) for at, cell in enumerate(row)]
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return Markup("\n".join(lines))


def html_text(cell: Cell, anchors: Collection[str]) -> Markup:
    """Return the text of a cell, with its mark and its link."""
    return Markup(_html_text(cell, anchors))


def _html_text(cell: Cell, anchors: Collection[str]) -> str:
    text = _html_escaped(cell.text)
    if cell.href and (cell.href[0] != "#" or cell.href[1:] in anchors):
        text = f'<a href="{_html_escaped(cell.href)}">{text}</a>'
    if cell.mark is not None:
        glyph = GLYPHS[cell.mark % len(GLYPHS)]
        text = f'<i class="c{cell.mark % len(COLOURS)}">{glyph}</i>{text}'
    return text


def _column_class(table: Table, at: int) -> str:
    names = ("n" if table.is_number(at) else "", "g" if table.columns[at] == GAP else "")
    return " ".join(filter(None, names))


def _class(names: str) -> str:
    # Short, and without quotes where they are not needed: a tenth of a large page.
    quote = '"' if " " in names else ""
    return f" class={quote}{names}{quote}" if names else ""


def _html_cell(cell: Cell, at: int, column: str, anchors: Collection[str]) -> str:
    is_number = column.startswith("n")
    names = column
    names += " b" if cell.best else ""
    names += " w" if len(cell.text) > LONG_TEXT else ""
    classes = _class(names.lstrip())
    text = _html_text(cell, anchors)
    if at == 0:
        return f'<th scope="row"{classes}>{text}</th>'
    detail = f"<small>{_html_escaped(cell.detail)}</small>" if cell.detail else ""
    both = f"{detail} {text}" if is_number and detail else f"{text}{detail}"
    return f"<td{classes}>{both}</td>"


def _html_escaped(text: str) -> str:
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
        colours=COLOURS,
        **_makers(page.sections),
    )


def _makers(sections: Sequence[Section]) -> dict[str, Any]:
    """Return what templates make cells with, and the places that links of cells may lead to."""
    details = (detail.anchor for section in sections for detail in section.details)
    plots = (f"plot-{plot.name}" for section in sections for plot in section.plots)
    return {
        "anchors": frozenset((*details, *plots)),
        "cells": html_rows,
        "head_class": lambda table, at: Markup(_class(_column_class(table, at))),
        "text_of": html_text,
    }


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


# Characters that would be markup; data may contain any.
_MARKDOWN_ESCAPES = str.maketrans(
    {character: "\\" + character for character in "\\`*_[]|#"}
    | {"<": "&lt;", ">": "&gt;", "&": "&amp;", "\n": " ", "\r": " "}
)


def render_markdown(page: Page) -> str:
    """Return the page as GitHub-flavoured Markdown; plots are linked from `plots/`."""
    lines = [f"# {markdown_escaped(page.title)}", ""]
    if page.warning:
        lines += [f"> **{markdown_escaped(page.warning)}**", ""]
    if page.verdict:
        lines += [f"**{markdown_escaped(page.verdict[0])}**", ""]
        lines += [*(f"- {markdown_escaped(line)}" for line in page.verdict[1:]), ""]
    lines += [markdown_escaped(page.summary), ""]
    if page.findings:
        lines += [*(f"- {markdown_escaped(finding)}" for finding in page.findings), ""]
    for section in page.sections:
        lines += _markdown_section(section)
    for heading, pairs in (("Settings", page.settings), ("Environment", page.environment)):
        if pairs:
            lines += [f"## {heading}", ""]
            lines += [
                f"- {markdown_escaped(name)}: {markdown_escaped(value)}" for name, value in pairs
            ]
            lines.append("")
    lines += ["## Known limitations", ""]
    lines += [f"- {markdown_escaped(limitation)}" for limitation in page.limitations]
    lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _markdown_section(section: Section) -> list[str]:
    lines = [f"## {markdown_escaped(section.heading)}", ""]
    for paragraph in section.paragraphs:
        lines += [markdown_escaped(paragraph), ""]
    plots = [line for plot in section.plots for line in _markdown_plot(plot)]
    tables = [line for table in section.tables for line in _markdown_table(table)]
    return [*lines, *plots, *tables] if section.is_headline else [*lines, *tables, *plots]


def _markdown_plot(plot: Plot) -> list[str]:
    return [
        f"**{markdown_escaped(plot.title)}.** {markdown_escaped(plot.caption)}",
        "",
        f"![{markdown_escaped(plot.title)}](plots/{plot.name}.svg)",
        "",
    ]


def _markdown_table(table: Table) -> list[str]:
    lines = [f"**{markdown_escaped(table.title)}**", ""]
    if table.lead:
        lines += [markdown_escaped(table.lead), ""]
    lines += [*markdown_rows(table), ""]
    lines += [f"- {markdown_escaped(note)}" for note in table.notes]
    if table.notes:
        lines.append("")
    return lines


def markdown_rows(table: Table) -> list[str]:
    """Return the lines of a table without its title and its notes."""
    columns = range(len(table.columns))
    lines = [
        _markdown_row([markdown_escaped(column) for column in table.columns]),
        _markdown_row(["---:" if table.is_number(column) else "---" for column in columns]),
    ]
    for group in table.groups:
        if group.heading:
            lines.append(
                _markdown_row(
                    [f"*{_markdown_cell(cell)}*" if cell.text else "" for cell in group.heading]
                )
            )
        lines += [_markdown_row([_markdown_cell(cell) for cell in row]) for row in group.rows]
    return lines


def _markdown_row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _markdown_cell(cell: Cell) -> str:
    text = f"**{markdown_escaped(cell.text)}**" if cell.best else markdown_escaped(cell.text)
    return f"{text} ({markdown_escaped(cell.detail)})" if cell.detail else text


def markdown_escaped(text: str) -> str:
    """Escape a text for Markdown."""
    return visible(text).translate(_MARKDOWN_ESCAPES)


# All files of this folder belong to reports: LaTeX and CSV have no metadata to tell.
FOLDER = "page_tables"


def csv_of(table: Table) -> str:
    """Return a table as CSV: the group in a column of its own, as are the details of cells.

    Numbers have no thousands separators, and missing ones are empty. `boundmark query` has the
    same with all digits.
    """
    with_groups = any(group.heading for group in table.groups)
    detailed = [
        any(row[at].detail for group in table.groups for row in group.rows)
        for at in range(len(table.columns))
    ]
    head = ["group"] * with_groups
    for name, has_detail in zip(table.columns, detailed, strict=True):
        head += [name, f"{name}: detail"] if has_detail else [name]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(_csv_safe, head))
    for group in table.groups:
        label = group.heading[0].text if group.heading else ""
        # Numbers of instances that stand above a group's columns are a row without a name.
        above = (Cell(""), *group.heading[1:])
        for row in (*([above] if any(cell.text for cell in above) else []), *group.rows):
            line = [label] * with_groups
            for at, cell in enumerate(row):
                line.append(_csv_value(cell, is_number=table.is_number(at)))
                if detailed[at]:
                    line.append(cell.detail)
            writer.writerow(map(_csv_safe, line))
    return text.getvalue()


def _csv_value(cell: Cell, *, is_number: bool) -> str:
    if cell.text == MISSING:
        return ""
    return cell.text.replace(",", "") if is_number else cell.text


def _csv_safe(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula."""
    shown = visible(text)
    is_formula = shown[:1] in ("=", "+", "@") or (shown[:1] == "-" and not shown[1:2].isdigit())
    return f"'{shown}" if is_formula else shown


# Between two characters that LaTeX would make one; no visible text has it.
_APART = "\N{ZERO WIDTH SPACE}"

_LATEX_ESCAPES = str.maketrans(
    {character: "\\" + character for character in "&%$#_{}"}
    | {
        "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
        "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", _APART: "{}",
        "–": "--", "≥": r"$\geq$", "×": r"$\times$", "…": r"\dots{}", "·": r"$\cdot$",
        "\n": " ", "\N{NO-BREAK SPACE}": "~", "[": "{[}", "]": "{]}", '"': "''", "`": "{`}",
        "'": "{'}", "\N{NARROW NO-BREAK SPACE}": r"\,",
    }
)  # fmt: skip

# Rows that fit onto one page; longer tables are broken.
MOST_ROWS = 45

LATEX_HEAD = r"""\documentclass{article}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\usepackage{booktabs,longtable,graphicx}
\usepackage[a4paper,margin=18mm]{geometry}
\setlength{\parindent}{0pt}
\setlength{\LTleft}{0pt}
\setcounter{LTchunksize}{1000}
\begin{document}
"""


def latex_document(page: Page, tables: Mapping[str, Table]) -> str:
    """Return a document that shows tables of a page, with their titles and notes."""
    parts = [
        LATEX_HEAD,
        rf"\section*{{{latex_escaped(page.title)}}}",
        latex_escaped(page.summary),
        "",
    ]
    parts += [text for finding in page.findings for text in (latex_escaped(finding), "")]
    for path, table in tables.items():
        parts += [rf"\subsection*{{{latex_escaped(table.title)}}}", ""]
        parts += [latex_escaped(table.lead), ""] if table.lead else []
        included = rf"\input{{{path}}}"
        if _row_count(table) > MOST_ROWS:
            parts.append(rf"{{\scriptsize\setlength{{\tabcolsep}}{{3pt}}{included}}}")
        else:
            # As wide as it is, or as the page.
            parts.append(
                r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{\small"
                f"{included}}}"
            )
        parts += [
            "",
            *(rf"{{\footnotesize {latex_escaped(note)}\par}}" for note in table.notes),
            "",
        ]
    return "\n".join([*parts, r"\end{document}", ""])


def tabular_of(table: Table) -> str:
    r"""Return a table as `tabular`, or as `longtable` where it is longer than a page.

    Needs the package booktabs, and longtable for long ones.
    """
    columns = "".join("r" if table.is_number(at) else "l" for at in range(len(table.columns)))
    kind = "longtable" if _row_count(table) > MOST_ROWS else "tabular"
    head = _latex_row([latex_escaped(name) for name in table.columns])
    lines = [
        f"% {visible(table.title)}".replace("\n", " "),
        rf"\begin{{{kind}}}{{{columns}}}",
        r"\toprule",
        head,
        r"\midrule",
        *([r"\endhead"] if kind == "longtable" else []),
    ]
    for number, group in enumerate(table.groups):
        if number:
            lines.append(r"\addlinespace")
        if any(cell.text for cell in group.heading):
            texts = [
                rf"\textit{{{latex_escaped(c.text)}}}" if c.text else "" for c in group.heading
            ]
            lines.append(_latex_row(texts))
        lines += [_latex_row([_latex_cell(cell) for cell in row]) for row in group.rows]
    return "\n".join([*lines, r"\bottomrule", rf"\end{{{kind}}}", ""])


def _row_count(table: Table) -> int:
    return sum(len(group.rows) + 1 for group in table.groups)


def _latex_row(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"


def _latex_cell(cell: Cell) -> str:
    text = rf"\textbf{{{latex_escaped(cell.text)}}}" if cell.best else latex_escaped(cell.text)
    return rf"{text} {{\scriptsize({latex_escaped(cell.detail)})}}" if cell.detail else text


def latex_escaped(text: str) -> str:
    """Escape a text for LaTeX, and replace characters that it cannot print."""
    replaced = visible(text).replace("--", f"-{_APART}-").translate(_LATEX_ESCAPES)
    return "".join(c if _is_known(c) else f"{{[}}U+{ord(c):04X}{{]}}" for c in replaced)


def _is_known(character: str) -> bool:
    # LaTeX also prints the letters of the encoding T1.
    return character.isascii() or (character.isalpha() and ord(character) < 0x180)


def csv_files(page: Page) -> dict[str, str]:
    """Return each table of a page's sections as CSV, by path below the results folder."""
    return {f"{path}.csv": csv_of(table) for path, table in named_tables(page).items()}


def latex_files(page: Page) -> dict[str, str]:
    """Return each table as LaTeX, and `report.tex`, a document that includes them all."""
    tables = named_tables(page)
    return {
        "report.tex": latex_document(page, tables),
        **{f"{path}.tex": tabular_of(table) for path, table in tables.items()},
    }


def named_tables(page: Page) -> dict[str, Table]:
    """Return the tables of a page by path without ending, made of the section's and its title."""
    found: dict[str, Table] = {}
    for section in page.sections:
        for table in section.tables:
            path, number = _path(section.heading, table.title), 2
            while path in found:
                path = _path(section.heading, table.title, str(number))
                number += 1
            found[path] = table
    return found


def _path(*texts: str) -> str:
    words = (re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60] for text in texts)
    return f"{FOLDER}/{'-'.join(words)}"
