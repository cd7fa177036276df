"""Two small runs of one solver and one bound on two instances, and what changes in the second."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from documented import append

from boundmark.reports.comparison.compare import Comparison, compare_runs
from boundmark.reports.comparison.pairs import Thresholds
from boundmark.reports.comparison.recorded_run import RecordedRun, read_run
from boundmark.reports.stored.store import ResultStore

Row = dict[str, Any]
Stored = Callable[[str, list[Row]], Path]
Compared = Callable[..., Comparison]


@pytest.fixture
def run_rows(make_row: Any) -> list[Row]:
    """Return a run: instances a and b, a heuristic with two seeds, and a bound."""
    return [
        make_row("a1", instance="a", method="brkga", seed=1, objective=20),
        make_row("a2", instance="a", method="brkga", seed=2, objective=22),
        make_row(
            "a3", instance="a", method="fractional-load", method_kind="bound", bound_certified=10
        ),
        make_row("b1", instance="b", method="brkga", seed=1, objective=8),
        make_row("b2", instance="b", method="brkga", seed=2, objective=9),
        make_row(
            "b3", instance="b", method="fractional-load", method_kind="bound", bound_certified=8
        ),
    ]


@pytest.fixture
def stored(tmp_path: Path) -> Stored:
    """Return the function that stores rows in a folder of a name."""

    def write(name: str, rows: list[Row]) -> Path:
        store = ResultStore.create_or_open(tmp_path / name)
        for row in rows:
            append(store, row, [])
        return tmp_path / name

    return write


@pytest.fixture(scope="session")
def runs_read() -> dict[str, RecordedRun]:
    """Return the runs that were read earlier, by their rows; most tests begin with the same."""
    return {}


@pytest.fixture
def compared(stored: Stored, run_rows: list[Row], runs_read: dict[str, RecordedRun]) -> Compared:
    """Return the function that compares the run with one in which some rows have other values.

    Tasks are named with what changes in them; None leaves a task out.
    """

    def compare(
        thresholds: Thresholds | None = None, *, base: Row | None = None, **changes: Row | None
    ) -> Comparison:
        before = [row | (base or {}) for row in run_rows]
        after = [row | (changes.get(row["task_id"]) or {}) for row in before]
        kept = [row for row in after if changes.get(row["task_id"], {}) is not None]
        known = repr(before)
        if known not in runs_read:
            runs_read[known] = read_run(stored("base", before))
        return compare_runs(runs_read[known], read_run(stored("new", kept)), thresholds)

    return compare
