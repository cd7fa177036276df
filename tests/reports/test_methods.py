"""Solutions beside those of a baseline."""

import math
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from boundmark.reports.methods import speedup_means, speedup_section, speedup_table
from boundmark.reports.pages.page import Section
from boundmark.reports.tables.tasks import certified_of_tasks, with_names
from boundmark.reports.text import MISSING


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


def sectioned(speedups: pd.DataFrame) -> Section | None:
    """Return the section of a table of speedups."""
    return speedup_section(speedups, speedup_means(speedups))


def test_quotients_by_hand(tasks: pd.DataFrame) -> None:
    """Seeds are averaged first: (12 + 8)/2 over 5; instances without baseline are left out."""
    table = speedup_table(tasks, certified_of_tasks(tasks), ["base"])
    found = table.set_index(["instance", "method"])["speedup"].to_dict()
    assert found == {
        ("a", "base"): 1.0, ("a", "other"): 2.0, ("b", "base"): 1.0, ("b", "other"): 6 / 9,
    }  # fmt: skip
    assert set(table["baseline"]) == {"base"}


def test_means_by_hand(tasks: pd.DataFrame) -> None:
    """Over what the method solved, and over what all did, with the ends of resampled pairs."""
    costs = {"c": {"base": 8, "slow": 16}, "d": {"base": 4, "other": 1, "slow": 8}}
    more = tasks.iloc[:5].copy()
    more["instance"], more["method"], more["seed"] = [*"ccddd"], [*costs["c"], *costs["d"]], 1
    more["objective"] = [cost for own in costs.values() for cost in own.values()]
    more["instance_sha256"] = more["instance"] * 64
    more["dataset"] = "second"
    both = pd.concat([tasks[tasks["instance"] != "c"], more], ignore_index=True)
    means = speedup_means(speedup_table(both, certified_of_tasks(both), ["base"]))
    found = means.set_index(["dataset", "method"]).to_dict("index")
    of_all, of_second = found["all data sets", "other"], found["second", "other"]
    # 2 and 6/9 in the first data set, 4 in the second: the mean is the cube root of their product.
    assert of_all["instances"] == 3
    assert of_all["mean_speedup"] == pytest.approx((2 * 6 / 9 * 4) ** (1 / 3))
    # So few resample to all of one kind, which is more than one in forty.
    assert of_all["mean_speedup_low"] == pytest.approx(6 / 9)
    assert of_all["mean_speedup_high"] == pytest.approx(4)
    # All three methods solved d alone.
    assert (of_all["common"], of_all["common_mean_speedup"]) == (1, pytest.approx(4))
    assert math.isnan(of_all["common_mean_speedup_low"])
    assert (of_second["instances"], of_second["mean_speedup"]) == (1, pytest.approx(4))
    assert math.isnan(of_second["mean_speedup_high"])
    assert found["second", "slow"]["mean_speedup"] == pytest.approx(0.5)
    assert found["second", "base"]["mean_speedup"] == 1
    assert ("onnx-light", "slow") not in found
    assert set(means["baseline"]) == {"base"}


def test_the_section_has_a_column_per_method(tasks: pd.DataFrame) -> None:
    """With geometric means below."""
    section = sectioned(speedup_table(tasks, certified_of_tasks(tasks), ["base"]))
    assert section is not None
    (table,) = section.tables
    assert table.columns == ("instance", "parameters", "other")
    assert [cell.text for cell in table.groups[0].rows[0]] == ["a", "k=2", "2.000"]
    mean, n, common = table.groups[1].rows
    assert [cell.text for cell in mean] == ["mean, all data sets", "", "1.155"]
    # Of two instances, there is no interval.
    assert mean[2].detail == ""
    assert [cell.text for cell in n] == ["n", "", "2"]
    assert [cell.text for cell in common] == ["mean, common", "n = 2", "1.155"]


def test_each_data_set_of_several_has_its_means(tasks: pd.DataFrame) -> None:
    """Below its instances; a method that solved none of them has none."""
    more = tasks.assign(dataset="second", instance_sha256=tasks["instance_sha256"].str[::-1])
    both = pd.concat([tasks, more[more["method"] == "base"]], ignore_index=True)
    section = sectioned(speedup_table(both, certified_of_tasks(both), ["base"]))
    assert section is not None
    first, second, _ = section.tables[0].groups
    assert [[cell.text for cell in row] for row in first.rows[2:]] == [
        [f"mean, {tasks['dataset'].iloc[0]}", "", "1.155"], ["n", "", "2"],
        ["mean, common", "n = 2", "1.155"],
    ]  # fmt: skip
    assert [row[2].text for row in second.rows[-3:]] == [MISSING] * 3


def test_a_problem_without_the_baseline_has_no_table(tasks: pd.DataFrame) -> None:
    """Other problems of the folder may have it."""
    table = speedup_table(tasks, certified_of_tasks(tasks), ["elsewhere"])
    assert table.empty
    assert sectioned(table) is None


def test_the_next_baseline_serves_where_the_first_has_no_solution(tasks: pd.DataFrame) -> None:
    """And the table says where."""
    table = speedup_table(tasks, certified_of_tasks(tasks), ["elsewhere", "base", "other"])
    found = table.set_index(["instance", "method"])[["baseline", "speedup"]].to_dict("index")
    assert found["c", "other"] == {"baseline": "other", "speedup": 1.0}
    assert found["a", "other"] == {"baseline": "base", "speedup": 2.0}
    section = sectioned(table)
    assert section is not None
    assert "Where base has no solution, the baseline is other (1 instance)." in (
        section.tables[0].notes
    )
