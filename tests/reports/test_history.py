"""A history keeps each run once, and the page shows where its numbers go."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from documented import append

from boundmark.problems.errors import StoreError
from boundmark.reports.history import BEST, read_history
from boundmark.reports.report import ReportOptions, write_report
from boundmark.reports.stored.store import ResultStore

pytestmark = pytest.mark.usefixtures("all_undrawn")

LATER = pd.Timestamp("2026-01-03T03:04:05Z").to_pydatetime()


def night(folder: Path, make_row: Any, *, cost: int, **values: Any) -> Path:
    """Store a run of one heuristic and one bound on one instance."""
    store = ResultStore.create_or_open(folder)
    append(store, make_row("1", method="brkga", objective=cost, **values), [])
    bound = make_row(
        "2", method="fractional-load", method_kind="bound", bound_certified=10, **values
    )
    append(store, bound, [])
    return folder


def test_the_page_shows_runs_and_curves(tmp_path: Path, make_row: Any) -> None:
    """Gaps of 20 % and 50 %: of the method, of the best, and of the bound; each run once.

    A table has both runs, and a curve a point for each method and run; one run alone has none.
    """
    path = tmp_path / "history.parquet"
    first = night(tmp_path / "a", make_row, cost=12)
    second = night(tmp_path / "b", make_row, cost=15, started_at=LATER)
    write_report(first, ["md"], options=ReportOptions(history=path))
    assert not (first / "plots/pipeline/trend_of_gaps.svg").exists()
    for _ in range(2):
        write_report(second, ["md"], options=ReportOptions(history=path))
    rows = read_history(path)
    assert len(rows) == 2 * 3
    for method, column in (
        (BEST, "mean_gap"),
        ("brkga", "mean_gap"),
        ("fractional-load", "mean_bound_gap"),
    ):
        assert rows[rows["method"] == method][column].tolist() == pytest.approx([0.2, 0.5])
    assert rows["run"].nunique() == 2
    data = pd.read_parquet(second / "plots/pipeline/trend_of_gaps.parquet")
    own = data[data["method"] == "brkga"].sort_values("at")
    assert own["value"].tolist() == pytest.approx([20.0, 50.0])
    assert set(data["method"]) == {BEST, "brkga"}
    text = (second / "report.md").read_text()
    assert "| 2026-01-02 03:04 | unknown commit | demo | 1 | 20.0 | 0 | 0 |" in text
    assert "| 2026-01-03 03:04 | unknown commit | demo | 1 | 50.0 | 0 | 0 |" in text


@pytest.mark.slow
def test_other_suites_are_on_no_common_curve(tmp_path: Path, make_row: Any) -> None:
    """Their numbers mean something else; the table has them all the same."""
    path = tmp_path / "history.parquet"
    first = night(tmp_path / "a", make_row, cost=12, suite="other")
    second = night(tmp_path / "b", make_row, cost=15, started_at=LATER)
    for folder in (first, second):
        write_report(folder, ["md"], options=ReportOptions(history=path))
    assert not (second / "plots/pipeline/trend_of_gaps.svg").exists()
    assert "| other | 1 | 20.0 |" in (second / "report.md").read_text()


@pytest.mark.slow
def test_without_a_history_there_is_no_section(tmp_path: Path, make_row: Any) -> None:
    """Nothing is said of other runs."""
    folder = night(tmp_path / "a", make_row, cost=12)
    write_report(folder, ["md"])
    assert "Trends" not in (folder / "report.md").read_text()


def test_other_files_are_refused(tmp_path: Path, make_row: Any) -> None:
    """A table of something else is never overwritten."""
    path = tmp_path / "table.parquet"
    pd.DataFrame({"a": [1]}).to_parquet(path)
    before = path.read_bytes()
    folder = night(tmp_path / "a", make_row, cost=12)
    with pytest.raises(StoreError, match="is no history of version 1"):
        write_report(folder, ["md"], options=ReportOptions(history=path))
    assert path.read_bytes() == before
