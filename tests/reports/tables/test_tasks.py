"""Tasks told apart by name, and those that failed."""

from typing import Any

import pandas as pd

from boundmark.reports.tables.tasks import certified_table, failures, with_names


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


def test_failures(tasks: pd.DataFrame, make_row: Any, frame: Any) -> None:
    """Every task that is not ok, and those that are and delivered nothing."""
    assert sorted(failures(tasks)["task_id"]) == ["b1", "b5"]
    silent = with_names(frame([make_row("silent")]))
    assert "silent" in set(failures(silent)["task_id"])


def test_a_graph_on_two_devices_is_two_instances(make_row: Any, frame: Any) -> None:
    """Only then its name says on which; costs of its own are on none."""
    rows = [
        make_row("1", instance="a", device="fast", instance_sha256="1"),
        make_row("2", instance="a", device="slow", instance_sha256="2"),
        make_row("3", instance="b", device="fast", instance_sha256="3"),
        make_row("4", instance="c", device="", instance_sha256="4"),
        make_row("5", instance="d", device=None, instance_sha256="5"),
        make_row("6", instance="a", dataset="other", device="fast", instance_sha256="6"),
        make_row("7", instance="e", device="", instance_sha256="7"),
        make_row("8", instance="e", device="slow", instance_sha256="8"),
    ]
    expected = {
        "1": "a on fast",
        "2": "a on slow",
        "3": "b",
        "4": "c",
        "5": "d",
        "6": "a",
        "7": "e",
        "8": "e on slow",
    }
    tasks = with_names(frame(rows))
    assert tasks.set_index("task_id")["instance"].to_dict() == expected
    certified = certified_table(frame(rows)).set_index("instance_sha256")
    assert certified["instance"].to_dict() == expected
    assert certified["device"].loc[["1", "2", "4"]].to_list() == ["fast", "slow", ""]
