"""Statistics of methods and of pairs, over rows whose numbers are computed by hand."""

from typing import Any

import pandas as pd
import pytest
from one_row import BOUND, one_row

from boundmark.reports.sections.statistics import statistics_section
from boundmark.reports.tables.method_gaps import method_gaps
from boundmark.reports.tables.method_pairs import method_pairs
from boundmark.reports.tables.method_statistics import method_statistics


@pytest.fixture
def tables(make_row: Any, known: Any) -> Any:
    """Return the tables of two instances, of which `fast` fails on one."""
    tasks, certified = known(
        [
            make_row("1", instance="a", method="fast", objective=20, wall_seconds=1.0),
            make_row("2", instance="b", method="fast", status="timeout", wall_seconds=10.0),
            make_row("3", instance="a", method="slow", objective=10, wall_seconds=8.0),
            make_row("4", instance="b", method="slow", objective=7, wall_seconds=9.0),
            make_row("5", instance="a", method="share", bound_certified=5, **BOUND),
        ]
    )
    events = [
        ("1", 5.0, "solution", 20.0),
        ("3", 2.0, "solution", 10.0),
        ("5", 0, "bound_certified", 5.0),
    ]
    traces = pd.DataFrame(events, columns=["task_id", "seconds", "kind", "value"])
    return {
        "method_statistics": method_statistics(tasks, traces, certified),
        "pairs": method_pairs(tasks),
        "method_gaps": method_gaps(tasks, certified),
    }


def test_methods_by_hand(tables: Any) -> None:
    """A failed task counts with 100 s; before the first solution, the gap is 1."""
    found = tables["method_statistics"]
    solutions = found[(found["role"] == "solutions") & (found["comparison"] == 0)]
    fast, slow = (one_row(solutions, method=name) for name in ("fast", "slow"))
    assert (fast["instances"], fast["par10_seconds"]) == (2, 50.5)
    assert slow["par10_seconds"] == 8.5
    # On a: 1 for 5 s, then (20 - 10)/20; on b: 1 throughout.
    assert fast["primal_integral"] == pytest.approx((0.75 + 1) / 2)
    assert slow["primal_integral"] == pytest.approx((0.2 + 1) / 2)
    assert (fast["best_share"], slow["best_share"]) == (0.0, 1.0)
    assert (fast["only_best"], slow["only_best"]) == (0, 2)
    assert slow["virtual_best_loss"] == pytest.approx(1.0)
    share = one_row(found[found["role"] == "bounds"], method="share")
    assert share["dual_integral"] == pytest.approx(0.5)


def test_pairs_by_hand(tables: Any) -> None:
    """Over the one instance that both solved."""
    pair = one_row(tables["pairs"], method="fast", other="slow")
    assert (pair["instances"], pair["wins"], pair["ties"], pair["losses"]) == (1, 0, 0, 1)
    assert pair["mean_ratio"] == pytest.approx(2.0)
    assert pair["p_value"] == pair["p_holm"] == 1.0


def test_the_page_holds_the_best_against_all_others(tables: Any) -> None:
    """Whatever the order of their names."""
    section = statistics_section(tables)
    assert section is not None
    table = next(table for table in section.tables if "against" in table.title)
    assert table.title == "slow against each other method: solutions"
    (line,) = table.groups[0].rows
    assert [cell.text for cell in line] == ["fast", "1", "1", "0", "0", "0.5000", "1.000"]
