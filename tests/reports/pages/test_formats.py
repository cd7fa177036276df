"""Tables as LaTeX and CSV say what the page says."""

import csv
import io
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from documented import append

from boundmark.reports.pages.formats import (
    MOST_ROWS,
    csv_files,
    csv_of,
    latex_escaped,
    latex_files,
    tabular_of,
)
from boundmark.reports.pages.page import Cell, Group, Page, Section, Table
from boundmark.reports.report import ReportOptions, write_report
from boundmark.reports.stored.store import ResultStore

TABLE = Table(
    "Costs",
    ("method", "cost", "note"),
    (
        Group(
            (Cell("zoo"), Cell(""), Cell("")),
            (
                (Cell("a_b"), Cell("1,234", "n = 3", best=True), Cell("50 % & more")),
                (Cell("=x"), Cell("–"), Cell("-")),
            ),
        ),
    ),
    text_columns_right=1,
)


def test_latex_is_booktabs() -> None:
    """Numbers to the right, the best in bold, groups in italics, and no text is a command."""
    assert tabular_of(TABLE) == (
        "% Costs\n"
        "\\begin{tabular}{lrl}\n"
        "\\toprule\n"
        "method & cost & note \\\\\n"
        "\\midrule\n"
        "\\textit{zoo} &  &  \\\\\n"
        "a\\_b & \\textbf{1,234} {\\scriptsize(n = 3)} & 50 \\% \\& more \\\\\n"
        "=x & -- & - \\\\\n"
        "\\bottomrule\n"
        "\\end{tabular}\n"
    )


def test_long_tables_are_broken() -> None:
    """More rows than a page holds."""
    rows = ((Cell("a"), Cell("1"), Cell("")),) * MOST_ROWS
    text = tabular_of(Table("Long", TABLE.columns, (Group((), rows),)))
    assert text.count("longtable") == 2
    assert "\\endhead" in text


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("\\input{/etc/passwd}", "\\textbackslash{}input\\{/etc/passwd\\}"),
        ("~^#$%&_{}", "\\textasciitilde{}\\textasciicircum{}\\#\\$\\%\\&\\_\\{\\}"),
        ("Moré, ≥ 2 × 3", "Moré, $\\geq$ 2 $\\times$ 3"),
        ("--no-venv", "-{}-no-venv"),
        ("漢", "{[}U+6F22{]}"),
        ("a\x00b", "a\\textbackslash{}x00b"),
    ],
)
def test_no_text_is_a_command(text: str, latex: str) -> None:
    """Whatever names data sets and methods have."""
    assert latex_escaped(text) == latex


def test_csv_is_for_programs() -> None:
    """Groups and details in columns of their own, plain numbers, nothing for missing ones."""
    lines = list(csv.reader(io.StringIO(csv_of(TABLE))))
    assert lines == [
        ["group", "method", "cost", "cost: detail", "note"],
        ["zoo", "a_b", "1234", "n = 3", "50 % & more"],
        ["zoo", "'=x", "", "", "'-"],
    ]


def test_numbers_above_columns_are_a_row() -> None:
    """As in tables by parameter, whose groups have a number of instances for each column."""
    heading = (Cell("zoo"), Cell("n = 3"), Cell(""))
    group = Group(heading, ((Cell("a"), Cell("1"), Cell("")),))
    lines = list(csv.reader(io.StringIO(csv_of(Table("t", TABLE.columns, (group,))))))
    assert lines[1:] == [["zoo", "", "n = 3", ""], ["zoo", "a", "1", ""]]


def test_tables_of_the_same_title_have_files_of_their_own() -> None:
    """The document includes every one of them."""
    section = Section("Gaps", (TABLE, TABLE))
    page = Page("t", "s", (), (), (), (), (section,), {})
    assert sorted(csv_files(page)) == ["page_tables/gaps-costs-2.csv", "page_tables/gaps-costs.csv"]
    files = latex_files(page)
    included = [name.removesuffix(".tex") for name in files if name.startswith("page_tables/")]
    assert all(f"\\input{{{name}}}" in files["report.tex"] for name in included)


@pytest.fixture
def reported(tmp_path: Path, synthetic: Any) -> Path:
    """Return a folder whose report has LaTeX and CSV."""
    store = ResultStore.create_or_open(tmp_path)
    for row, trace in synthetic(members=1, datasets=("zoo_&",)):
        append(store, row, trace)
    write_report(tmp_path, ["latex", "csv"], options=ReportOptions(baseline="uniform"))
    return tmp_path


@pytest.mark.slow
def test_paper_forms_are_among_them(reported: Path) -> None:
    """And go when they are not written again."""
    names = {path.name for path in (reported / "page_tables").iterdir()}
    for form in ("tex", "csv"):
        assert (
            f"paper-form-of-solutions-solutions-relative-to-the-simple-lower-bound.{form}" in names
        )
        assert f"speedup-over-uniform-speedup-over-uniform.{form}" in names
    write_report(reported, ["md"])
    assert list((reported / "page_tables").iterdir()) == []


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs the program pdflatex")
def test_the_document_compiles(reported: Path) -> None:
    """Without an error, with Debian's texlive-latex-recommended."""
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "report.tex"],
        cwd=reported,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    assert (reported / "report.pdf").stat().st_size > 10_000
