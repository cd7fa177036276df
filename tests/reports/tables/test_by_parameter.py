"""Tables by the values of a parameter."""

from typing import Any

import pandas as pd
import pytest
from one_row import BOUND, one_row

from boundmark.reports.tables.by_parameter import (
    BEST,
    anytime_by_parameter,
    best_certified_bounds,
    bounds_by_parameter,
    common_gaps,
    gap_by_parameter,
    runtime_by_parameter,
    solutions_by_parameter,
)
from boundmark.reports.tables.parameters import ALL

K = "param_k"


def test_gap_by_parameter(certified: pd.DataFrame) -> None:
    """The mean of the ratios 2 and 1 is sqrt(2); b is optimal."""
    row = one_row(gap_by_parameter(certified, K), dataset=ALL, param_k=2)
    assert (row["instances"], row["bounded"], row["optimal"]) == (2, 2, 1)
    assert row["mean_gap"] == pytest.approx(2**0.5 - 1)
    assert row["mean_quality"] == pytest.approx(0.5**0.5)
    assert pd.isna(row["mean_gap_low"])


def gaps_of(**of_graph: dict[int, float]) -> pd.DataFrame:
    """Return the gaps of graphs by k."""
    return pd.DataFrame(
        [
            {"dataset": "zoo", "instance": name, "device": "", K: k, "gap": gap}
            for name, own in of_graph.items()
            for k, gap in own.items()
        ]
    ).astype({K: "Int64"})


def test_means_by_parameter_that_lines_join_are_of_the_same_instances() -> None:
    """The hard graph alone has k = 8: its gap is no rise of the others'."""
    easy = {2: 0.1, 4: 0.1}
    found = common_gaps(gaps_of(a=easy, b=easy, c=easy, hard={2: 0.5, 4: 0.5, 8: 0.5}), K)
    own = found[found["dataset"] == "zoo"]
    assert own[K].tolist() == [2, 4]
    assert own["instances"].tolist() == [4, 4]
    assert own["mean_gap"].tolist() == pytest.approx([(1.1**3 * 1.5) ** 0.25 - 1] * 2)


def test_values_that_most_instances_have_stay() -> None:
    """One graph without k = 8 is left out, rather than k = 8 of all others."""
    whole = {2: 0.0, 4: 0.1, 8: 0.2}
    found = common_gaps(gaps_of(a=whole, b=whole, c=whole, d={2: 0.9}), K)
    own = found[found["dataset"] == ALL]
    assert own[K].tolist() == [2, 4, 8]
    assert own["instances"].tolist() == [3, 3, 3]
    assert own["mean_gap"].tolist() == pytest.approx([0.0, 0.1, 0.2])
    assert own["mean_gap_low"].tolist() == pytest.approx([0.0, 0.1, 0.2])


def test_names_have_all_their_instances() -> None:
    """No line joins them."""
    gaps = gaps_of(a={2: 0.1, 4: 0.1}, b={2: 0.3})
    found = common_gaps(gaps.assign(param_x=["x", "y", "x"]), "param_x")
    assert found.loc[found["dataset"] == "zoo", "instances"].tolist() == [2, 1]


def test_bounds_by_parameter(tasks: pd.DataFrame, certified: pd.DataFrame) -> None:
    """Certified: share sqrt(10/20 * 8/8), max-work sqrt(3/20 * 4/8); claimed: mip 6/8 on b."""
    table = bounds_by_parameter(tasks, certified, K)
    share = one_row(table, dataset="zoo", method="fractional-load")
    assert (share["instances"], share["certified_delivered"]) == (2, 2)
    assert share["certified_mean"] == pytest.approx(0.5**0.5)
    assert share["timeout"] == 1
    simple = one_row(table, dataset=ALL, method="max-work")
    assert simple["certified_mean"] == pytest.approx((3 / 20 * 4 / 8) ** 0.5)
    assert one_row(table, dataset=ALL, method=BEST)["certified_mean"] == pytest.approx(0.5**0.5)
    mip = one_row(table, dataset=ALL, method="mip")
    assert (mip["claimed_delivered"], mip["claimed_mean"]) == (1, 0.75)
    assert pd.isna(mip["certified_mean"])


def test_common_means_are_over_shared_instances(make_row: Any, known: Any) -> None:
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
    table = bounds_by_parameter(*known(rows), K)
    brave, shy = (one_row(table, dataset=ALL, method=name) for name in ("brave", "shy"))
    assert (brave["certified_mean"], shy["certified_mean"]) == pytest.approx((0.3, 0.8))
    assert (brave["certified_common_mean"], shy["certified_common_mean"]) == pytest.approx(
        (0.9, 0.8)
    )
    assert brave["certified_common"] == 1
    assert one_row(table, dataset=ALL, method="never")["certified_delivered"] == 0


def test_solutions_by_parameter(tasks: pd.DataFrame, certified: pd.DataFrame) -> None:
    """Brkga: mean objective 25 over L = 5 on a, 8 over 4 on b. Uniform wins a, brkga b."""
    reference = pd.Series(certified["instance"].map({"a": 5.0, "b": 4.0}))
    reference.index = pd.Index(certified["instance_sha256"])
    table = solutions_by_parameter(tasks, certified, reference, K)
    brkga, uniform = (one_row(table, dataset=ALL, method=name) for name in ("brkga", "uniform"))
    assert brkga["mean"] == pytest.approx((25 / 5 * 8 / 4) ** 0.5)
    assert (brkga["wins"], brkga["ties"], brkga["delivered"]) == (1, 0, 2)
    assert (uniform["mean"], uniform["delivered"], uniform["instances"]) == (4.0, 1, 2)
    assert (uniform["wins"], uniform["oom"]) == (1, 1)
    # No instance was solved by all three, so there is nothing to share.
    assert (brkga["common"], uniform["common"]) == (0, 0)


def test_bounds_of_zero_are_no_reference(make_row: Any, known: Any) -> None:
    """Nor are missing ones: nothing can be divided by them."""
    rows = [
        make_row("1", instance="a", method="fractional-load", bound_certified=7, **BOUND),
        make_row("2", instance="b", method="fractional-load", bound_certified=0, **BOUND),
        make_row("3", instance="c", objective=5),
    ]
    assert best_certified_bounds(known(rows)[1]).tolist() == [7.0]


def test_runtime_by_parameter(tasks: pd.DataFrame) -> None:
    """An early death costs the limit, seeds are averaged, and the shift is one second."""
    table = runtime_by_parameter(tasks, K)
    uniform = one_row(table, dataset=ALL, method="uniform")
    assert uniform["mean_seconds"] == pytest.approx((2 * 11) ** 0.5 - 1)
    assert uniform["largest_seconds"] == 10.0
    share = one_row(table, dataset=ALL, method="fractional-load")
    assert share["mean_seconds"] == pytest.approx((2 * 11.5) ** 0.5 - 1)
    assert one_row(table, dataset=ALL, method="brkga")["instances"] == 2


def test_unsupported_tasks_have_no_time(make_row: Any, known: Any) -> None:
    """They are counted, and nothing else."""
    rows = [make_row("1", status="unsupported", wall_seconds=0.01)]
    row = one_row(runtime_by_parameter(known(rows)[0], K), dataset=ALL)
    assert row["unsupported"] == 1
    assert pd.isna(row["mean_seconds"])


def test_anytime_by_parameter(tasks: pd.DataFrame, certified: pd.DataFrame) -> None:
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
    table = anytime_by_parameter(tasks, traces, certified, K)
    values = table[table["dataset"] == ALL].set_index("method")["mean_gap_over_time"]
    assert values["uniform"] == pytest.approx((0.75 + 1.0) / 2)
    assert values["fractional-load"] == pytest.approx((0.5 + 0.0) / 2)
    assert values["mip"] == pytest.approx(0.75)
    assert len(anytime_by_parameter(tasks, traces.iloc[:0], certified, K)) == 0
