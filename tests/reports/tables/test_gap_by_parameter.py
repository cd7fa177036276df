"""The mean gap."""

import pandas as pd
import pytest
from one_row import one_row

from boundmark.reports.tables.gap_by_parameter import gap_by_parameter
from boundmark.reports.tables.grouping import ALL

K = "param_k"


def test_gap_by_parameter(certified: pd.DataFrame) -> None:
    """The mean of the ratios 2 and 1 is sqrt(2); b is optimal."""
    row = one_row(gap_by_parameter(certified, K), dataset=ALL, param_k=2)
    assert (row["instances"], row["bounded"], row["optimal"]) == (2, 2, 1)
    assert row["mean_gap"] == pytest.approx(2**0.5 - 1)
    assert row["mean_quality"] == pytest.approx(0.5**0.5)
    assert (row["mean_gap_low"], row["mean_gap_high"]) == pytest.approx((0.0, 1.0))
