"""Tables as LaTeX in the style of booktabs, and a page's tables as one document."""

from collections.abc import Mapping

from boundmark.reports.pages.page import Cell, Page, Table
from boundmark.reports.text.visible import visible

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
        if _rows(table) > MOST_ROWS:
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
    kind = "longtable" if _rows(table) > MOST_ROWS else "tabular"
    head = _row([escaped(name) for name in table.columns])
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
            lines.append(_row(texts))
        lines += [_row([_cell(cell) for cell in row]) for row in group.rows]
    return "\n".join([*lines, r"\bottomrule", rf"\end{{{kind}}}", ""])


def _rows(table: Table) -> int:
    return sum(len(group.rows) + 1 for group in table.groups)


def _row(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"


def _cell(cell: Cell) -> str:
    text = rf"\textbf{{{escaped(cell.text)}}}" if cell.best else escaped(cell.text)
    return rf"{text} {{\scriptsize({escaped(cell.detail)})}}" if cell.detail else text


def escaped(text: str) -> str:
    """Return a text with nothing in it that LaTeX takes for a command, or has no letter for."""
    replaced = visible(text).replace("--", f"-{_APART}-").translate(_ESCAPES)
    return "".join(c if _is_known(c) else f"{{[}}U+{ord(c):04X}{{]}}" for c in replaced)


def _is_known(character: str) -> bool:
    # Of other letters, those of the encoding T1.
    return character.isascii() or (character.isalpha() and ord(character) < 0x180)
