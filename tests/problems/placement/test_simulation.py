"""What starts when: lists, given orders, and makespans with other times."""

import numpy as np
from brute_force_placement import instance
from hypothesis import given, settings
from hypothesis import strategies as st
from placement_strategies import instances
from recording import record
from selection import examples

from boundmark.heuristics.placement.greedy_kernels import earliest_finish
from boundmark.problems.noise import Noise
from boundmark.problems.placement import PlacementInstance, PlacementSchedule
from boundmark.problems.placement.compiled import placement_arrays
from boundmark.problems.placement.feasibility import Work, needed_transfers
from boundmark.problems.placement.graph import tensor_edges
from boundmark.problems.placement.simulation import (
    in_order,
    list_schedule,
    noisy_makespans,
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


# Makespans with other times, against starts that are pushed until nothing is broken.


def pushed(
    sample: PlacementInstance,
    schedule: PlacementSchedule,
    operators: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
    tensors: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
) -> float:
    """Return the makespan for factors of operators on devices, and of tensors."""
    graph, place = sample.graph, schedule.devices.tolist()
    nodes, rows = graph.nodes, schedule.transfers.tolist()
    waiting = needed_transfers(graph, schedule.devices, sample.transfers)
    planned, ticks, uses, pairs = [], [], [], []
    for node in range(nodes):
        planned.append((int(schedule.starts[node]), int(graph.duration[node, place[node]])))
        ticks.append(planned[-1][1] * operators[place[node], node])
        uses.append({("run", place[node])})
    for number, (tensor, receiver, start) in enumerate(rows, nodes):
        readers = waiting[tensor, receiver]
        source, target = place[graph.producer[tensor]], place[readers[0]]
        planned.append((start, int(graph.times[graph.size[tensor], source, target])))
        ticks.append(planned[-1][1] * tensors[tensor])
        uses.append({("send", source), ("receive", target)})
        pairs += [(int(graph.producer[tensor]), number), *((number, one) for one in readers)]
    pairs += [(u, w) for _, u, w in tensor_edges(graph) if place[u] == place[w]]
    for first in range(len(planned)):
        for second in range(len(planned)):
            is_line = uses[first] & uses[second] and planned[first][1] and planned[second][1]
            if is_line and planned[first][0] < planned[second][0]:
                pairs.append((first, second))
    starts = [0.0] * len(planned)
    is_changed = True
    while is_changed:
        is_changed = False
        for first, second in pairs:
            if starts[first] + ticks[first] > starts[second]:
                starts[second], is_changed = starts[first] + ticks[first], True
    return max(starts[node] + ticks[node] for node in range(nodes))


@settings(max_examples=examples(60), deadline=None)
@given(instances(), st.sampled_from(["heft", "m-etf", "m-topo"]), st.integers(0, 99))
def test_everything_is_pushed(sample: PlacementInstance, method: str, seed: int) -> None:
    """Orders on devices stay; without noise, nothing gets later."""
    found = record(method, sample).solutions
    if not found:
        return
    schedule = found[-1]
    assert isinstance(schedule, PlacementSchedule)
    assert (noisy_makespans(sample, schedule, Noise(0.0, 2)) <= sample.objective(schedule)).all()
    noise = Noise(0.6, draws=3, seed=seed)
    random = noise.generator()
    operators = np.stack(
        [noise.factors(random, sample.nodes) for _ in range(sample.graph.devices)], axis=1
    )
    tensors = noise.factors(random, len(sample.graph.size))
    expected = [
        pushed(sample, schedule, operators[draw], tensors[draw]) for draw in range(noise.draws)
    ]
    np.testing.assert_allclose(noisy_makespans(sample, schedule, noise), expected)


def test_what_takes_no_time_waits_for_no_device() -> None:
    """Without noise, an operator without work starts amid another one on its device, as planned."""
    sample = instance([[10, 10], [0, 0], [4, 4]], [(1, 2)], times=[[0, 1, 1, 0]])
    planned = PlacementSchedule(np.array([0, 0, 1]), np.array([0, 5, 6]), np.array([[0, 1, 5]]))
    assert sample.objective(planned) == 10
    assert noisy_makespans(sample, planned, Noise(0.0, 2)).tolist() == [10.0, 10.0]
