"""Parameters of instances as columns."""

import json
from typing import Any

import pandas as pd
import pytest

from boundmark.problems.errors import StoreError
from boundmark.reports.tables.parameters import (
    in_order,
    parameter_names,
    values_in_order,
    with_parameter_columns,
)
from boundmark.reports.tables.tasks import certified_table


def columns_of(*given: dict[str, Any]) -> pd.DataFrame:
    """Return the columns of instances with these parameters."""
    texts = [json.dumps(parameters) for parameters in given]
    return with_parameter_columns(pd.DataFrame({"instance_params": texts}))


def test_integers_stay_integers_where_values_are_missing() -> None:
    """Also those that a floating-point number cannot hold."""
    column = columns_of({"size": 2**60 + 1}, {}, {"size": 3})["param_size"]
    assert column.dtype == "Int64"
    assert column.tolist() == [2**60 + 1, pd.NA, 3]
    assert values_in_order(column) == [3, 2**60 + 1]


def test_names_are_in_the_order_people_expect() -> None:
    """Numbers within them by value."""
    column = columns_of(*({"mode": mode} for mode in ("v10", "peak", "v9", "peak")))["param_mode"]
    assert values_in_order(column) == ["peak", "v9", "v10"]


@pytest.mark.parametrize("value", [0.5, True, [1, 2], 2**70])
def test_what_is_neither_is_text(value: Any) -> None:
    """So that it can be stored and shown beside integers and names."""
    column = columns_of({"x": value}, {"x": 3})["param_x"]
    assert set(values_in_order(column)) == {str(value), "3"}


def test_columns_of_parameters_that_do_not_occur_go() -> None:
    """A part of a table has no columns of the other parts' parameters."""
    both = columns_of({"size": 2}, {"mode": "peak"})
    assert parameter_names(both) == ["mode", "size"]
    assert parameter_names(with_parameter_columns(both.iloc[:1])) == ["size"]


def test_parameters_may_have_the_names_of_columns(make_row: Any, frame: Any) -> None:
    """An instance with a parameter called objective keeps its objective."""
    table = certified_table(
        frame([make_row("1", objective=5, instance_params='{"objective": "peak", "gap": 3}')])
    )
    assert table.loc[0, ["objective", "param_objective", "param_gap"]].tolist() == [5, "peak", 3]
    assert table.at[0, "parameters"] == "gap=3, objective=peak"


def test_rows_are_sorted_by_value() -> None:
    """Within data set and method."""
    values = ["v10", "v9", "v9"]
    table = pd.DataFrame({"dataset": "d", "method": ["a", "b", "a"], "param_mode": values})
    assert in_order(table, "param_mode")["param_mode"].tolist() == ["v9", "v10", "v9"]


def test_refuses_what_is_no_object() -> None:
    """The column and the text are named."""
    with pytest.raises(
        StoreError, match=r"instance_params of a result is '\[1\]'; expected a JSON"
    ):
        with_parameter_columns(pd.DataFrame({"instance_params": ["[1]"]}))
