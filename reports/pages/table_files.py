"""The tables of a page as files of their own, for papers: LaTeX and CSV."""

import csv
import io
import re
from collections.abc import Mapping

from boundmark.reports.pages.page import Cell, Page, Table
from boundmark.reports.text import MISSING, visible

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

_ESCAPES = str.maketrans(
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

HEAD = r"""\documentclass{article}
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
    """Return a document that shows tables of a page, with their titles and notes.

    Parameters
    ----------
    tables
        By path of their file without ending, as the document includes them.
    """
    parts = [HEAD, rf"\section*{{{escaped(page.title)}}}", escaped(page.summary), ""]
    parts += [text for finding in page.findings for text in (escaped(finding), "")]
    for path, table in tables.items():
        parts += [rf"\subsection*{{{escaped(table.title)}}}", ""]
        included = rf"\input{{{path}}}"
        if _row_count(table) > MOST_ROWS:
            parts.append(rf"{{\scriptsize\setlength{{\tabcolsep}}{{3pt}}{included}}}")
        else:
            # As wide as it is, or as the page.
            parts.append(
                r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{\small"
                f"{included}}}"
            )
        parts += ["", *(rf"{{\footnotesize {escaped(note)}\par}}" for note in table.notes), ""]
    return "\n".join([*parts, r"\end{document}", ""])


def tabular_of(table: Table) -> str:
    r"""Return a table as `tabular`, or as `longtable` where it is longer than a page.

    Needs the package booktabs, and longtable for long ones.
    """
    columns = "".join("r" if table.is_number(at) else "l" for at in range(len(table.columns)))
    kind = "longtable" if _row_count(table) > MOST_ROWS else "tabular"
    head = _latex_row([escaped(name) for name in table.columns])
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
            texts = [rf"\textit{{{escaped(c.text)}}}" if c.text else "" for c in group.heading]
            lines.append(_latex_row(texts))
        lines += [_latex_row([_latex_cell(cell) for cell in row]) for row in group.rows]
    return "\n".join([*lines, r"\bottomrule", rf"\end{{{kind}}}", ""])


def _row_count(table: Table) -> int:
    return sum(len(group.rows) + 1 for group in table.groups)


def _latex_row(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"


def _latex_cell(cell: Cell) -> str:
    text = rf"\textbf{{{escaped(cell.text)}}}" if cell.best else escaped(cell.text)
    return rf"{text} {{\scriptsize({escaped(cell.detail)})}}" if cell.detail else text


def escaped(text: str) -> str:
    """Escape a text for LaTeX, and replace characters that it cannot print."""
    replaced = visible(text).replace("--", f"-{_APART}-").translate(_ESCAPES)
    return "".join(c if _is_known(c) else f"{{[}}U+{ord(c):04X}{{]}}" for c in replaced)


def _is_known(character: str) -> bool:
    # Of other letters, those of the encoding T1.
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
