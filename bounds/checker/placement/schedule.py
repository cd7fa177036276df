"""Checks solutions of `placement`, and computes their makespan."""

import itertools
from collections import defaultdict
from typing import Any

from ..budget import hold, spend
from ..values import Rejected, integers
from .instance import ENTRY_BYTES, UNSUPPORTED, Instance

LATEST = 2**60


def objective(instance: Instance, solution: dict[str, Any]) -> int:
    """Return the makespan of a schedule; raise `Rejected` if it is infeasible."""
    nodes, last = len(instance.memory), len(instance.capacity) - 1
    device = integers(solution["devices"], "devices of the solution", 0, last)
    start = integers(solution["starts"], "starts of the solution", 0, LATEST)
    if not len(device) == len(start) == nodes:
        raise Rejected("devices and starts of the solution are not one for each operator")
    hold(ENTRY_BYTES * (nodes + sum(map(len, instance.consumers))))
    spend(4 * (nodes + sum(map(len, instance.consumers))))
    end, left = [], list(instance.capacity)
    spans: dict[tuple[str, int], list[tuple[int, int]]] = defaultdict(list)
    for operator, where in enumerate(device):
        ticks = instance.duration[operator][where]
        if ticks == UNSUPPORTED:
            raise Rejected("an operator is on a device that does not support it")
        left[where] -= instance.memory[operator]
        end.append(start[operator] + ticks)
        spans["runs two operators", where].append((start[operator], end[-1]))
    if min(left) < 0:
        raise Rejected("a device holds more than its capacity")
    moved = _transfers(instance, solution["transfers"])
    # What each tensor on a device (or each copy of it there) takes, from when until when.
    live: list[list[int]] = []
    for operator, taken in enumerate(instance.result_memory):
        live.append([device[operator], taken, start[operator], end[operator]])
    for tensor, readers in enumerate(instance.consumers):
        source, ready = device[instance.producer[tensor]], end[instance.producer[tensor]]
        taken = instance.tensor_memory[tensor] if instance.is_live else 0
        written = [source, taken, start[instance.producer[tensor]], ready]
        copies = {source: written}
        live.append(written)
        for reader in readers:
            arrival = ready
            if device[reader] != source:
                key = tensor, device[reader] if instance.transfers == "per-tensor" else reader
                if key not in moved:
                    raise Rejected("a tensor is not moved to a device that reads it")
                begin = moved[key][0]
                if begin < ready:
                    raise Rejected("a tensor is moved before it is there")
                arrival = begin + instance.ticks(tensor, source, device[reader])
                if not moved[key][1]:
                    moved[key] = begin, True
                    spans["sends two tensors", source].append((begin, arrival))
                    spans["receives two tensors", device[reader]].append((begin, arrival))
                    # Its producer's device keeps it until it is there.
                    written[3] = max(written[3], arrival)
                    copies[device[reader]] = [device[reader], taken, begin, arrival]
                    live.append(copies[device[reader]])
            if start[reader] < arrival:
                raise Rejected("an operator starts before its inputs are there")
            copy = copies[device[reader]]
            copy[3] = max(copy[3], end[reader])
    if not all(is_needed for _, is_needed in moved.values()):
        raise Rejected("a tensor is moved to where nobody reads it")
    for (what, _), found in spans.items():
        free = 0
        # What takes no time is in nobody's way.
        for begin, finish in sorted(span for span in found if span[0] < span[1]):
            if begin < free:
                raise Rejected(f"a device {what} at once")
            free = finish
    if instance.is_live:
        _check_memory(left, live)
    return max(end)


def _check_memory(left: list[int], live: list[list[int]]) -> None:
    """Reject tensors that together take more of a device than is left, at any time."""
    hold(ENTRY_BYTES * len(live))
    spend(4 * len(live))
    events = []
    for where, taken, begin, finish in live:
        # What takes no time takes no memory. What ends comes first: it makes room.
        if begin < finish:
            events += [(begin, 1, where, taken), (finish, 0, where, -taken)]
    for _, _, where, change in sorted(events):
        left[where] -= change
        if left[where] < 0:
            raise Rejected("a device holds more than its capacity while tensors are live")


def _transfers(instance: Instance, value: Any) -> dict[tuple[int, int], tuple[int, bool]]:
    """Return the start of each transfer by tensor and receiver, with False: not needed so far."""
    if type(value) is not list or not all(type(row) is list and len(row) == 3 for row in value):
        raise Rejected("transfers of the solution is not a list of triples")
    rows = [integers(row, "a transfer of the solution", 0, LATEST) for row in value]
    keys = [(tensor, receiver) for tensor, receiver, _ in rows]
    if any(first >= second for first, second in itertools.pairwise(keys)):
        raise Rejected("transfers of the solution are not sorted, or repeated")
    return {(tensor, receiver): (begin, False) for tensor, receiver, begin in rows}
