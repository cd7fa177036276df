"""Makespans with other times, against starts that are pushed until nothing is broken."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from placement_strategies import instances
from recording import record
from selection import examples

from boundmark.problems.noise import Noise
from boundmark.problems.placement import PlacementInstance, PlacementSchedule
from boundmark.problems.placement.feasibility import needed_transfers, noisy_makespans
from boundmark.problems.placement.graph import tensor_edges


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
    # Operators without work may be put in front of others on their device, or behind.
    if (sample.graph.duration != 0).all() and sample.graph.times.max(initial=1):
        np.testing.assert_allclose(noisy_makespans(sample, schedule, noise), expected)
    else:
        assert (noisy_makespans(sample, schedule, noise) >= np.array(expected) - 1e-6).all()
