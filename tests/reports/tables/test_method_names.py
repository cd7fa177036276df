"""Methods told apart."""

from typing import Any

from boundmark.reports.tables.tasks import with_names


def test_a_method_run_in_two_ways_is_two_methods(make_row: Any, frame: Any) -> None:
    """What differs tells variants apart, of parameters, versions and limits; others keep names."""
    rows = [
        make_row("1", method="random", params='{"b": 1, "a": 2}'),
        make_row("2", method="random", params='{"b": 3, "a": 2}'),
        make_row("6", method="random", params='{"a": 2}'),
        make_row("3", method="mla", time_limit_seconds=10.0),
        make_row("4", method="mla", time_limit_seconds=60.0),
        make_row("5", method="uniform"),
    ]
    tasks = with_names(frame(rows)).set_index("task_id")
    assert tasks["method"].to_dict() == {
        "1": "random (b=1)",
        "2": "random (b=3)",
        "6": "random (no b)",
        "3": "mla (10.0 s)",
        "4": "mla (60.0 s)",
        "5": "uniform",
    }
