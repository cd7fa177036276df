"""When operators and transfers start: by lists, and in given orders."""

import numpy as np
from brute_force_placement import instance
from hypothesis import given, settings
from hypothesis import strategies as st
from placement_strategies import instances
from selection import examples

from boundmark.heuristics.placement.greedy_kernels import earliest_finish
from boundmark.problems.placement import PlacementInstance
from boundmark.problems.placement.compiled import placement_arrays
from boundmark.problems.placement.feasibility import Work, needed_transfers
from boundmark.problems.placement.simulation import (
    in_order,
    list_schedule,
)


@settings(deadline=None, max_examples=examples(200))
@given(instances(), st.data())
def test_nothing_waits_that_could_start(sample: PlacementInstance, data: st.DataObject) -> None:
    """While a job waits, what it uses is busy, and by nothing that began less urgent meanwhile."""
    sizes = {"min_size": sample.nodes, "max_size": sample.nodes}
    devices = np.array(data.draw(st.lists(st.integers(0, sample.graph.devices - 1), **sizes)))
    priority = data.draw(st.lists(st.integers(0, 5), **sizes))
    schedule = list_schedule(sample, devices, priority)
    sample.objective(schedule)
    work = Work.of(sample.graph, devices, sample.transfers)
    begin = [*schedule.starts.tolist(), *schedule.transfers[:, 2].tolist()]
    urgency = [*priority, *(max(priority[v] for v in row) for row in work.moves.values())]
    end = [start + ticks for start, ticks in zip(begin, work.ticks, strict=True)]
    ready = [0] * len(begin)
    for job, others in enumerate(work.after):
        for other in others:
            ready[other] = max(ready[other], end[job])
    for job, start in enumerate(begin):
        for now in range(ready[job], start):
            running = [
                other
                for other, uses in enumerate(work.uses)
                if begin[other] <= now < end[other] and set(uses) & set(work.uses[job])
            ]
            assert running
            began = [other for other in running if begin[other] == now]
            if len(began) == len(running):
                assert max(urgency[other] for other in began) >= urgency[job]


@settings(deadline=None, max_examples=examples(200))
@given(instances(), st.data())
def test_any_order_gives_a_schedule(sample: PlacementInstance, data: st.DataObject) -> None:
    """Also times that contradict what waits for what; and a second round changes nothing."""
    span = st.integers(0, sample.graph.devices - 1)
    devices = np.array(
        data.draw(st.lists(span, min_size=sample.nodes, max_size=sample.nodes)), dtype=np.int64
    )
    times = data.draw(st.lists(st.integers(0, 9), min_size=sample.nodes, max_size=sample.nodes))
    schedule = in_order(sample, devices, times)
    makespan = sample.objective(schedule)
    again = in_order(
        sample,
        devices,
        schedule.starts.tolist(),
        {(t, receiver): start for t, receiver, start in schedule.transfers.tolist()},
    )
    assert sample.objective(again) <= makespan


def test_the_order_decides() -> None:
    """Of two operators on a device, the one with the earlier time runs first."""
    sample = instance([[2, 2], [3, 3]], [])
    devices = np.array([0, 0])
    assert in_order(sample, devices, [1, 0]).starts.tolist() == [3, 0]
    assert in_order(sample, devices, [0, 1]).starts.tolist() == [0, 2]


@settings(deadline=None, max_examples=examples(100))
@given(instances())
def test_clocks_that_only_append_are_an_order(sample: PlacementInstance) -> None:
    """HEFT's kernel starts what takes time as its sequence has it, inputs in front of readers."""
    graph = sample.graph
    if not (graph.duration > 0).all():
        return
    order = graph.dag.topological_order
    devices, starts = earliest_finish(
        placement_arrays(sample), order.copy(), np.zeros_like(graph.duration)
    )
    turn = np.argsort(order)
    moved = {
        move: turn[readers].min() - 1 + (move[0] + 1) / (len(graph.size) + 1)
        for move, readers in needed_transfers(graph, devices, sample.transfers).items()
    }
    assert in_order(sample, devices, turn.tolist(), moved).starts.tolist() == starts.tolist()
