"""Claims that a verified solution contradicts."""

from typing import Any

import pytest
from one_row import one_row

from boundmark.reports.tables.bounds_by_parameter import bounds_by_parameter
from boundmark.reports.tables.claims import contradicted_claims
from boundmark.reports.tables.grouping import ALL

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
    assert list(contradicted_claims(tasks, table)["task_id"]) == ["4"]
    row = one_row(bounds_by_parameter(tasks, table, K), dataset=ALL, method="mip")
    assert row["claimed_delivered"] == 1
    assert row["claimed_mean"] == pytest.approx(1.0)
    assert row["certified_delivered"] == 0
