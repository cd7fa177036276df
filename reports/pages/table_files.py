"""The tables of a page as files of their own, for papers: LaTeX and CSV."""

import re

from boundmark.reports.pages.csv_table import csv_of
from boundmark.reports.pages.latex import latex_document, tabular_of
from boundmark.reports.pages.page import Page, Table
from boundmark.reports.report_files import OWN_FOLDER as FOLDER


def csv_files(page: Page) -> dict[str, str]:
    """Return each table of a page's sections as CSV, by path below the results folder."""
    return {f"{path}.csv": csv_of(table) for path, table in named_tables(page).items()}


def latex_files(page: Page) -> dict[str, str]:
    """Return the same as LaTeX, and `report.tex`, a document that includes them all."""
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
