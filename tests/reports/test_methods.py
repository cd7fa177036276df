"""Solutions beside those of a baseline."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from boundmark.reports.methods import speedup_section, speedup_table
from boundmark.reports.tables.tasks import certified_of_tasks, with_names


@pytest.fixture
def tasks(make_row: Any, frame: Callable[[list[Any]], pd.DataFrame]) -> pd.DataFrame:
    """Return two instances that the baseline solved, with two seeds on one, and a third."""
    costs = [
        ("a", "base", 1, 12), ("a", "base", 2, 8), ("a", "other", 1, 5),
        ("b", "base", 1, 6), ("b", "other", 1, 9), ("c", "other", 1, 4),
        ("b", "none", 1, None),
    ]  # fmt: skip
    rows_of = [
        make_row(f"{i}{m}{s}", instance=i, method=m, seed=s, objective=cost)
        for i, m, s, cost in costs
    ]
    return with_names(frame(rows_of))


def test_quotients_by_hand(tasks: pd.DataFrame) -> None:
    """Seeds are averaged first: (12 + 8)/2 over 5; instances without baseline are left out."""
    table = speedup_table(tasks, certified_of_tasks(tasks), ["base"])
    found = table.set_index(["instance", "method"])["speedup"].to_dict()
    assert found == {
        ("a", "base"): 1.0, ("a", "other"): 2.0, ("b", "base"): 1.0, ("b", "other"): 6 / 9,
    }  # fmt: skip
    assert set(table["baseline"]) == {"base"}


def test_the_section_has_a_column_per_method(tasks: pd.DataFrame) -> None:
    """With geometric means below, and the best of each row marked."""
    section = speedup_section(speedup_table(tasks, certified_of_tasks(tasks), ["base"]))
    assert section is not None
    (table,) = section.tables
    assert table.columns == ("instance", "parameters", "other")
    assert [cell.text for cell in table.groups[0].rows[0]] == ["a", "k=2", "2.000"]
    assert [row[2].text for row in table.groups[1].rows] == [
        "1.155",
        "0.667 to 2.000",
        "2",
        "1.155",
    ]


def test_a_problem_without_the_baseline_has_no_table(tasks: pd.DataFrame) -> None:
    """Other problems of the folder may have it."""
    table = speedup_table(tasks, certified_of_tasks(tasks), ["elsewhere"])
    assert table.empty
    assert speedup_section(table) is None


def test_the_next_baseline_serves_where_the_first_has_no_solution(tasks: pd.DataFrame) -> None:
    """And the table says where."""
    table = speedup_table(tasks, certified_of_tasks(tasks), ["elsewhere", "base", "other"])
    found = table.set_index(["instance", "method"])[["baseline", "speedup"]].to_dict("index")
    assert found["c", "other"] == {"baseline": "other", "speedup": 1.0}
    assert found["a", "other"] == {"baseline": "base", "speedup": 2.0}
    section = speedup_section(table)
    assert section is not None
    assert "Where base has no solution, the baseline is other (1 instance)." in (
        section.tables[0].notes
    )
