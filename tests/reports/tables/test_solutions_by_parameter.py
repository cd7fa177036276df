"""Solutions relative to a bound."""

from typing import Any

import pandas as pd
import pytest
from one_row import BOUND, one_row

from boundmark.reports.tables.grouping import ALL
from boundmark.reports.tables.solutions_by_parameter import (
    best_certified_bounds,
    solutions_by_parameter,
)

K = "param_k"


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
        make_row("1", instance="a", method="share", bound_certified=7, **BOUND),
        make_row("2", instance="b", method="share", bound_certified=0, **BOUND),
        make_row("3", instance="c", objective=5),
    ]
    assert best_certified_bounds(known(rows)[1]).tolist() == [7.0]
