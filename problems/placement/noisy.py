"""Makespans of a placement if operators and transfers take other times than it was made for."""

import itertools
from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from boundmark.problems.noise import FloatArray, Noise
from boundmark.problems.placement.feasibility import PER_TENSOR, needed_transfers
from boundmark.problems.placement.graph import tensor_edges
from boundmark.problems.placement.schedule import PlacementSchedule

if TYPE_CHECKING:
    from boundmark.problems.placement.instance import PlacementInstance


def noisy_makespans(
    instance: "PlacementInstance", schedule: PlacementSchedule, noise: Noise
) -> FloatArray:
    """Return the makespan of a feasible schedule in each draw, shape (draws,).

    Devices stay, and so do the orders in which each device runs operators, sends and receives.
    Everything starts as soon as what it waits for has ended. An operator has a factor for each
    device, a tensor one for all its transfers. Memory is not looked at.
    """
    graph, random = instance.graph, noise.generator()
    place = schedule.devices
    ticks = np.empty((noise.draws, graph.nodes + len(schedule.transfers)))
    for device in range(graph.devices):
        factors = noise.factors(random, graph.nodes)
        here = np.flatnonzero(place == device)
        ticks[:, here] = graph.duration[here, device] * factors[:, here]
    tensors, receivers, _ = schedule.transfers.T
    targets = receivers if instance.transfers == PER_TENSOR else place[receivers]
    sources = place[graph.producer[tensors]]
    moving = graph.times[graph.size[tensors], sources, targets]
    ticks[:, graph.nodes :] = moving * noise.factors(random, len(graph.size))[:, tensors]
    ends = np.zeros_like(ticks.T)
    for event, before in _events(instance, schedule):
        ready = ends[before].max(axis=0) if before else 0.0
        ends[event] = ready + ticks[:, event]
    return np.asarray(ends[: graph.nodes].max(axis=0))


def _events(
    instance: "PlacementInstance", schedule: PlacementSchedule
) -> list[tuple[int, list[int]]]:
    """Return operators, and transfers behind them, in an order of time; and what each waits for."""
    graph, place = instance.graph, schedule.devices.tolist()
    before: dict[int, list[int]] = defaultdict(list)
    lines: dict[tuple[str, int], list[int]] = defaultdict(list)
    for _, producer, consumer in tensor_edges(graph):
        if place[producer] == place[consumer]:
            before[consumer].append(producer)
    rank = np.empty(graph.nodes, dtype=np.int64)
    rank[graph.dag.topological_order] = np.arange(graph.nodes)
    lengths = graph.duration[np.arange(graph.nodes), schedule.devices].tolist()
    keys = [
        (start, start + length, 2 * int(rank[node]))
        for node, (start, length) in enumerate(zip(schedule.starts.tolist(), lengths, strict=True))
    ]
    for node, device in enumerate(place):
        lines["runs", device].append(node)
    waiting = needed_transfers(graph, schedule.devices, instance.transfers)
    for number, (tensor, receiver, start) in enumerate(schedule.transfers.tolist(), graph.nodes):
        producer, consumers = int(graph.producer[tensor]), waiting[tensor, receiver]
        source, target = place[producer], place[consumers[0]]
        length = int(graph.times[graph.size[tensor], source, target])
        # Where nothing takes time, a tensor is behind its producer and before its readers.
        keys.append((start, start + length, 2 * int(rank[producer]) + 1))
        before[number].append(producer)
        for consumer in consumers:
            before[consumer].append(number)
        lines["sends", source].append(number)
        lines["receives", target].append(number)
    for line in lines.values():
        for first, second in itertools.pairwise(sorted(line, key=keys.__getitem__)):
            before[second].append(first)
    return [(event, before[event]) for event in sorted(range(len(keys)), key=keys.__getitem__)]
