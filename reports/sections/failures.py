"""The tasks that failed, each with its reason."""

from typing import Any

import pandas as pd

from boundmark.reports.pages.page import Cell, Group, Section, Table
from boundmark.reports.tables.rows import rows as rows_of
from boundmark.reports.text import integer, seconds

# Enough to recognise a message; the whole text is in the results.
LONGEST_REASON = 200


def failure_section(failures: pd.DataFrame, contradicted_claims: pd.DataFrame) -> Section:
    """Return the list of tasks that did not end `ok` or delivered nothing, and of wrong claims.

    Parameters
    ----------
    failures, contradicted_claims
        The tables of these names, of all problems.
    """
    wrong = (_contradicted(contradicted_claims),) if len(contradicted_claims) else ()
    if len(failures) == 0:
        return Section(
            "Failed tasks", wrong, paragraphs=("Every task ended ok with a solution or a bound.",)
        )
    groups = tuple(
        Group((), _rows(part), str(dataset))
        for dataset, part in failures.groupby("dataset", sort=False)
    )
    table = Table(
        "Tasks that did not end ok, or delivered nothing",
        ("instance", "method", "parameters", "seed", "seconds", "status", "detail"),
        groups,
        ("What a task reported before it failed counts in all tables.",),
        text_columns=3,
        text_columns_right=2,
    )
    return Section("Failed tasks", (table, *wrong))


def _rows(failures: pd.DataFrame) -> tuple[tuple[Cell, ...], ...]:
    return tuple(
        (
            Cell(f"{row.dataset}/{row.instance}"),
            Cell(row.method),
            Cell(row.parameters),
            Cell(integer(row.seed)),
            Cell(seconds(row.wall_seconds)),
            Cell(row.status if row.status != "ok" else "ok, nothing reported"),
            Cell(_reason(row)),
        )
        for row in rows_of(failures)
    )


def _contradicted(claims: pd.DataFrame) -> Table:
    rows = tuple(
        (
            Cell(row.instance),
            Cell(row.method),
            Cell(row.parameters),
            Cell(f"{row.bound_claimed:,.6f}"),
            Cell(integer(row.best_objective)),
        )
        for row in rows_of(claims)
    )
    return Table(
        "Claims that a verified solution contradicts",
        ("instance", "method", "parameters", "claimed bound", "best solution"),
        (Group((), rows),),
        ("The solver is wrong beyond its tolerance: its other claims deserve doubt too.",),
        text_columns=3,
    )


def _reason(row: Any) -> str:
    parts = []
    if not pd.isna(row.exit_signal):
        parts.append(f"signal {int(row.exit_signal)}")
    elif not pd.isna(row.exit_code) and row.exit_code != 0:
        parts.append(f"exit code {int(row.exit_code)}")
    if not pd.isna(row.status_detail) and row.status_detail:
        parts.append(str(row.status_detail))
    elif not pd.isna(row.stderr_tail) and row.stderr_tail.strip():
        parts.append(str(row.stderr_tail).strip().splitlines()[-1])
    text = "; ".join(parts)
    return text if len(text) <= LONGEST_REASON else text[: LONGEST_REASON - 1] + "…"
