"""How good methods are on the way."""

import pandas as pd
import pytest

from boundmark.reports.tables.anytime_by_parameter import anytime_by_parameter
from boundmark.reports.tables.grouping import ALL

K = "param_k"


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
    assert values["share"] == pytest.approx((0.5 + 0.0) / 2)
    assert values["mip"] == pytest.approx(0.75)
    assert len(anytime_by_parameter(tasks, traces.iloc[:0], certified, K)) == 0
