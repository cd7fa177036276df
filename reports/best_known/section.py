"""A report's section that holds results against what is best known."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from boundmark.reports.best_known.records import BestKnown, improvements, in_words
from boundmark.reports.pages.page import Cell, Group, Section, Table
from boundmark.reports.tables.rows import rows as rows_of
from boundmark.reports.text import count, integer

TITLE = "Best known"


def best_known_section(known: BestKnown, found: BestKnown) -> Section | None:
    """Return the comparison; None if there is no record of any instance.

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
        "The records come with the package. They state costs and bounds that were verified when "
        "they were found, with the hashes of solutions and certificates that stay where they were "
        "found; nothing of them is re-checked here, and they enter no gap.",
        f"There is a record of the best known cost and bound of "
        f"{count(better.known, 'instance')} of {len(found):,}.",
        f"The cost here is the best known one on {_equal(pairs, *cost)} of them, the bound on "
        f"{_equal(pairs, *bound)}.",
        better.sentence,
    ]
    rows = [row for row in rows_of(pairs) if not _agrees(row)]
    tables = (_table(rows),) if rows else ()
    return Section(TITLE, tables, paragraphs=(" ".join(filter(None, sentences)),))


def _equal(pairs: pd.DataFrame, one: str, other: str) -> int:
    return int((pairs[one] == pairs[other]).fillna(False).sum())


def _agrees(row: Any) -> bool:
    return bool(_same(row.objective, row.objective_known) and _same(row.bound, row.bound_known))


def _same(one: Any, other: Any) -> bool:
    return bool(pd.isna(one) and pd.isna(other)) or (
        not pd.isna(one) and not pd.isna(other) and one == other
    )


def _table(rows: Sequence[Any]) -> Table:
    cells = tuple(
        (
            Cell(f"{row.dataset}/{row.instance}"),
            Cell(in_words(row.instance_params)),
            *_pair(row.objective, row.objective_known, lower_is_better=True),
            *_pair(row.bound, row.bound_known, lower_is_better=False),
            Cell(_credit(row)),
        )
        for row in rows
    )
    return Table(
        "Where results differ from what is best known",
        ("instance", "parameters", "cost", "best known", "bound", "best known", "found by"),
        (Group((), cells),),
        ("Costs and bounds in ticks. The last column credits cost and bound of the record.",),
        text_columns=2,
        text_columns_right=1,
    )


def _pair(own: Any, known: Any, *, lower_is_better: bool) -> tuple[Cell, Cell]:
    is_better = not pd.isna(own) and (
        pd.isna(known) or (own < known if lower_is_better else own > known)
    )
    return Cell(integer(own), best=is_better), Cell(integer(known))


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
