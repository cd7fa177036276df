"""Lower bounds as a fraction of the best solution."""

from typing import Any

import pandas as pd
import pytest
from one_row import BOUND, one_row

from boundmark.reports.tables.bounds_by_parameter import BEST, bounds_by_parameter
from boundmark.reports.tables.grouping import ALL

K = "param_k"


def test_bounds_by_parameter(tasks: pd.DataFrame, certified: pd.DataFrame) -> None:
    """Certified: share sqrt(10/20 * 8/8), max-work sqrt(3/20 * 4/8); claimed: mip 6/8 on b."""
    table = bounds_by_parameter(tasks, certified, K)
    share = one_row(table, dataset="zoo", method="share")
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
