"""What prices of time prove, and how they are found."""

import numpy as np
import pytest
from brute_force_placement import instance, optimum
from hypothesis import given, settings
from placement_strategies import instances
from recording import Recorder, record
from selection import examples

from boundmark.bounds import checker
from boundmark.bounds.best import Best
from boundmark.bounds.placement import time_prices
from boundmark.bounds.placement.interval_load import IntervalTicks
from boundmark.bounds.placement.series.method import ClosingIn
from boundmark.bounds.placement.time_prices import (
    TimePriceSettings,
    best_row,
    demand,
    offered,
    prices_at,
)
from boundmark.problems.method import Budget
from boundmark.problems.placement import PlacementInstance

FORK_JOIN = [(0, 1), (0, 2), (1, 3), (2, 3)]
SMALL = TimePriceSettings(least_operators=1)
ONCE = TimePriceSettings(least_operators=1, pieces=(16,))


def bounds(sample: PlacementInstance, chosen: TimePriceSettings = SMALL) -> list[int]:
    """Return the bounds that are reported; each has to be accepted as it is."""
    reports = Recorder()
    time_prices.run(sample, Budget(60), 1, reports, chosen)
    for report in reports.bounds:
        proven = checker.check_certificate(sample.to_json(), report.to_json())
        assert proven == report.bound
    return [int(report.bound) for report in reports.bounds]


def free(duration: list[list[int]]) -> IntervalTicks:
    """Return operators that wait for nothing."""
    ticks = np.array(duration, dtype=np.int64)
    return IntervalTicks(np.zeros_like(ticks), ticks, np.zeros_like(ticks))


def test_operators_that_cannot_be_divided() -> None:
    """Three equal operators take two devices as long as two; by loads, one and a half."""
    sample = instance([[600, 600]] * 3, [])
    assert 1140 < bounds(sample)[-1] <= 1200 == optimum(sample)
    assert max(int(b.bound) for b in record("interval-load", sample).bounds) == 900


def test_layers_that_are_the_same_are_bounded_at_once() -> None:
    """Two equal modules with branches of three operators each: the same rows are of both."""
    edges = [(0, v) for v in (1, 2, 3)] + [(v, 4) for v in (1, 2, 3)]
    both = [*edges, *((u + 4, v + 4) for u, v in edges)]
    rows = [[20, 20], *[[600, 600]] * 3]
    sample = instance([*rows, *rows, rows[0]], both)
    assert bounds(sample)[-1] > 2 * 1140
    reports = Recorder()
    time_prices.run(sample, Budget(60), 1, reports, ONCE)
    *layers, _ = reports.bounds[-1].to_json()["payload"]["intervals"]
    assert [(layer["first"], layer["last"]) for layer in layers] == [(0, 4), (4, 8)]
    assert layers[0]["prices"] == layers[1]["prices"]


def test_over_modules_that_were_searched() -> None:
    """Paths lead over both, and what the modules need is in the certificate."""
    rows = [[2, 3], [5, 6], [6, 5], [1, 2], *[[60, 60]] * 3, [2, 2]]
    edges = [*FORK_JOIN, *((3, v) for v in (4, 5, 6)), *((v, 7) for v in (4, 5, 6))]
    sample = instance(rows, edges, times=[[0, 3, 2, 0]])
    closing = ClosingIn.of(sample, Budget(60), Best(sample, Recorder()), "a test")
    closing.run()
    for part in closing.parts[2:]:
        for pair in list(part.proofs):
            part.forget(pair)
    reports = Recorder()
    time_prices.report_with_modules(sample, closing, Budget(60), Best(sample, reports), SMALL)
    found = reports.bounds[-1]
    assert closing.bound < found.bound
    assert checker.check_certificate(sample.to_json(), found.to_json()) == found.bound
    assert max(bounds(sample)) <= found.bound <= optimum(sample)
    assert any(interval["searches"] for interval in found.to_json()["payload"]["intervals"])


def test_what_says_nothing_of_the_whole_is_left_out() -> None:
    """A short module beside a long operator leaves no trace; the longest path alone is reported."""
    edges = [*FORK_JOIN, (0, 4), (4, 5), (3, 5)]
    rows = [[1, 1], [5, 5], [5, 5], [1, 1], [90, 90], [1, 1]]
    reports = Recorder()
    time_prices.run(instance(rows, edges), Budget(60), 1, reports, SMALL)
    assert [report.bound for report in reports.bounds] == [1 + 90 + 1]
    (whole,) = reports.bounds[0].to_json()["payload"]["intervals"]
    assert whole["prices"] == []


@settings(max_examples=examples(25), deadline=None)
@given(instances(most_nodes=4))
def test_never_above_the_optimum(sample: PlacementInstance) -> None:
    """Every report is accepted, and none is more than the best schedule takes."""
    assert max(bounds(sample), default=0) <= optimum(sample)


def test_prices_that_are_found_refute() -> None:
    """More is demanded than offered at the threshold, and about nothing more can be refuted."""
    ticks = free([[600, 600]] * 3)
    row = best_row(ticks, 600, Budget(60), 16)
    assert row is not None
    assert demand(ticks, row) > offered(row)
    assert row.threshold > 1140
    assert best_row(ticks, 1200, Budget(60), 16) is None


def test_operators_that_can_be_nowhere() -> None:
    """A threshold below the longest one is refuted whatever the prices are."""
    row = prices_at(free([[7, 9], [3, 3]]), 6, Budget(60), 16)
    assert row is not None
    assert demand(free([[7, 9], [3, 3]]), row) > offered(row) == 0


@pytest.mark.parametrize("chosen", [TimePriceSettings(most_columns=3), TimePriceSettings()])
def test_programs_are_given_up(chosen: TimePriceSettings) -> None:
    """A program that is too large is not solved, and none without time."""
    seconds = 60 if chosen.most_columns == 3 else 0
    assert prices_at(free([[6, 6]] * 3), 10, Budget(seconds), 16, chosen) is None
