import numpy as np
from brute_force_placement import instance
from hypothesis import given, settings
from hypothesis import strategies as st
from placement_strategies import instances
from recording import Recorder
from slow_simulation import simulated

from boundmark.bounds import checker
from boundmark.heuristics.placement.kernels.simulation import time_to_end
from boundmark.heuristics.placement.schedules.incumbent import Incumbent
from boundmark.heuristics.placement.schedules.plain_simulation import PlainSimulation
from boundmark.problems.placement import PlacementInstance
from boundmark.problems.problem import solution_document


@settings(deadline=None, max_examples=200)
@given(instances(), st.data())
def test_simulation_is_that_of_a_slow_one(sample: PlacementInstance, data: st.DataObject) -> None:
    """Tick by tick, or event by event in Python, the same things start; and the checker agrees."""
    span = sample.graph.devices
    devices = np.array(
        data.draw(st.lists(st.integers(0, span - 1), min_size=sample.nodes, max_size=sample.nodes))
    )
    priority = data.draw(st.lists(st.integers(0, 5), min_size=sample.nodes, max_size=sample.nodes))
    recorder = Recorder()
    makespan = Incumbent(sample, recorder).offer(devices, np.array(priority))
    (schedule,) = recorder.solutions
    assert schedule.to_json() == simulated(sample, devices, priority).to_json()
    assert schedule.to_json() == PlainSimulation(sample).run(devices, priority).to_json()
    assert sample.objective(schedule) == makespan
    stored = solution_document(sample, schedule, makespan)
    assert checker.check_solution(sample.to_json(), stored) == makespan


def test_default_priority_is_the_longest_path() -> None:
    """It consists of durations and transfers with the given devices."""
    sample = instance([[3, 1], [2, 5], [4, 4]], [(0, 1), (0, 2)], times=[[0, 7, 6, 0]])
    best = Incumbent(sample, Recorder())
    assert time_to_end(best.network, np.array([0, 1, 0])).tolist() == [15, 5, 4]
    assert time_to_end(best.network, np.array([0, 0, 0])).tolist() == [7, 2, 4]


def test_urgent_operators_and_tensors_come_first() -> None:
    """A device runs and sends the one with the larger priority, whatever their numbers."""
    sample = instance(
        [[1, 9], [4, 4], [4, 4], [9, 1]], [(0, 1), (0, 3)], times=[[0, 5, 5, 0]],
        transfers="per-edge",
    )  # fmt: skip
    recorder = Recorder()
    best = Incumbent(sample, recorder)
    assert best.offer(np.array([0, 1, 0, 1]), np.array([9, 1, 2, 8])) == 15
    assert recorder.solutions[-1].to_json() == {
        "devices": [0, 1, 0, 1], "starts": [0, 11, 1, 6], "transfers": [[0, 1, 6], [0, 3, 1]],
    }  # fmt: skip


def test_only_improvements_are_kept() -> None:
    """A placement that is no better is neither reported nor remembered."""
    sample = instance([[3, 4], [3, 4]], [])
    recorder = Recorder()
    best = Incumbent(sample, recorder)
    assert [best.offer(np.array(devices)) for devices in ([0, 0], [0, 0], [1, 1], [0, 1])] == [
        6, 6, 8, 4,
    ]  # fmt: skip
    assert [sample.objective(found) for found in recorder.solutions] == [6, 4]
    assert best.devices.tolist() == [0, 1]
