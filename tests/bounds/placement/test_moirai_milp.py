"""Moirai's program against all placements and all orders, and the schedule that it begins with."""

import random

import numpy as np
import pytest
from brute_force_placement import instance, least_makespan, optimum
from hypothesis import given, settings
from placement_strategies import instances
from recording import Recorder, record
from selection import examples
from tiny_placement import LIVE, tiny

from boundmark.bounds.mip.linear_model import LinearModel
from boundmark.bounds.mip.solving import ModelTooLargeError, Outcome, Search, rounded_up
from boundmark.bounds.placement import moirai_milp
from boundmark.bounds.placement.moirai_program import (
    best_durations,
    first_uses,
    heads_and_tails,
    relabelled,
    twin_classes,
)
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.placement import PlacementInstance
from boundmark.problems.placement.simulation import in_order


def modelled() -> list[tuple[PlacementInstance, int]]:
    """Return the tiny instances of which the programs model all: not what is live."""
    return [(sample, best) for sample, best in tiny() if not sample.graph.is_live]


def check(sample: PlacementInstance, best: float, recorder: Recorder) -> None:
    """Check that the optimum was found and claimed, and nothing more was."""
    objectives = [sample.objective(solution) for solution in recorder.solutions]
    assert objectives[-1] == best
    claimed = [bound.bound for bound in recorder.bounds][-1]
    assert claimed <= best
    # Solvers stop at a gap of 1e-6 and accept rows that are broken by as much.
    assert claimed == pytest.approx(best, abs=1e-5)


@pytest.mark.parametrize("solver", ["highs", "scip"])
def test_the_linear_program_finds_the_optimum_of_tiny_instances(solver: str) -> None:
    """Of every third graph with up to four operators, costs of all kinds."""
    for sample, best in modelled()[::3]:
        check(sample, best, record("moirai-milp", sample, params={"solver": solver}))


@settings(deadline=None, max_examples=examples(25))
@given(instances(most_nodes=4))
def test_the_linear_program_finds_the_optimum_of_random_instances(
    sample: PlacementInstance,
) -> None:
    """On up to three devices, some of them alike."""
    check(sample, optimum(sample), record("moirai-milp", sample))


TWINS = instance(
    [[3, 3, 3]] * 4, [(0, 1), (0, 2), (0, 3)], times=[[0, 1, 1, 1, 0, 1, 1, 1, 0]],
    memory=[2, 1, 1, 1], capacity=[2, 2, 2],
)  # fmt: skip


def test_devices_that_are_alike() -> None:
    """Three of one kind, and memory that needs all of them."""
    check(TWINS, optimum(TWINS), record("moirai-milp", TWINS))


# The first operator takes 9 ticks on the device where the last but one is fastest.
SLOWER_ELSEWHERE = instance(
    [[1, 9, 3], [3, -1, 3], [-1, 2, 2], [9, 2, 3], [1, 9, 1]], [(1, 3), (1, 4), (2, 3), (2, 4)],
    times=[[0, 4, 3, 6, 0, 6, 2, 4, 0], [0, 2, 3, 3, 0, 3, 1, 0, 0], [0, 1, 4, 0, 0, 3, 0, 2, 0]],
    memory=[2, 3, 0, 1, 3], capacity=[7, 5, 9],
)  # fmt: skip


@pytest.mark.parametrize("solver", ["highs", "scip"])
def test_orders_on_a_slow_device_do_not_bind_elsewhere(solver: str) -> None:
    """Of 5 ticks; rows for the slow device once cut all schedules of less than 7 off."""
    recorder = record("moirai-milp", SLOWER_ELSEWHERE, params={"solver": solver})
    assert optimum(SLOWER_ELSEWHERE) == 5
    check(SLOWER_ELSEWHERE, 5, recorder)


FULL = instance([[1, 1]] * 3, [], memory=[2, 2, 2], capacity=[3, 3])


def test_memory_that_cannot_be_enough() -> None:
    """Six units in all, and no way to share them out: the solver proves it."""
    with pytest.raises(UnsupportedError, match="do not fit into the devices' memory"):
        record("moirai-milp", FULL)


def test_what_is_live_is_left_out_of_the_program() -> None:
    """So claims are at most the optimum; what is found has room."""
    for sample in LIVE:
        found, best = record("moirai-milp", sample), optimum(sample)
        assert all(sample.objective(solution) >= best for solution in found.solutions)
        assert all(bound.bound <= best for bound in found.bounds)


def test_claims_are_integers() -> None:
    """What a solver says of 12 is 12, and more than 12 is 13."""
    said = (11.999999, 12.0, 12.0000001, 12.01, float("inf"), float("-inf"))
    assert [rounded_up(ticks) for ticks in said] == [12, 12, 12, 13, said[-2], said[-1]]


def test_a_licence_that_ends_at_small_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows are halved until it covers them; where it covers none, that is said."""
    highs, sizes = moirai_milp.SOLVERS["highs"], []

    def limited(most: int) -> None:
        def solve(model: LinearModel, search: Search) -> Outcome:
            sizes.append(model.columns)
            if model.columns > most:
                raise ModelTooLargeError(f"no licence for {model.columns} columns.")
            return highs(model, search)

        monkeypatch.setitem(moirai_milp.SOLVERS, "limited", solve)

    # Eight pairs in parallel, all on the first device at the start.
    sample = instance(
        [[4, 5]] * 16, [(v, v + 8) for v in range(8)], times=[[0, 1, 1, 0]],
        memory=[1] * 16, capacity=[16, 16],
    )  # fmt: skip
    limited(120)
    found = record("moirai-milp", sample, params={"solver": "limited"}, seconds=20)
    assert sizes[0] > 120
    assert any(size <= 120 for size in sizes)
    assert not found.bounds
    assert found.solutions
    with pytest.raises(ModelTooLargeError, match="no licence for"):
        record("moirai-milp", sample, params={"solver": "limited", "whole": True})
    limited(1)
    with pytest.raises(ModelTooLargeError, match="no licence for"):
        record("moirai-milp", sample, params={"solver": "limited"})


def test_the_program_of_the_whole_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where windows are the default, only it has a bound."""
    monkeypatch.setattr(moirai_milp, "MOST_PAIRS", -1)
    assert not record("moirai-milp", TWINS).bounds
    check(TWINS, optimum(TWINS), record("moirai-milp", TWINS, params={"whole": True}))


@pytest.mark.slow
@pytest.mark.parametrize("transfers", ["per-tensor", "per-edge"])
def test_windows(transfers: str) -> None:
    """Where the whole is too large, windows find better schedules than the one they begin with."""
    dice = random.Random(3)
    nodes = 500
    edges = sorted(
        {(max(0, v - dice.randrange(1, 9)), v) for v in range(1, nodes) for _ in range(2)}
    )
    sample = instance(
        [[dice.randrange(1, 9), dice.randrange(1, 9)] for _ in range(nodes)], edges,
        times=[[0, 2, 3, 0]], memory=[1] * nodes, capacity=[400, 200], transfers=transfers,
    )  # fmt: skip
    found = record("moirai-milp", sample, seconds=20)
    makespans = [sample.objective(solution) for solution in found.solutions]
    assert len(makespans) > 1
    assert makespans == sorted(makespans, reverse=True)
    assert not found.bounds


@settings(deadline=None, max_examples=examples(50))
@given(instances(most_nodes=4))
def test_the_order_of_an_optimum_gives_an_optimum(sample: PlacementInstance) -> None:
    """The quick schedule is a schedule, and no better than the best one on its devices."""
    schedule = moirai_milp.quick_schedule(sample)
    assert schedule is not None
    assert sample.objective(schedule) >= least_makespan(sample, schedule.devices.tolist())


def test_where_memory_is_short() -> None:
    """Where operators end first there is no room; elsewhere there is, or nothing is found."""
    sample = instance([[1, 9]] * 4, [], memory=[3, 3, 2, 4], capacity=[6, 6])
    schedule = moirai_milp.quick_schedule(sample)
    assert schedule is not None
    assert sample.objective(schedule) > 0
    assert (
        moirai_milp.quick_schedule(instance([[1, 1]] * 3, [], memory=[2, 2, 2], capacity=[3, 3]))
        is None
    )


def test_longest_schedule() -> None:
    """All on the worst devices, and every consumer's transfer on the worst way."""
    sample = instance(
        [[4, 3], [2, -1], [9, 5], [1, 1]], [(0, 1), (0, 2), (1, 3), (2, 3)], times=[[0, 2, 7, 0]]
    )
    assert moirai_milp.longest_schedule(sample.graph) == 4 + 2 + 9 + 1 + 4 * 7


SAMPLE = instance(
    [[4, 3], [2, -1], [9, 5], [1, 1]], [(0, 1), (0, 2), (1, 3), (2, 3)],
    times=[[0, 2, 7, 0]], memory=[1, 1, 5, 1], capacity=[9, 4],
)  # fmt: skip


def test_windows_by_hand() -> None:
    """Best durations on devices with room, before and after each operator."""
    assert best_durations(SAMPLE.graph).tolist() == [3, 2, 9, 1]
    head, tail = heads_and_tails(SAMPLE.graph)
    assert head.tolist() == [0, 3, 3, 12]
    assert tail.tolist() == [10, 1, 1, 0]


ALIKE = [0, 1, 1, 1, 0, 1, 1, 1, 0]


@pytest.mark.parametrize(
    ("sample", "expected"),
    [
        (instance([[2, 2, 2]], []), [[0, 1, 2]]),
        (instance([[2, 2, 3]], []), [[0, 1]]),
        (instance([[2, 2, 2]], [], capacity=[1, 2, 1]), [[0, 2]]),
        # The way from 0 to 1 is longer than back: only 0 and 1 are not alike.
        (instance([[2, 2], [2, 2]], [(0, 1)], times=[[0, 2, 1, 0]]), []),
        (instance([[2, 2], [2, 2]], [(0, 1)], times=[[0, 2, 2, 0]]), [[0, 1]]),
        # Device 2 is nearer to 0 than to 1.
        (instance([[2, 2, 2]] * 2, [(0, 1)], times=[[0, 5, 1, 5, 0, 5, 1, 5, 0]]), [[0, 2]]),
    ],
)
def test_twins(sample: PlacementInstance, expected: list[list[int]]) -> None:
    """They have the same durations, memory, and ways to all others."""
    assert twin_classes(sample.graph) == expected


@pytest.mark.parametrize("transfers", ["per-tensor", "per-edge"])
def test_exchanging_twins(transfers: str) -> None:
    """Costs nothing, and brings them into the order of their first use."""
    sample = instance([[2, 2, 2]] * 3, [(0, 1), (0, 2)], times=[ALIKE], transfers=transfers)
    before = in_order(sample, np.array([2, 2, 0]), [0, 1, 2])
    after = relabelled(sample, before)
    assert after.devices.tolist() == [0, 0, 1]
    assert sample.objective(after) == sample.objective(before)
    for v, d, earlier, e in first_uses(sample.graph):
        assert after.devices[v] != d or e in after.devices[list(earlier)]
