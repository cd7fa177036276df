import numpy as np
from brute_force_placement import instance
from hypothesis import given, settings
from hypothesis import strategies as st
from placement_strategies import instances
from recording import Recorder
from selection import examples

from boundmark.bounds import checker
from boundmark.heuristics.placement.incumbent import PlacementIncumbent
from boundmark.problems.placement import PlacementInstance
from boundmark.problems.placement.compiled import time_to_end
from boundmark.problems.placement.simulation import list_schedule
from boundmark.problems.problem import solution_document


@settings(deadline=None, max_examples=examples(200))
@given(instances(), st.data())
def test_it_is_the_definition(sample: PlacementInstance, data: st.DataObject) -> None:
    """The same things start as in Python; and the checker agrees."""
    span = sample.graph.devices
    devices = np.array(
        data.draw(st.lists(st.integers(0, span - 1), min_size=sample.nodes, max_size=sample.nodes))
    )
    priority = data.draw(st.lists(st.integers(0, 5), min_size=sample.nodes, max_size=sample.nodes))
    recorder = Recorder()
    makespan = PlacementIncumbent(sample, recorder).evaluate(devices, np.array(priority))
    (schedule,) = recorder.solutions
    assert schedule.to_json() == list_schedule(sample, devices, priority).to_json()
    assert sample.objective(schedule) == makespan
    stored = solution_document(sample, schedule, makespan)
    assert checker.check_solution(sample.to_json(), stored) == makespan


@settings(deadline=None, max_examples=examples(30))
@given(instances(), st.data())
def test_only_the_order_of_priorities_counts(
    sample: PlacementInstance, data: st.DataObject
) -> None:
    """However far apart they are, negative ones included."""
    span = sample.graph.devices
    sizes = {"min_size": sample.nodes, "max_size": sample.nodes}
    devices = np.array(data.draw(st.lists(st.integers(0, span - 1), **sizes)))
    priority = np.array(data.draw(st.lists(st.integers(-3, 3), **sizes)))
    documents = []
    for factor, offset in ((1, 0), (10**6, -(2**61)), (2**60, -1)):
        recorder = Recorder()
        PlacementIncumbent(sample, recorder).evaluate(devices, factor * priority + offset)
        documents.append(recorder.solutions[0].to_json())
    assert documents[1:] == documents[:1] * 2


@settings(deadline=None, max_examples=examples(20))
@given(st.integers(0, 2**32), st.sampled_from(["per-tensor", "per-edge"]))
def test_crowds_are_scheduled_as_in_python(seed: int, transfers: str) -> None:
    """Hundreds of operators wait at a time, with many equal priorities."""
    dice = np.random.default_rng(seed)
    nodes, span = 300, int(dice.integers(2, 6))
    edges = sorted({tuple(sorted(pair)) for pair in dice.integers(0, nodes, (500, 2)).tolist()})
    sample = instance(
        dice.integers(0, 20, (nodes, span)).tolist(),
        [(u, v) for u, v in edges if u != v],
        times=[(dice.integers(0, 20, (span, span)) * (1 - np.eye(span, dtype=int))).ravel()],
        transfers=transfers,
    )
    devices, priority = dice.integers(0, span, nodes), dice.integers(0, 50, nodes)
    recorder = Recorder()
    PlacementIncumbent(sample, recorder).evaluate(devices, priority)
    expected = list_schedule(sample, devices, priority.tolist())
    assert recorder.solutions[0].to_json() == expected.to_json()


def test_default_priority_is_the_longest_path() -> None:
    """It consists of durations and transfers with the given devices."""
    sample = instance([[3, 1], [2, 5], [4, 4]], [(0, 1), (0, 2)], times=[[0, 7, 6, 0]])
    best = PlacementIncumbent(sample, Recorder())
    assert time_to_end(best.arrays, np.array([0, 1, 0])).tolist() == [15, 5, 4]
    assert time_to_end(best.arrays, np.array([0, 0, 0])).tolist() == [7, 2, 4]


def test_urgent_operators_and_tensors_come_first() -> None:
    """A device runs and sends the one with the larger priority, whatever their numbers."""
    sample = instance(
        [[1, 9], [4, 4], [4, 4], [9, 1]], [(0, 1), (0, 3)], times=[[0, 5, 5, 0]],
        transfers="per-edge",
    )  # fmt: skip
    recorder = Recorder()
    best = PlacementIncumbent(sample, recorder)
    assert best.evaluate(np.array([0, 1, 0, 1]), np.array([9, 1, 2, 8])) == 15
    assert recorder.solutions[-1].to_json() == {
        "devices": [0, 1, 0, 1], "starts": [0, 11, 1, 6], "transfers": [[0, 1, 6], [0, 3, 1]],
    }  # fmt: skip


def test_only_improvements_are_kept() -> None:
    """A placement that is no better is neither reported nor remembered."""
    sample = instance([[3, 4], [3, 4]], [])
    recorder = Recorder()
    best = PlacementIncumbent(sample, recorder)
    assert [best.evaluate(np.array(devices)) for devices in ([0, 0], [0, 0], [1, 1], [0, 1])] == [
        6, 6, 8, 4,
    ]  # fmt: skip
    assert [sample.objective(found) for found in recorder.solutions] == [6, 4]
    assert best.solution.devices.tolist() == [0, 1]
