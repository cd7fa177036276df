"""What prices of work and transfers prove, and how they are found."""

from typing import Any

from brute_force_placement import instance, optimum
from hypothesis import given, settings
from placement_strategies import instances
from recording import Recorder, record
from selection import examples

from boundmark.bounds import checker
from boundmark.bounds.best import Best
from boundmark.bounds.placement import port_prices
from boundmark.bounds.placement.port_prices import Between, PortPriceSettings, best_row
from boundmark.bounds.placement.series.method import ClosingIn
from boundmark.problems.method import Budget
from boundmark.problems.placement import PlacementInstance

SMALL = PortPriceSettings(least_operators=1)
# Pairs of operators, each fast on another device than the other, with a long transfer in between.
COUNT = 6
APART = instance(
    [[100, 300]] * COUNT + [[300, 100]] * COUNT,
    [(v, v + COUNT) for v in range(COUNT)],
    times=[[0, 250, 250, 0]],
)


def bounds(sample: PlacementInstance, chosen: PortPriceSettings = SMALL) -> list[int]:
    """Return the bounds that are reported; each has to be accepted as it is."""
    reports = Recorder()
    port_prices.run(sample, Budget(60), 1, reports, chosen)
    for report in reports.bounds:
        proven = checker.check_certificate(sample.to_json(), report.to_json())
        assert proven == report.bound
    return [int(report.bound) for report in reports.bounds]


def between(sample: PlacementInstance, likeness: int = 2) -> Between:
    """Return the whole schedule as an interval."""
    closing = ClosingIn.of(sample, Budget(60), Best(sample, Recorder()), "a test")
    return Between.of(closing.read, closing.network, -1, -1, likeness)


def test_operators_that_exchange_tensors_keep_together() -> None:
    """By loads, each operator is on its fast device, as if nothing had to be sent."""
    by_loads = max(int(b.bound) for b in record("interval-load", APART).bounds)
    assert by_loads == COUNT * 100
    # With p of the pairs apart, devices work for 1,200 - 600 p, and a port sends for 1,500 p.
    assert 850 < bounds(APART)[-1] <= 1_200 - 600 * 4 / 7 + 1


def test_transfers_of_a_module_that_is_not_searched() -> None:
    """An interval of the chain is bounded with its ends, and counts along the chain."""
    edges = [(0, v + 1) for v in range(COUNT)]
    edges += [(v + 1, v + COUNT + 1) for v in range(COUNT)]
    edges += [(v + COUNT + 1, 2 * COUNT + 1) for v in range(COUNT)]
    rows = [[9, 9], *[[100, 300]] * COUNT, *[[300, 100]] * COUNT, [9, 9]]
    sample = instance(rows, edges, times=[[0, 250, 250, 0]])
    reports = Recorder()
    port_prices.run(sample, Budget(60), 1, reports, SMALL)
    documents: list[dict[str, Any]] = reports.bounds[-1].to_json()["payload"]["intervals"]
    assert any(interval["ports"] for interval in documents)
    proven = checker.check_certificate(sample.to_json(), reports.bounds[-1].to_json())
    loads = max(int(b.bound) for b in record("interval-load", sample).bounds)
    assert proven == reports.bounds[-1].bound > loads


@settings(max_examples=examples(40), deadline=None)
@given(instances(most_nodes=4))
def test_never_above_the_optimum(sample: PlacementInstance) -> None:
    """Every report is accepted, and none is more than the best schedule takes."""
    assert max(bounds(sample), default=0) <= optimum(sample)


@settings(max_examples=examples(25), deadline=None)
@given(instances(most_nodes=8))
def test_what_is_found_is_accepted(sample: PlacementInstance) -> None:
    """After rounding, no tensor hands over more than its transfers pay."""
    bounds(sample)


def test_equal_operators_are_one() -> None:
    """However many pairs there are, their readings are one group, and their ends two sorts."""
    found = between(APART)
    assert found.groups == [0] * COUNT
    row = best_row(found, (0, 0), 0, Budget(60))
    assert row is not None
    assert len(row.near) == len(row.far) == 1


def test_readings_of_unlike_neighbours_are_told_apart() -> None:
    """Two chains that differ in their last operator only: the first reading is not the same."""
    sample = instance([[5], [5], [5], [5], [5], [7]], [(0, 1), (1, 2), (3, 4), (4, 5)])
    assert between(sample, likeness=0).groups == [0, 0, 0, 1]
    assert len(set(between(sample, likeness=1).groups)) == 4


def test_too_large_programs_are_left_out() -> None:
    """Nothing but the longest path is reported then."""
    assert bounds(APART, PortPriceSettings(least_operators=1, most_columns=10)) == [400]


def test_no_program_is_begun_after_the_time() -> None:
    """With the time up, there is no row."""
    assert best_row(between(APART), (0, 0), 0, Budget(0)) is None
