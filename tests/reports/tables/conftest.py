"""Two instances small enough to compute every table by hand."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest
from one_row import BOUND

from boundmark.reports.tables.parameters import with_parameter_columns
from boundmark.reports.tables.tasks import certified_table, with_names

Known = Callable[[list[dict[str, Any]]], tuple[pd.DataFrame, pd.DataFrame]]


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
            "a6",
            instance="a",
            method="fractional-load",
            bound_certified=10,
            bound_kind="share/1",
            **BOUND,
        ),
        make_row("b1", instance="b", method="uniform", status="oom", wall_seconds=0.5),
        make_row("b2", instance="b", method="brkga", seed=1, objective=8),
        make_row("b3", instance="b", method="max-work", bound_certified=4, **BOUND),
        make_row("b4", instance="b", method="mean-work", bound_certified=2, **BOUND),
        make_row(
            "b5",
            instance="b",
            method="fractional-load",
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
def known(frame: Any) -> Known:
    """Return the function that makes tasks and certified table of rows, with parameter columns."""

    def tables(rows: list[dict[str, Any]]) -> tuple[pd.DataFrame, pd.DataFrame]:
        results = frame(rows)
        return with_parameter_columns(with_names(results)), certified_table(results)

    return tables


@pytest.fixture
def tasks(rows: Any, known: Known) -> pd.DataFrame:
    """Return the two instances' tasks."""
    return known(rows)[0]


@pytest.fixture
def certified(rows: Any, known: Known) -> pd.DataFrame:
    """Return what is known of the two instances."""
    return known(rows)[1]
