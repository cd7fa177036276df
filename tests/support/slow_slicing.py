"""Latency and memory of a plan, index by index: nothing is computed from ranges."""

from itertools import pairwise
from math import ceil

from boundmark.problems.slicing import CHANNELS, Edge, SlicingInstance, SlicingPlan


def needed(edge: Edge, part: set[int]) -> set[int]:
    """Return the indices of the tensor that a part needs, from those of each of its own."""
    if edge.multiply == 0:
        return set(range(edge.extent)) if part else set()
    found = set()
    for index in part:
        for reach in range(edge.size):
            group = (index * edge.multiply + edge.add + reach) // edge.divide
            found |= set(range(edge.scale * group, edge.scale * (group + 1)))
    if found:
        # Parts are ranges, and so is what they need.
        found = set(range(min(found), max(found) + 1))
    return found & set(range(edge.extent))


def simulate(sample: SlicingInstance, plan: SlicingPlan) -> tuple[int, bool]:
    """Return the latency, and whether the plan fits into memory."""
    graph = sample.graph
    parts = [
        [set(range(begin, end)) for begin, end in pairwise(row)] for row in plan.vectors.tolist()
    ]
    latency, fits = 0, True
    order = list(range(graph.nodes)) if plan.order is None else plan.order.tolist()
    for operator in order:
        active = [device for device in range(graph.devices) if parts[operator][device]]
        times = []
        for device in range(graph.devices):
            own = parts[operator][device]
            sent = shared = received = 0
            for edge in graph.inputs[operator]:
                held = parts[edge.producer][device]
                cells = needed(edge, own)
                if graph.axis[edge.producer] == graph.axis[operator]:
                    lacks = edge.unit * len(cells - held)
                    everything = edge.unit * edge.extent
                else:
                    others = int(graph.length[edge.producer]) - len(held)
                    lacks = edge.unit * len(cells) * others
                    everything = edge.unit * edge.extent * int(graph.length[edge.producer])
                received += lacks if own else 0
                if edge.multiply == 0 and len(active) > 1:
                    shared += everything if own else 0
                else:
                    sent += lacks if own else 0
            ticks = graph.delay if sent or shared else 0
            ticks += ceil(sent * graph.point_to_point[0] / graph.point_to_point[1])
            ticks += ceil(shared * graph.broadcast[0] / graph.broadcast[1])
            work = int(graph.work[operator, device])
            if own and work:
                ticks += int(graph.launch[device])
                ticks += ceil(work * len(own) / int(graph.length[operator]))
            times.append(ticks)
            share = len(own) / int(graph.length[operator])
            if graph.axis[operator] != CHANNELS:
                share = float(bool(own))
            taken = received + ceil(int(graph.weights[operator]) * share)
            for other in order[: order.index(operator) + 1]:
                readers = {edge.consumer for edge in graph.edges if edge.producer == other}
                if other == operator or readers & set(order[order.index(operator) :]):
                    taken += len(parts[other][device]) * int(graph.output[other])
            fits = fits and taken <= int(graph.capacity[device])
        latency += max(times)
    return latency, fits
