"""Failures: tasks that failed, claims that a solution contradicts, values left out."""

from typing import Any

import pandas as pd

from boundmark.reports.pages.page import Section, Table
from boundmark.reports.sections.page_tables import PageColumn, page_table
from boundmark.reports.stored.statuses import unsupported_by_reason
from boundmark.reports.stored.verified_results import Checks
from boundmark.reports.tables.rows import rows as rows_of
from boundmark.reports.text import count, integer, seconds

# Enough to recognise a message; the whole text is in the results.
LONGEST_REASON = 200


def failure_section(failures: pd.DataFrame, contradicted_claims: pd.DataFrame) -> Section:
    """Return the list of tasks that did not end `ok` or delivered nothing, and of wrong claims.

    Unsupported tasks are counted, by reason.
    """
    wrong = (_contradicted(contradicted_claims),) if len(contradicted_claims) else ()
    is_unsupported = failures["status"] == "unsupported"
    counted = (_unsupported(failures[is_unsupported]),) if is_unsupported.any() else ()
    failures = failures[~is_unsupported]
    if len(failures) == 0:
        which = "Every other task" if counted else "Every task"
        sentence = f"{which} ended ok with a solution or a bound."
        return Section("Failed tasks", (*counted, *wrong), paragraphs=(sentence,))
    columns = (
        PageColumn("instance", lambda row: f"{row.dataset}/{row.instance}", is_text=True),
        PageColumn("method", lambda row: row.method, is_text=True),
        PageColumn("parameters", lambda row: row.parameters, is_text=True),
        PageColumn("seed", lambda row: integer(row.seed)),
        PageColumn("seconds", lambda row: seconds(row.wall_seconds)),
        PageColumn(
            "status",
            lambda row: row.status if row.status != "ok" else "ok, nothing reported",
            is_text=True,
        ),
        PageColumn("detail", _reason, is_text=True),
    )
    table = page_table(
        "Tasks that did not end ok, or delivered nothing",
        columns,
        [
            ((), rows_of(part), str(dataset))
            for dataset, part in failures.groupby("dataset", sort=False)
        ],
        ("Results that a task reported before it failed count in all tables.",),
    )
    return Section("Failed tasks", (table, *counted, *wrong), is_filtered=True)


def _unsupported(tasks: pd.DataFrame) -> Table:
    """Return a line for each reason, since a licence or a limit may stop hundreds of tasks."""
    columns = (
        PageColumn("method", lambda row: ", ".join(row.methods), is_text=True),
        PageColumn("tasks", lambda row: integer(row.tasks)),
        PageColumn("reason of the first", lambda row: _shortened(row.reason), is_text=True),
    )
    reasons = unsupported_by_reason(
        (str(row.method), "" if pd.isna(row.status_detail) else str(row.status_detail))
        for row in rows_of(tasks)
    )
    return page_table(
        "Unsupported tasks by reason",
        columns,
        [((), reasons, "")],
        (
            "These are no failures: the method does not support such instances, or cannot run "
            "here. Reasons that differ only in numbers share a row; tables/failures.parquet lists "
            "each task.",
        ),
    )


def _contradicted(claims: pd.DataFrame) -> Table:
    columns = (
        PageColumn("instance", lambda row: row.instance, is_text=True),
        PageColumn("method", lambda row: row.method, is_text=True),
        PageColumn("parameters", lambda row: row.parameters, is_text=True),
        PageColumn("claimed bound", lambda row: f"{row.bound_claimed:,.6f}"),
        PageColumn("best solution", lambda row: integer(row.best_objective)),
    )
    return page_table(
        "Claims that a verified solution contradicts",
        columns,
        [((), rows_of(claims), "")],
        ("The solver is wrong beyond its tolerance: its other claims deserve doubt too.",),
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
    return _shortened("; ".join(parts))


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_REASON else text[: LONGEST_REASON - 1] + "…"


DRAFT = (
    "Draft: no document was checked for this page. Costs, bounds and proven optima are as stated "
    "in the folder."
)

NAMES = {"objective": "cost", "bound_certified": "bound"}

# Enough to see what is wrong; the table has all.
MOST_LEFT_OUT = 50


def check_section(checks: Checks | None, unsupported: pd.DataFrame) -> Section:
    """Return the section on what was checked, with the costs and bounds that were left out."""
    paragraphs = [DRAFT if checks is None else checks.sentence]
    if len(unsupported) == 0:
        return Section("Checks", paragraphs=(*paragraphs,))
    paragraphs.append(
        f"{count(len(unsupported), 'stored value')} left out of all tables, as if the tasks had "
        "not reported them."
    )
    # What the checker rejects is worse than a file that is missing.
    first = unsupported.iloc[unsupported["reason"].str.startswith("the checker").argsort()[::-1]]
    more = len(first) - MOST_LEFT_OUT
    notes = (f"tables/unsupported.parquet has {more:,} more.",) if more > 0 else ()
    columns = (
        PageColumn("instance", lambda row: f"{row.dataset}/{row.instance}", is_text=True),
        PageColumn("method", lambda row: row.method, is_text=True),
        PageColumn("what", lambda row: NAMES[row.column], is_text=True),
        PageColumn("stated", lambda row: integer(row.value)),
        PageColumn("reason", lambda row: row.reason, is_text=True),
    )
    shown = rows_of(first.head(MOST_LEFT_OUT))
    title = "Costs and bounds that were left out"
    table = page_table(title, columns, [((), shown, "")], notes)
    return Section("Checks", (table,), paragraphs=(*paragraphs,))
