"""Every table on a run small enough to compute by hand."""

from typing import Any

import pandas as pd
import pytest

from boundmark.problems.errors import StoreError
from boundmark.reports.tables.anytime_by_k import anytime_by_k
from boundmark.reports.tables.bounds_by_k import BEST, bounds_by_k, contradicted_claims
from boundmark.reports.tables.certified import certified_table
from boundmark.reports.tables.failures import failures
from boundmark.reports.tables.gap_by_k import gap_by_k
from boundmark.reports.tables.heuristics_by_k import heuristics_by_k, reference_bounds
from boundmark.reports.tables.runtime_by_k import runtime_by_k
from boundmark.reports.tables.tasks import ALL, with_parameters_and_names

BOUND = {"method_kind": "bound"}


def at(table: pd.DataFrame, **where: Any) -> Any:
    """Return the one row with these values."""
    for column, value in where.items():
        table = table[table[column] == value]
    assert len(table) == 1
    return table.iloc[0]


@pytest.fixture
def rows(make_row: Any) -> list[dict[str, Any]]:
    """Return two instances a (UB 20, LB 10, simple bound 5) and b (UB 8 = LB, simple bound 4)."""
    return [
        make_row("a1", instance="a", method="uniform", objective=20),
        make_row("a2", instance="a", method="brkga", seed=1, objective=20),
        make_row("a3", instance="a", method="brkga", seed=2, objective=30),
        make_row("a4", instance="a", method="max-work", bound_certified=3, **BOUND),
        make_row("a5", instance="a", method="mean-work", bound_certified=5, **BOUND),
        make_row(
            "a6", instance="a", method="share", bound_certified=10, bound_kind="share/1", **BOUND
        ),
        make_row("b1", instance="b", method="uniform", status="oom", wall_seconds=0.5),
        make_row("b2", instance="b", method="brkga", seed=1, objective=8),
        make_row("b3", instance="b", method="max-work", bound_certified=4, **BOUND),
        make_row("b4", instance="b", method="mean-work", bound_certified=2, **BOUND),
        make_row(
            "b5",
            instance="b",
            method="share",
            status="timeout",
            wall_seconds=10.5,
            bound_certified=8,
            **BOUND,
        ),
        make_row(
            "b6",
            instance="b",
            method="mip",
            method_kind="exact",
            bound_claimed=6.0,
            objective=16,
        ),
    ]


@pytest.fixture
def tasks(rows: Any, frame: Any) -> pd.DataFrame:
    """Return the two instances' tasks."""
    return with_parameters_and_names(frame(rows))


@pytest.fixture
def certified(rows: Any, frame: Any) -> pd.DataFrame:
    """Return what is known of the two instances."""
    return certified_table(frame(rows))


def test_certified_table(certified: pd.DataFrame) -> None:
    """The best of each sort with its method; the first by name of equal ones."""
    a, b = at(certified, instance="a"), at(certified, instance="b")
    assert (a["objective"], a["objective_method"], a["bound"]) == (20, "brkga", 10)
    assert (a["bound_method"], a["bound_kind"], a["gap"]) == ("share", "share/1", 1.0)
    assert not a["optimal"]
    assert pd.isna(a["claimed"])
    assert (b["objective"], b["bound"], b["gap"], b["claimed"]) == (8, 8, 0.0, 6.0)
    assert b["optimal"]


def test_certified_table_of_half_an_answer(make_row: Any, frame: Any) -> None:
    """Without solution or with a bound of 0 there is no gap; 0 is still optimal if reached."""
    table = certified_table(
        frame(
            [
                make_row("1", instance="a", method="share", bound_certified=3, **BOUND),
                make_row("2", instance="b", objective=3),
                make_row("3", instance="c", objective=3),
                make_row("4", instance="c", method="share", bound_certified=0, **BOUND),
                make_row("5", instance="d", objective=0),
                make_row("6", instance="d", method="share", bound_certified=0, **BOUND),
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
        make_row("high", method="share", bound_certified=8, **BOUND),
    ]
    with pytest.raises(StoreError, match=r"task low \(magic\).*of 7.*of 8 of task high \(share\)"):
        certified_table(frame(rows))


def test_a_claim_above_a_solution_is_no_contradiction(make_row: Any, frame: Any) -> None:
    """It is listed beyond the solver's tolerance, and then enters no mean."""
    exact = {"method": "mip", "method_kind": "exact"}
    rows = [
        make_row("1", instance="a", objective=10),
        make_row("2", instance="a", bound_claimed=10.000001, **exact),
        make_row("3", instance="b", objective=10),
        make_row("4", instance="b", bound_claimed=11.0, **exact),
    ]
    tasks, table = with_parameters_and_names(frame(rows)), certified_table(frame(rows))
    assert list(contradicted_claims(tasks, table)["task_id"]) == ["4"]
    row = at(bounds_by_k(tasks, table), dataset=ALL, method="mip")
    assert row["claimed_delivered"] == 1
    assert row["claimed_mean"] == pytest.approx(1.0)
    assert row["certified_delivered"] == 0


def test_bounds_by_k(tasks: pd.DataFrame, certified: pd.DataFrame) -> None:
    """Certified: share sqrt(10/20 * 8/8), max-work sqrt(3/20 * 4/8); claimed: mip 6/8 on b."""
    table = bounds_by_k(tasks, certified)
    share = at(table, dataset="zoo", method="share")
    assert (share["instances"], share["certified_delivered"]) == (2, 2)
    assert share["certified_mean"] == pytest.approx(0.5**0.5)
    assert share["timeout"] == 1
    simple = at(table, dataset=ALL, method="max-work")
    assert simple["certified_mean"] == pytest.approx((3 / 20 * 4 / 8) ** 0.5)
    assert at(table, dataset=ALL, method=BEST)["certified_mean"] == pytest.approx(0.5**0.5)
    mip = at(table, dataset=ALL, method="mip")
    assert (mip["claimed_delivered"], mip["claimed_mean"]) == (1, 0.75)
    assert pd.isna(mip["certified_mean"])


def test_common_means_are_over_shared_instances(make_row: Any, frame: Any) -> None:
    """A method that gave up on the hard instance gains nothing; neither does silence."""
    rows = [
        make_row("1", instance="easy", objective=10),
        make_row("2", instance="hard", objective=10),
        make_row("3", instance="easy", method="brave", bound_certified=9, **BOUND),
        make_row("4", instance="hard", method="brave", bound_certified=1, **BOUND),
        make_row("5", instance="easy", method="shy", bound_certified=8, **BOUND),
        make_row("6", instance="hard", method="shy", status="timeout", **BOUND),
        make_row("7", instance="easy", method="never", status="error", bound_certified=0, **BOUND),
    ]
    table = bounds_by_k(with_parameters_and_names(frame(rows)), certified_table(frame(rows)))
    brave, shy = (at(table, dataset=ALL, method=name) for name in ("brave", "shy"))
    assert (brave["certified_mean"], shy["certified_mean"]) == pytest.approx((0.3, 0.8))
    assert (brave["certified_common_mean"], shy["certified_common_mean"]) == pytest.approx(
        (0.9, 0.8)
    )
    assert brave["certified_common"] == 1
    assert at(table, dataset=ALL, method="never")["certified_delivered"] == 0


def test_gap_by_k(certified: pd.DataFrame) -> None:
    """The mean of the ratios 2 and 1 is sqrt(2); b is optimal."""
    row = at(gap_by_k(certified), dataset=ALL, k=2)
    assert (row["instances"], row["bounded"], row["optimal"]) == (2, 2, 1)
    assert row["mean_gap"] == pytest.approx(2**0.5 - 1)
    assert row["mean_quality"] == pytest.approx(0.5**0.5)
    assert (row["mean_gap_low"], row["mean_gap_high"]) == pytest.approx((0.0, 1.0))


def test_heuristics_by_k(tasks: pd.DataFrame, certified: pd.DataFrame) -> None:
    """Brkga: mean objective 25 over L = 5 on a, 8 over 4 on b. Uniform wins a, brkga b."""
    table = heuristics_by_k(tasks, certified)
    brkga, uniform = (at(table, dataset=ALL, method=name) for name in ("brkga", "uniform"))
    assert brkga["mean"] == pytest.approx((25 / 5 * 8 / 4) ** 0.5)
    assert (brkga["wins"], brkga["ties"], brkga["delivered"]) == (1, 0, 2)
    assert (uniform["mean"], uniform["delivered"], uniform["instances"]) == (4.0, 1, 2)
    assert (uniform["wins"], uniform["oom"]) == (1, 1)
    # No instance was solved by all three, so there is nothing to share.
    assert (brkga["common"], uniform["common"]) == (0, 0)


def test_reference_falls_back_to_the_best_bound(make_row: Any, frame: Any) -> None:
    """L is the simple bound only if both parts are certified; without any bound there is none."""
    rows = [
        make_row("1", instance="a", method="max-work", bound_certified=3, **BOUND),
        make_row("2", instance="a", method="share", bound_certified=7, **BOUND),
        make_row("3", instance="b", objective=5),
    ]
    table = certified_table(frame(rows))
    references = reference_bounds(with_parameters_and_names(frame(rows)), table)
    assert references.to_dict("records") == [{"bound": 7.0, "is_simple": False}]


def test_runtime_by_k(tasks: pd.DataFrame) -> None:
    """An early death costs the limit, seeds are averaged, and the shift is one second."""
    table = runtime_by_k(tasks)
    uniform = at(table, dataset=ALL, method="uniform")
    assert uniform["mean_seconds"] == pytest.approx((2 * 11) ** 0.5 - 1)
    assert uniform["largest_seconds"] == 10.0
    share = at(table, dataset=ALL, method="share")
    assert share["mean_seconds"] == pytest.approx((2 * 11.5) ** 0.5 - 1)
    assert at(table, dataset=ALL, method="brkga")["instances"] == 2


def test_unsupported_tasks_have_no_time(make_row: Any, frame: Any) -> None:
    """They are counted, and nothing else."""
    rows = [make_row("1", status="unsupported", wall_seconds=0.01)]
    row = at(runtime_by_k(with_parameters_and_names(frame(rows))), dataset=ALL)
    assert row["unsupported"] == 1
    assert pd.isna(row["mean_seconds"])


def test_anytime_by_k(tasks: pd.DataFrame, certified: pd.DataFrame) -> None:
    """Uniform on a: 5 s without solution, then (20 - 10)/20 for 5 s; on b it reports nothing."""
    traces = pd.DataFrame(
        [
            ("a1", 5.0, "solution", 20.0),
            ("a6", 0.0, "bound_certified", 10.0),
            ("b5", 0.0, "bound_certified", 8.0),
            ("b6", 0.0, "solution", 16.0),
            ("b6", 5.0, "bound_claimed", 8.0),
        ],
        columns=["task_id", "seconds", "kind", "value"],
    )
    table = anytime_by_k(tasks, traces, certified)
    values = table[table["dataset"] == ALL].set_index("method")["mean_gap_over_time"]
    assert values["uniform"] == pytest.approx((0.75 + 1.0) / 2)
    assert values["share"] == pytest.approx((0.5 + 0.0) / 2)
    assert values["mip"] == pytest.approx(0.75)
    assert len(anytime_by_k(tasks, traces.iloc[:0], certified)) == 0


def test_failures(tasks: pd.DataFrame, make_row: Any, frame: Any) -> None:
    """Every task that is not ok, and those that are and delivered nothing."""
    assert sorted(failures(tasks)["task_id"]) == ["b1", "b5"]
    silent = with_parameters_and_names(frame([make_row("silent")]))
    assert "silent" in set(failures(silent)["task_id"])


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
    tasks = with_parameters_and_names(frame(rows)).set_index("task_id")
    assert tasks["method"].to_dict() == {
        "1": "random (b=1)",
        "2": "random (b=3)",
        "6": "random (no b)",
        "3": "mla (10.0 s)",
        "4": "mla (60.0 s)",
        "5": "uniform",
    }


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
