"""What the checker has seen, and what it rejected."""

from typing import Any

import pandas as pd

from boundmark.reports.pages.page import Cell, Group, Section, Table
from boundmark.reports.stored.checked_results import Checks
from boundmark.reports.tables.rows import rows as rows_of
from boundmark.reports.text import count, integer

DRAFT = (
    "Draft: no document was checked for this page. Costs, bounds and proven optima are what the "
    "folder states."
)

NAMES = {"objective": "cost", "bound_certified": "bound"}

# Enough to see what is wrong; the table has all.
MOST_ROWS = 50


def check_section(checks: Checks | None, unsupported: pd.DataFrame) -> Section:
    """Return what was checked, and the costs and bounds that were left out.

    Parameters
    ----------
    checks
        None if nothing was checked.
    unsupported
        The table of this name, of all problems.
    """
    paragraphs = [DRAFT if checks is None else checks.sentence]
    if len(unsupported) == 0:
        return Section("Checks", paragraphs=(*paragraphs,))
    paragraphs.append(
        f"{count(len(unsupported), 'stored value')} left out of all tables, as if the tasks had "
        "not reported them."
    )
    # What the checker rejects is worse than a file that is missing.
    first = unsupported.iloc[unsupported["reason"].str.startswith("the checker").argsort()[::-1]]
    more = len(first) - MOST_ROWS
    notes = (f"tables/unsupported.parquet has {more:,} more.",) if more > 0 else ()
    table = Table(
        "Costs and bounds that were left out",
        ("instance", "method", "what", "stated", "reason"),
        (Group((), tuple(map(_cells, rows_of(first.head(MOST_ROWS))))),),
        notes,
        text_columns=3,
        text_columns_right=1,
    )
    return Section("Checks", (table,), paragraphs=(*paragraphs,))


def _cells(row: Any) -> tuple[Cell, ...]:
    return (
        Cell(f"{row.dataset}/{row.instance}"),
        Cell(row.method),
        Cell(NAMES[row.column]),
        Cell(integer(row.value)),
        Cell(row.reason),
    )
