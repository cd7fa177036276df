"""Latency of a plan: operators run one after another, each as long as its slowest device.

Plain Python on purpose: the compiled evaluation of the heuristics and the checker's are tested
against it.
"""

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from boundmark.problems.errors import InvalidInputError
from boundmark.problems.slicing.graph import Edge, SlicingGraph, weight_share
from boundmark.problems.slicing.plan import SlicingPlan

if TYPE_CHECKING:
    from boundmark.problems.slicing.instance import SlicingInstance

Ranges = list[tuple[int, int]]


class OperatorTimes(NamedTuple):
    """Ticks that one operator takes on each device.

    Attributes
    ----------
    communication, computation
        Ticks on each device.
    received
        Bytes that each device gets point to point or by broadcast, without what it holds.
    """

    communication: list[int]
    computation: list[int]
    received: list[int]

    @property
    def total(self) -> int:
        """Ticks until the last device is done."""
        return max(map(sum, zip(self.communication, self.computation, strict=True)))


def check_vectors(graph: SlicingGraph, plan: SlicingPlan) -> None:
    """Check Constraints 6 to 10 of [MEMORIANOVA24]."""
    if plan.vectors.shape != (graph.nodes, graph.devices + 1):
        raise InvalidInputError(
            f"vectors have the shape {plan.vectors.shape}; "
            f"expected {(graph.nodes, graph.devices + 1)}."
        )
    for name, length, vector in zip(
        graph.names, graph.length.tolist(), plan.vectors.tolist(), strict=True
    ):
        if vector[0] != 0 or vector[-1] != length or vector != sorted(vector):
            raise InvalidInputError(
                f"the vector of operator {name!r} is {vector}; "
                f"expected ascending integers from 0 to {length}."
            )


def running_order(graph: SlicingGraph, plan: SlicingPlan) -> list[int]:
    """Return the operators from the one that runs first to the last."""
    if plan.order is None:
        return list(range(graph.nodes))
    order: list[int] = plan.order.tolist()
    if sorted(order) != list(range(graph.nodes)):
        raise InvalidInputError(
            f"the order does not have each of the {graph.nodes} operators once."
        )
    place = {operator: at for at, operator in enumerate(order)}
    for edge in graph.edges:
        if place[edge.producer] > place[edge.consumer]:
            raise InvalidInputError(
                f"in the order, operator {graph.names[edge.consumer]!r} comes before "
                f"{graph.names[edge.producer]!r}, which it reads; expected one in which operators "
                "can run."
            )
    return order


def missing_bytes(
    graph: SlicingGraph, edge: Edge, need: tuple[int, int], held: tuple[int, int]
) -> int:
    """Return the bytes of a tensor that a device needs and does not hold."""
    count = need[1] - need[0]
    if graph.axis[edge.producer] != graph.axis[edge.consumer]:
        return edge.unit * count * (int(graph.length[edge.producer]) - (held[1] - held[0]))
    common = max(0, min(need[1], held[1]) - max(need[0], held[0]))
    return edge.unit * (count - common)


def operator_times(graph: SlicingGraph, ranges: list[Ranges], operator: int) -> OperatorTimes:
    """Return the time of an operator on each device."""
    own = ranges[operator]
    active = [device for device, (begin, end) in enumerate(own) if begin < end]
    sent = [0] * graph.devices
    broadcast = [0] * graph.devices
    received = [0] * graph.devices
    for edge in graph.inputs[operator]:
        for device in active:
            held = ranges[edge.producer][device]
            missing = missing_bytes(graph, edge, edge.needed(*own[device]), held)
            received[device] += missing
            if edge.is_whole and len(active) > 1:
                broadcast[device] += missing_bytes(graph, edge, (0, edge.extent), (0, 0))
            else:
                sent[device] += missing
    communication = [
        _router_ticks(graph, single, common) for single, common in zip(sent, broadcast, strict=True)
    ]
    length = int(graph.length[operator])
    computation = []
    for device, (begin, end) in enumerate(own):
        work = int(graph.work[operator, device])
        launch = int(graph.launch[device]) if work and begin < end else 0
        computation.append(launch - (-work * (end - begin) // length))
    return OperatorTimes(communication, computation, received)


def _router_ticks(graph: SlicingGraph, sent: int, broadcast: int) -> int:
    if not sent and not broadcast:
        return 0
    ticks = graph.delay
    for amount, (per_ticks, per_bytes) in (
        (sent, graph.point_to_point),
        (broadcast, graph.broadcast),
    ):
        ticks -= -amount * per_ticks // per_bytes
    return ticks


def plan_times(graph: SlicingGraph, plan: SlicingPlan) -> list[OperatorTimes]:
    """Return the times of each operator; memory is not looked at."""
    check_vectors(graph, plan)
    ranges = plan_ranges(plan)
    return [operator_times(graph, ranges, operator) for operator in range(graph.nodes)]


def plan_ranges(plan: SlicingPlan) -> list[Ranges]:
    """Return for each operator and device the indices ``(begin, end)``."""
    return [list(pairwise(vector)) for vector in plan.vectors.tolist()]


def memory_taken(
    graph: SlicingGraph, plan: SlicingPlan, times: list[OperatorTimes]
) -> list[list[int]]:
    """Return the bytes on each device while each operator runs ([MEMORIANOVA24], Constraint 18).

    These are its own parameters and output, what it received, and the slices of all tensors that it
    or a later operator reads.
    """
    order = running_order(graph, plan)
    place = {operator: at for at, operator in enumerate(order)}
    last = dict(place)
    for edge in graph.edges:
        last[edge.producer] = max(last[edge.producer], place[edge.consumer])
    ending: list[list[int]] = [[] for _ in order]
    for operator, at in last.items():
        ending[at].append(operator)
    ranges = plan_ranges(plan)
    held = [0] * graph.devices
    taken: list[list[int]] = [[] for _ in order]
    for at, operator in enumerate(order):
        slices = [_slice(graph, operator, span) for span in ranges[operator]]
        held = [before + own for before, own in zip(held, slices, strict=True)]
        taken[operator] = [
            before + weight_share(graph, operator, end - begin) + received
            for before, (begin, end), received in zip(
                held, ranges[operator], times[operator].received, strict=True
            )
        ]
        for gone in ending[at]:
            held = [
                before - _slice(graph, gone, span)
                for before, span in zip(held, ranges[gone], strict=True)
            ]
    return taken


def memory_alone(graph: SlicingGraph) -> int:
    """Return the most bytes that one device holds if it runs the whole model."""
    vectors = np.repeat(graph.length[:, None], graph.devices + 1, axis=1)
    vectors[:, 0] = 0
    plan = SlicingPlan(vectors)
    return max(row[0] for row in memory_taken(graph, plan, plan_times(graph, plan)))


def _slice(graph: SlicingGraph, operator: int, span: tuple[int, int]) -> int:
    return (span[1] - span[0]) * int(graph.output[operator])


def latency(graph: SlicingGraph, plan: SlicingPlan) -> int:
    """Return the latency of a plan that keeps all constraints."""
    times = plan_times(graph, plan)
    for operator, row in enumerate(memory_taken(graph, plan, times)):
        for device, (taken, limit) in enumerate(zip(row, graph.capacity.tolist(), strict=True)):
            if taken > limit:
                raise InvalidInputError(
                    f"device {graph.device_names[device]!r} holds {taken} bytes while operator "
                    f"{graph.names[operator]!r} runs; expected at most {limit}."
                )
    return sum(one.total for one in times)


def device_loads(instance: "SlicingInstance", plan: SlicingPlan) -> dict[str, list[int]]:
    """Return each device's busy time and memory."""
    graph = instance.graph
    times = plan_times(graph, plan)
    widths = plan.vectors[:, 1:] - plan.vectors[:, :-1]
    return {
        "operators": (widths > 0).sum(axis=0).tolist(),
        "computing": [sum(column) for column in zip(*(t.computation for t in times), strict=True)],
        "communicating": [
            sum(column) for column in zip(*(t.communication for t in times), strict=True)
        ],
        "received": [sum(column) for column in zip(*(t.received for t in times), strict=True)],
        "memory": [max(column) for column in zip(*memory_taken(graph, plan, times), strict=True)],
    }
