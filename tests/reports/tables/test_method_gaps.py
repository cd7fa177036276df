"""Methods are compared over what all of them treated; every number is computed by hand here."""

from typing import Any

import pandas as pd
import pytest
from one_row import BOUND, one_row

from boundmark.reports.tables.equal_terms import comparisons
from boundmark.reports.tables.method_gaps import method_gaps


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
    """20/10 and 8/8 of `share`, 20/3 and 8/4 of `max-work`: geometric means of both instances."""
    own = gaps[(gaps["role"] == "bounds") & (gaps["dataset"] == "zoo")]
    share, weak = (one_row(own, method=name) for name in ("share", "max-work"))
    assert share["mean_gap"] == pytest.approx(2**0.5 - 1)
    assert weak["mean_gap"] == pytest.approx((20 / 3 * 2) ** 0.5 - 1)
    assert weak["mean_gap_to_best"] == pytest.approx((10 / 3 * 2) ** 0.5 - 1)
    assert (share["optimal"], weak["optimal"]) == (1, 0)


def test_methods_of_disjoint_instances_never_meet(make_row: Any, known: Any) -> None:
    """Each has a comparison of its own, and neither wins against the other."""
    made = [
        make_row("1", instance="a", method="left", objective=2),
        make_row("2", instance="b", method="right", objective=3),
        make_row("3", instance="a", method="share", bound_certified=1, **BOUND),
        make_row("4", instance="b", method="share", bound_certified=1, **BOUND),
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
        make_row("5", instance="b", method="share", bound_certified=1, **BOUND),
    ]
    tasks, _ = known(made)
    found = [
        (len(one.instances), set(one.methods))
        for one in comparisons(tasks[tasks["method"] != "share"])
    ]
    assert found == [(2, {"all"}), (1, {"all", "some"})]


def test_a_method_that_delivers_nowhere_empties_no_comparison(make_row: Any, known: Any) -> None:
    """It has no gap, the other one has."""
    made = [
        make_row("1", method="good", objective=2),
        make_row("2", method="bad", status="crashed", objective=None),
        make_row("3", method="share", bound_certified=1, **BOUND),
    ]
    own = method_gaps(*known(made))
    own = own[(own["role"] == "solutions") & (own["dataset"] == "zoo")]
    good, bad = (one_row(own, method=name) for name in ("good", "bad"))
    assert (good["common"], good["mean_gap"]) == (1, pytest.approx(1.0))
    assert (bad["common"], bad["failed"]) == (0, 1)
    assert pd.isna(bad["mean_gap"])
