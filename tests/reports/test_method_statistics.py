"""Methods compared on equal terms."""

from typing import Any

import pandas as pd
import pytest
from one_row import BOUND, one_row

from boundmark.reports.method_statistics import (
    comparisons,
    instance_gaps,
    method_gaps,
    method_pairs,
    method_statistics,
    statistics_section,
)


@pytest.fixture
def gaps(rows: Any, known: Any) -> pd.DataFrame:
    """Return the table of the two instances; an exact method ran on the second one only."""
    table = method_gaps(*known(rows))
    assert set(table["comparison"]) == {0, 1}
    return table[table["comparison"] == 0]


def test_gaps_are_over_instances_that_all_delivered(gaps: Any) -> None:
    """On a, brkga has 25 in the mean and uniform 20 over 10; on b, uniform ran out of memory."""
    own = gaps[(gaps["role"] == "solutions") & (gaps["dataset"] == "zoo")]
    uniform, brkga = (one_row(own, method=name) for name in ("uniform", "brkga"))
    assert (uniform["instances"], uniform["delivered"], uniform["common"]) == (2, 1, 1)
    assert (brkga["instances"], brkga["delivered"], brkga["common"]) == (2, 2, 1)
    assert uniform["mean_gap"] == pytest.approx(1.0)
    assert brkga["mean_gap"] == pytest.approx(1.5)
    assert brkga["mean_gap_to_best"] == pytest.approx(0.25)
    assert (brkga["optimal"], uniform["optimal"]) == (1, 0)
    assert (uniform["wins"], uniform["failed"]) == (1, 1)


def test_bounds_are_measured_against_the_best_solutions(gaps: Any) -> None:
    """20/10 and 8/8 of `fractional-load`, 20/3 and 8/4 of `max-work`: geometric means of both."""
    own = gaps[(gaps["role"] == "bounds") & (gaps["dataset"] == "zoo")]
    share, weak = (one_row(own, method=name) for name in ("fractional-load", "max-work"))
    assert share["mean_gap"] == pytest.approx(2**0.5 - 1)
    assert weak["mean_gap"] == pytest.approx((20 / 3 * 2) ** 0.5 - 1)
    assert weak["mean_gap_to_best"] == pytest.approx((10 / 3 * 2) ** 0.5 - 1)
    assert (share["optimal"], weak["optimal"]) == (1, 0)


def test_gaps_of_each_instance(rows: Any, known: Any) -> None:
    """The gaps that means are of; of all methods, also those that were given fewer instances."""
    table = instance_gaps(*known(rows))
    own = table[table["role"] == "solutions"].groupby("method")["gap"].apply(sorted)
    assert own["uniform"] == pytest.approx([1.0])
    assert own["brkga"] == pytest.approx([0.0, 1.5])
    assert set(table.loc[table["role"] == "bounds", "method"]) == {
        "fractional-load",
        "max-work",
        "mean-work",
    }


def test_claims_have_a_gap_of_their_own(make_row: Any, known: Any) -> None:
    """Over instances with a claim that no solution contradicts."""
    bounds = {"a": (4, 5.0), "b": (4, 50.0), "c": (4, None)}
    made = [
        row
        for name, (bound, claim) in bounds.items()
        for row in (
            make_row(f"{name}1", instance=name, method="search", objective=10),
            make_row(
                f"{name}2", instance=name, method="program", bound_certified=bound,
                bound_claimed=claim, **BOUND,
            ),
        )
    ]  # fmt: skip
    program = one_row(method_gaps(*known(made)), method="program", dataset="all data sets")
    assert (program["claiming"], program["mean_claimed_gap"]) == (1, pytest.approx(1.0))
    assert program["mean_gap"] == pytest.approx(1.5)
    assert program["members"] == "a, b, c"


def test_methods_of_disjoint_instances_never_meet(make_row: Any, known: Any) -> None:
    """Each has a comparison of its own, and neither wins against the other."""
    made = [
        make_row("1", instance="a", method="left", objective=2),
        make_row("2", instance="b", method="right", objective=3),
        make_row("3", instance="a", method="fractional-load", bound_certified=1, **BOUND),
        make_row("4", instance="b", method="fractional-load", bound_certified=1, **BOUND),
    ]
    own = method_gaps(*known(made))
    own = own[(own["role"] == "solutions") & (own["dataset"] == "zoo")]
    assert own.groupby("comparison")["method"].apply(list).tolist() in (
        [["left"], ["right"]], [["right"], ["left"]],
    )  # fmt: skip
    assert (own["common"] == 1).all()


def test_a_method_of_few_instances_is_compared_there(make_row: Any, known: Any) -> None:
    """The larger comparison goes without it, and the smaller one has everybody."""
    made = [
        make_row("1", instance="a", method="all", objective=2),
        make_row("2", instance="b", method="all", objective=3),
        make_row("3", instance="b", method="some", objective=2),
        make_row("4", instance="a", method="some", status="unsupported"),
        make_row("5", instance="b", method="fractional-load", bound_certified=1, **BOUND),
    ]
    tasks, _ = known(made)
    found = [
        (len(one.instances), set(one.methods))
        for one in comparisons(tasks[tasks["method"] != "fractional-load"])
    ]
    assert found == [(2, {"all"}), (1, {"all", "some"})]


def test_a_method_that_delivers_nowhere_empties_no_comparison(make_row: Any, known: Any) -> None:
    """It has no gap, the other one has."""
    made = [
        make_row("1", method="good", objective=2),
        make_row("2", method="bad", status="crashed", objective=None),
        make_row("3", method="fractional-load", bound_certified=1, **BOUND),
    ]
    own = method_gaps(*known(made))
    own = own[(own["role"] == "solutions") & (own["dataset"] == "zoo")]
    good, bad = (one_row(own, method=name) for name in ("good", "bad"))
    assert (good["common"], good["mean_gap"]) == (1, pytest.approx(1.0))
    assert (bad["common"], bad["failed"]) == (0, 1)
    assert pd.isna(bad["mean_gap"])


@pytest.fixture
def tables(make_row: Any, known: Any) -> Any:
    """Return the tables of two instances, of which `fast` fails on one."""
    tasks, certified = known(
        [
            make_row("1", instance="a", method="fast", objective=20, wall_seconds=1.0),
            make_row("2", instance="b", method="fast", status="timeout", wall_seconds=10.0),
            make_row("3", instance="a", method="slow", objective=10, wall_seconds=8.0),
            make_row("4", instance="b", method="slow", objective=7, wall_seconds=9.0),
            make_row("5", instance="a", method="fractional-load", bound_certified=5, **BOUND),
        ]
    )
    events = [
        ("1", 5.0, "solution", 20.0),
        ("3", 2.0, "solution", 10.0),
        ("5", 0, "bound_certified", 5.0),
    ]
    traces = pd.DataFrame(events, columns=["task_id", "seconds", "kind", "value"])
    return {
        "method_statistics": method_statistics(tasks, traces, certified),
        "pairs": method_pairs(tasks),
        "method_gaps": method_gaps(tasks, certified),
    }


def test_methods_by_hand(tables: Any) -> None:
    """A failed task counts with 100 s; before the first solution, the gap is 1."""
    found = tables["method_statistics"]
    solutions = found[(found["role"] == "solutions") & (found["comparison"] == 0)]
    fast, slow = (one_row(solutions, method=name) for name in ("fast", "slow"))
    assert (fast["instances"], fast["par10_seconds"]) == (2, 50.5)
    assert slow["par10_seconds"] == 8.5
    # On a: 1 for 5 s, then (20 - 10)/20; on b: 1 throughout.
    assert fast["primal_integral"] == pytest.approx((0.75 + 1) / 2)
    assert slow["primal_integral"] == pytest.approx((0.2 + 1) / 2)
    assert (fast["best_share"], slow["best_share"]) == (0.0, 1.0)
    assert (fast["only_best"], slow["only_best"]) == (0, 2)
    assert slow["virtual_best_loss"] == pytest.approx(1.0)
    share = one_row(found[found["role"] == "bounds"], method="fractional-load")
    assert share["dual_integral"] == pytest.approx(0.5)


def test_pairs_by_hand(tables: Any) -> None:
    """Over the one instance that both solved."""
    pair = one_row(tables["pairs"], method="fast", other="slow")
    assert (pair["instances"], pair["wins"], pair["ties"], pair["losses"]) == (1, 0, 0, 1)
    assert pair["mean_ratio"] == pytest.approx(2.0)
    assert pair["p_value"] == pair["p_holm"] == 1.0


def test_the_page_holds_the_best_against_all_others(tables: Any) -> None:
    """Whatever the order of their names."""
    section = statistics_section(tables)
    assert section is not None
    table = next(table for table in section.tables if "against" in table.title)
    assert table.title == "slow against each other method: solutions"
    (line,) = table.groups[0].rows
    assert [cell.text for cell in line] == ["fast", "1", "1", "0", "0", "0.5000", "1.000"]
