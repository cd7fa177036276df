"""What a page says of tasks that failed, and of those that methods do not support."""

from typing import Any

import pandas as pd

from boundmark.reports.sections.failures import failure_section
from boundmark.reports.stored.statuses import unsupported_by_reason
from boundmark.reports.tables.tasks import (
    contradicted_claims,
    failures,
    with_names,
)

LICENCE = "Gurobi's licence does not cover a model of {} columns and {} rows: too large."


def test_what_a_licence_does_not_cover_is_one_counted_line(make_row: Any, frame: Any) -> None:
    """However many tasks there are; failures stand by themselves."""
    rows = [
        make_row(
            f"u{k}", k=k, method="exact", status="unsupported",
            status_detail=LICENCE.format(f"{k},072", k),
        )
        for k in (2, 4, 8)
    ]  # fmt: skip
    rows += [make_row("f", method="mla", status="crashed"), make_row("ok", objective=3)]
    section = _section(frame(rows))
    failed, counted = section.tables
    assert [[cell.text for cell in row][1] for row in failed.groups[0].rows] == ["mla"]
    assert [[cell.text for cell in row] for row in counted.groups[0].rows] == [
        ["exact", "3", LICENCE.format("2,072", 2)]
    ]


def test_unsupported_tasks_alone_are_no_failures(make_row: Any, frame: Any) -> None:
    """The section says that all others ended ok."""
    rows = [make_row("u", method="exact", status="unsupported"), make_row("ok", objective=3)]
    section = _section(frame(rows))
    assert len(section.tables) == 1
    assert section.paragraphs == ("Every other task ended ok with a solution or a bound.",)


def _section(results: pd.DataFrame) -> Any:
    tasks = with_names(results)
    claims = contradicted_claims(tasks)
    return failure_section(failures(tasks), claims)


def test_reasons_that_differ_in_words_are_two() -> None:
    """Those that differ in numbers are one, with all methods that gave it."""
    found = unsupported_by_reason(
        [("a", "Too large: 10."), ("b", "Too large: 2,000."), ("a", "No.")]
    )
    assert [one.sentence for one in found] == [
        "unsupported: 2 tasks of a, b; the first: Too large: 10.",
        "unsupported: 1 task of a; No.",
    ]
