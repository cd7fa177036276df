"""Time that methods take."""

from typing import Any

import pandas as pd
import pytest
from one_row import one_row

from boundmark.reports.tables.grouping import ALL
from boundmark.reports.tables.runtime_by_parameter import runtime_by_parameter

K = "param_k"


def test_runtime_by_parameter(tasks: pd.DataFrame) -> None:
    """An early death costs the limit, seeds are averaged, and the shift is one second."""
    table = runtime_by_parameter(tasks, K)
    uniform = one_row(table, dataset=ALL, method="uniform")
    assert uniform["mean_seconds"] == pytest.approx((2 * 11) ** 0.5 - 1)
    assert uniform["largest_seconds"] == 10.0
    share = one_row(table, dataset=ALL, method="share")
    assert share["mean_seconds"] == pytest.approx((2 * 11.5) ** 0.5 - 1)
    assert one_row(table, dataset=ALL, method="brkga")["instances"] == 2


def test_unsupported_tasks_have_no_time(make_row: Any, known: Any) -> None:
    """They are counted, and nothing else."""
    rows = [make_row("1", status="unsupported", wall_seconds=0.01)]
    row = one_row(runtime_by_parameter(known(rows)[0], K), dataset=ALL)
    assert row["unsupported"] == 1
    assert pd.isna(row["mean_seconds"])
