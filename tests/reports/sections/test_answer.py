"""The first section of each problem: who is compared on equal terms, and who is not."""

from typing import Any

import pandas as pd
import pytest
from documented import append
from matplotlib.figure import Figure

from boundmark.reports.folder_results import read_folder
from boundmark.reports.report import part_of
from boundmark.reports.sections.answer import (
    MOST_DRAWN,
    draw_method_gaps,
    method_gap_data,
)
from boundmark.reports.stored.store import ResultStore
from boundmark.reports.tables.parameters import ALL


@pytest.fixture
def answer(tmp_path: Any, make_row: Any) -> Any:
    """Return the section of three instances, of which one method was given the first only."""
    store = ResultStore.create_or_open(tmp_path)
    for at, name in enumerate(("a", "b", "c")):
        for method, cost in (("plain", 30), ("quick", 40)):
            append(
                store, make_row(f"{name}{method}", instance=name, method=method, objective=cost), []
            )
        append(
            store,
            make_row(
                f"{name}bound",
                instance=name,
                method="bound",
                method_kind="bound",
                objective=None,
                bound_certified=20,
            ),
            [],
        )
        if at == 0:
            append(store, make_row("few", instance=name, method="few", objective=22), [])
    (part,) = [part_of(read_folder(store), "pipeline")]
    return part.sections[0]


def test_methods_on_equal_terms_come_first(answer: Any) -> None:
    """The method of one instance stands below, beside the best of the others there."""
    table = answer.tables[0]
    heads = list(table.columns)
    first, second = table.groups
    assert [group.heading[0].text for group in table.groups] == [
        "methods given all 3 instances", "methods given fewer",
    ]  # fmt: skip
    assert [row[0].text for row in first.rows] == ["plain", "quick"]
    gap, above = heads.index("gap (%)"), heads.index("best of first rows (%)")
    assert [(row[gap].text, row[gap].best) for row in first.rows] == [
        ("50.0", True), ("100.0", False),
    ]  # fmt: skip
    (few,) = second.rows
    assert (few[0].text, few[gap].text, few[above].text) == ("few", "10.0", "50.0")
    assert not few[gap].best
    assert "not ok" not in heads
    # The picture comes first, with a dot for each instance of each method; the one of the first
    # instance alone is last.
    assert answer.is_headline
    plot = answer.plots[0]
    assert plot.name == "pipeline/gap_by_method"
    assert list(dict.fromkeys(plot.data["method"])) == ["plain", "quick", "few"]
    assert plot.data.groupby("method")["gap"].count().to_dict() == {
        "few": 1,
        "plain": 3,
        "quick": 3,
    }
    assert plot.data.loc[plot.data["is_fewer"], "gap"].tolist() == pytest.approx([0.1])


def test_room_that_others_leave_is_for_methods_given_fewer() -> None:
    """Beside a single method that was given all, tools' rules are all drawn."""
    names = ["all", *(f"few-{at}" for at in range(20))]
    gaps = pd.DataFrame(
        {"role": "solutions", "dataset": ALL, "comparison": range(21), "method": names,
         "mean_gap": 0.1, "mean_seconds": 1.0}
    )  # fmt: skip
    each = pd.DataFrame({"role": "solutions", "method": names, "instance_sha256": "a", "gap": 0.1})
    found = method_gap_data(gaps, each, "solutions")
    assert found["method"].tolist() == names[:MOST_DRAWN]
    assert found["is_fewer"].tolist() == [False, *[True] * (MOST_DRAWN - 1)]
    many = method_gap_data(gaps.assign(comparison=[0] * 15 + [1] * 6), each, "solutions")
    assert many["is_fewer"].sum() == 6


@pytest.mark.parametrize("largest", [0.0, 0.004, 3.0, 500.0])
def test_axes_of_any_range_have_few_ticks(largest: float) -> None:
    """Tick labels are gaps in percent; 0 is always among them."""
    axes = Figure().subplots()
    data = pd.DataFrame(
        {"method": "m", "is_fewer": False, "seconds": 0.5, "instance_sha256": ["a", "b"],
         "gap": [0.0, largest]}
    )  # fmt: skip
    draw_method_gaps(data, axes)
    labels = [text.get_text() for text in axes.get_xticklabels()]
    assert labels[0] == "0"
    assert 1 <= len(labels) <= 15
    assert [text.get_text() for text in axes.get_yticklabels()] == ["m (0.500 s, n = 2)"]
