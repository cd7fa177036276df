"""Tasks told apart by name, and those that failed."""

from typing import Any

import pandas as pd
import pytest
from one_row import BOUND, one_row

from boundmark.problems.errors import StoreError
from boundmark.reports.tables.by_parameter import bounds_by_parameter
from boundmark.reports.tables.parameters import ALL
from boundmark.reports.tables.tasks import (
    certified_table,
    contradicted_claims,
    failures,
    with_names,
)


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


K = "param_k"


def test_a_claim_above_a_solution_is_no_contradiction(make_row: Any, known: Any) -> None:
    """It is listed beyond the solver's tolerance, and then enters no mean."""
    exact = {"method": "mip", "method_kind": "exact"}
    rows = [
        make_row("1", instance="a", objective=10),
        make_row("2", instance="a", bound_claimed=10.000001, **exact),
        make_row("3", instance="b", objective=10),
        make_row("4", instance="b", bound_claimed=11.0, **exact),
    ]
    tasks, table = known(rows)
    assert list(contradicted_claims(tasks)["task_id"]) == ["4"]
    row = one_row(bounds_by_parameter(tasks, table, K), dataset=ALL, method="mip")
    assert row["claimed_delivered"] == 1
    assert row["claimed_mean"] == pytest.approx(1.0)
    assert row["certified_delivered"] == 0


def test_certified_table(certified: pd.DataFrame) -> None:
    """The best of each sort with its method; the first by name of equal ones."""
    a, b = one_row(certified, instance="a"), one_row(certified, instance="b")
    assert (a["objective"], a["objective_method"], a["bound"]) == (20, "brkga", 10)
    assert (a["bound_method"], a["bound_kind"], a["gap"]) == (
        "fractional-load",
        "fractional-load/1",
        1.0,
    )
    assert not a["optimal"]
    assert pd.isna(a["claimed"])
    assert (b["objective"], b["bound"], b["gap"], b["claimed"]) == (8, 8, 0.0, 6.0)
    assert b["optimal"]


def test_certified_table_of_half_an_answer(make_row: Any, frame: Any) -> None:
    """Without solution or with a bound of 0 there is no gap; 0 is still optimal if reached."""
    table = certified_table(
        frame(
            [
                make_row("1", instance="a", method="fractional-load", bound_certified=3, **BOUND),
                make_row("2", instance="b", objective=3),
                make_row("3", instance="c", objective=3),
                make_row("4", instance="c", method="fractional-load", bound_certified=0, **BOUND),
                make_row("5", instance="d", objective=0),
                make_row("6", instance="d", method="fractional-load", bound_certified=0, **BOUND),
                make_row("7", instance="e", status="crashed"),
            ]
        )
    )
    assert list(table["gap"].isna()) == [True, True, True, False, True]
    assert list(table["optimal"]) == [False, False, False, True, False]
    assert list(table["objective"].isna()) == [True, False, False, False, True]


def test_refuses_solutions_below_bounds(make_row: Any, frame: Any) -> None:
    """One of the two is wrong: both are named, and there is no table."""
    rows = [
        make_row("good", objective=10),
        make_row("low", method="magic", objective=7),
        make_row("high", method="fractional-load", bound_certified=8, **BOUND),
    ]
    with pytest.raises(
        StoreError, match=r"task low \(magic\).*of 7.*of 8 of task high \(fractional-load\)"
    ):
        certified_table(frame(rows))


@pytest.mark.parametrize("text", [None, "", "[1]", "{k: 2}"])
def test_rejects_parameters_that_are_no_json_object(
    make_row: Any, frame: Any, text: str | None
) -> None:
    """The error names the column and shows the text."""
    rows = [make_row("1", instance_params=text)]
    with pytest.raises(
        StoreError, match=r"instance_params of a result is .*expected a JSON object"
    ):
        certified_table(frame(rows))
