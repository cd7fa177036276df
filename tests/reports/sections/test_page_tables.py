"""Page tables with one row per method and one column per value."""

import pandas as pd

from boundmark.reports.problem_report import Grouping
from boundmark.reports.sections.page_tables import Shown, methods_by_parameter
from boundmark.reports.stored.statuses import STATUSES

GROUPING = Grouping("size")


def frame() -> pd.DataFrame:
    """Return two methods at two sizes; one delivered on 1 of 3 instances at the larger one."""
    rows = [
        ("a-2", 8, 3, 3, 1.5, 1),
        ("a-10", 8, 3, 3, 1.2, 2),
        ("a-2", 16, 3, 3, 1.4, 0),
        ("a-10", 16, 3, 1, 1.1, 0),
    ]
    columns = ["method", "param_size", "instances", "delivered", "mean", "wins"]
    counts = dict.fromkeys(STATUSES, 0) | {"ok": 3, "oom": 1}
    return pd.DataFrame(rows, columns=columns).assign(dataset="zoo", **counts)


def test_cells_say_on_how_many_instances_a_method_delivered() -> None:
    """And the best of a column is marked only where all delivered everywhere."""
    shown = Shown("mean", "{:.1f}".format, delivered="delivered", smaller_is_better=True)
    table = methods_by_parameter(frame(), GROUPING, "Title", shown, ["A note."])
    assert table.columns == ("method", "size = 8", "size = 16", "not ok")
    (group,) = table.groups
    assert [cell.text for cell in group.heading] == ["zoo", "n = 3", "n = 3", ""]
    assert [[cell.text for cell in row] for row in group.rows] == [
        ["a-2", "1.5", "1.4", "2\N{NO-BREAK SPACE}oom"],
        ["a-10", "1.2", "1.1", "2\N{NO-BREAK SPACE}oom"],
    ]
    assert [[cell.best for cell in row[1:3]] for row in group.rows] == [
        [False, False],
        [True, False],
    ]
    assert [row[2].detail for row in group.rows] == ["", "1/3"]


def test_totals_stand_at_the_right_and_one_method_last() -> None:
    """The last one is compared with nobody."""
    shown = Shown(
        "mean", "{:.1f}".format, smaller_is_better=True, totals=("wins",), last="a-2",
        with_statuses=False,
    )  # fmt: skip
    table = methods_by_parameter(frame(), GROUPING, "Title", shown, [])
    assert table.columns == ("method", "size = 8", "size = 16", "wins")
    (group,) = table.groups
    assert [(row[0].text, row[3].text) for row in group.rows] == [("a-10", "2"), ("a-2", "1")]
    assert not any(cell.best for row in group.rows for cell in row)
    assert table.is_number(3)
