"""Exact methods against all placements and all orders."""

import pytest
from brute_force_placement import instance, optimum
from hypothesis import given, settings
from other_process import call
from placement_strategies import instances
from published_data import published_data
from recording import Recorder, record
from tiny_placement import tiny

from boundmark.datasets.placement.moirai import DATASET
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.placement import PlacementInstance


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
    for sample, best in tiny()[::3]:
        check(sample, best, record("moirai-milp", sample, params={"solver": solver}))


@settings(deadline=None, max_examples=25)
@given(instances(most_nodes=4))
def test_the_linear_program_finds_the_optimum_of_random_instances(
    sample: PlacementInstance,
) -> None:
    """On up to three devices, some of them alike."""
    check(sample, optimum(sample), record("moirai-milp", sample))


def test_constraints_find_the_optimum_of_tiny_instances() -> None:
    """Of every fifth graph with up to four operators, costs of all kinds."""
    for sample, best in tiny()[1::5]:
        check(sample, best, call(record, "placement-cp", sample))


@settings(deadline=None, max_examples=25)
@given(instances(most_nodes=4))
def test_constraints_find_the_optimum_of_random_instances(sample: PlacementInstance) -> None:
    """On up to three devices, some of them alike."""
    check(sample, optimum(sample), call(record, "placement-cp", sample))


TWINS = instance(
    [[3, 3, 3]] * 4, [(0, 1), (0, 2), (0, 3)], times=[[0, 1, 1, 1, 0, 1, 1, 1, 0]],
    memory=[2, 1, 1, 1], capacity=[2, 2, 2],
)  # fmt: skip


def test_devices_that_are_alike() -> None:
    """Three of one kind, and memory that needs all of them."""
    check(TWINS, optimum(TWINS), record("moirai-milp", TWINS))
    check(TWINS, optimum(TWINS), call(record, "placement-cp", TWINS))


FULL = instance([[1, 1]] * 3, [], memory=[2, 2, 2], capacity=[3, 3])


def test_memory_that_cannot_be_enough() -> None:
    """Six units in all, and no way to share them out: the solver proves it."""
    with pytest.raises(UnsupportedError, match="do not fit into the devices' memory"):
        record("moirai-milp", FULL)
    with pytest.raises(UnsupportedError, match="do not fit into the devices' memory"):
        call(record, "placement-cp", FULL)


def test_large_graphs_are_refused() -> None:
    """Rather than building a program for minutes."""
    sample = instance([[1, 1]] * 500, [])
    with pytest.raises(UnsupportedError, match="500 operators would make the program too large"):
        record("moirai-milp", sample)


def test_the_published_example(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its optimum is 30, with transfers per edge as published."""
    monkeypatch.setenv("BOUNDMARK_DATA", str(published_data()))
    sample = PlacementInstance(DATASET.load("example-1"), "per-edge")
    check(sample, 30, call(record, "placement-cp", sample, seconds=120))
