"""The page's section that compares results with the best known ones."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from boundmark.reports.best_known import BestKnown, improvements, in_words
from boundmark.reports.pages.page import Cell, Section, Table
from boundmark.reports.sections.page_tables import PageColumn, page_table
from boundmark.reports.tables.rows import rows as rows_of
from boundmark.reports.text import count, integer


def best_known_section(known: BestKnown, found: BestKnown) -> Section | None:
    """Return the section that compares with the best known results; None without records.

    Parameters
    ----------
    known
        The records that come with the package.
    found
        What the folder's results amount to.
    """
    pairs = found.merge(known, on="instance_sha256", suffixes=("", "_known"))
    if pairs.empty:
        return None
    better = improvements(known, found)
    cost, bound = ("objective", "objective_known"), ("bound", "bound_known")
    sentences = [
        "Records of the best known costs and bounds come with the package. They were verified "
        "when they were found, and name solutions and certificates by hash, without these files. "
        "So records are not re-checked here, and enter no gap.",
        f"There are records of {count(better.known, 'instance')} of {len(found):,}.",
        f"This folder has the best known cost on {_equal(pairs, *cost)} of them, and the best "
        f"known bound on {_equal(pairs, *bound)}.",
        better.sentence,
    ]
    rows = [row for row in rows_of(pairs) if not _agrees(row)]
    tables = (_table(rows),) if rows else ()
    return Section("Best known", tables, paragraphs=(" ".join(filter(None, sentences)),))


def _equal(pairs: pd.DataFrame, one: str, other: str) -> int:
    return int((pairs[one] == pairs[other]).fillna(False).sum())


def _agrees(row: Any) -> bool:
    return bool(_same(row.objective, row.objective_known) and _same(row.bound, row.bound_known))


def _same(one: Any, other: Any) -> bool:
    return bool(pd.isna(one) and pd.isna(other)) or (
        not pd.isna(one) and not pd.isna(other) and one == other
    )


def _table(rows: Sequence[Any]) -> Table:
    columns = (
        PageColumn("instance", lambda row: f"{row.dataset}/{row.instance}", is_text=True),
        PageColumn("parameters", lambda row: in_words(row.instance_params), is_text=True),
        PageColumn("cost", _cost),
        PageColumn("best known", lambda row: integer(row.objective_known)),
        PageColumn("bound", _bound),
        PageColumn("best known", lambda row: integer(row.bound_known)),
        PageColumn("found by", _credit, is_text=True),
    )
    notes = (
        "Costs and bounds are in ticks. The last column names the methods that found the record's "
        "cost and bound, and the days.",
    )
    title = "Results that differ from the best known"
    return page_table(title, columns, [((), rows, "")], notes)


def _cost(row: Any) -> Cell:
    own, known = row.objective, row.objective_known
    return Cell(integer(own), best=not pd.isna(own) and bool(pd.isna(known) or own < known))


def _bound(row: Any) -> Cell:
    own, known = row.bound, row.bound_known
    return Cell(integer(own), best=not pd.isna(own) and bool(pd.isna(known) or own > known))


def _credit(row: Any) -> str:
    found = [
        f"{method} ({date})"
        for method, date in (
            (row.objective_method_known, row.objective_date_known),
            (row.bound_method_known, row.bound_date_known),
        )
        if isinstance(method, str)
    ]
    return "; ".join(found)
