"""Checks solutions of `slicing`, and computes their latency."""

from typing import Any

from ..budget import hold, spend
from ..values import Rejected, integers
from .instance import ENTRY_BYTES, Edge, Instance


def objective(instance: Instance, solution: dict[str, Any]) -> int:
    """Return the sum over operators of the ticks of their slowest device.

    Operators run in the order of their numbers, or in that of the solution if it has one.
    """
    vectors = _vectors(instance, solution["vectors"])
    nodes, devices = len(instance.length), len(instance.capacity)
    hold(ENTRY_BYTES * nodes * devices)
    spend(4 * devices * (nodes + len(instance.edges)))
    order = _order(instance, solution["order"]) if "order" in solution else list(range(nodes))
    place = {operator: at for at, operator in enumerate(order)}
    dies_after = [place[operator] for operator in range(nodes)]
    for edge in instance.edges:
        dies_after[edge.producer] = max(dies_after[edge.producer], place[edge.consumer])
    dying: list[list[int]] = [[] for _ in range(nodes)]
    for operator, last in enumerate(dies_after):
        dying[last].append(operator)
    live = [0] * devices
    latency = 0
    for at, operator in enumerate(order):
        inputs, vector = instance.inputs[operator], vectors[operator]
        parts = sum(vector[j] < vector[j + 1] for j in range(devices))
        slowest = 0
        for j in range(devices):
            begin, end = vector[j], vector[j + 1]
            live[j] += (end - begin) * instance.output[operator]
            if live[j] > instance.capacity[j]:
                raise Rejected("a device holds more than its capacity")
            if begin == end:
                continue
            received = sent = shared = 0
            for edge in inputs:
                lacks = _lacks(instance, edge, begin, end, vectors[edge.producer][j : j + 2])
                received += lacks
                if edge.is_whole and parts > 1:
                    shared += instance.size(edge)
                else:
                    sent += lacks
            taken = live[j] + received + _parameters(instance, operator, end - begin)
            if taken > instance.capacity[j]:
                raise Rejected("a device holds more than its capacity")
            work = instance.work[operator][j]
            ticks = instance.router_ticks(sent, shared) + (instance.launch[j] if work else 0)
            ticks -= -work * (end - begin) // instance.length[operator]
            slowest = max(slowest, ticks)
        latency += slowest
        for gone in dying[at]:
            for j in range(devices):
                width = vectors[gone][j + 1] - vectors[gone][j]
                live[j] -= width * instance.output[gone]
    return latency


def _order(instance: Instance, value: Any) -> list[int]:
    nodes = len(instance.length)
    order = integers(value, "the order of the solution", 0, nodes - 1)
    if sorted(order) != list(range(nodes)):
        raise Rejected("the order of the solution does not have each operator once")
    place = {operator: at for at, operator in enumerate(order)}
    if any(place[edge.producer] > place[edge.consumer] for edge in instance.edges):
        raise Rejected("an operator comes before one that it reads in the order of the solution")
    return order


def _vectors(instance: Instance, value: Any) -> list[list[int]]:
    if type(value) is not list or len(value) != len(instance.length):
        raise Rejected("vectors of the solution are not one for each operator")
    found = []
    for length, row in zip(instance.length, value, strict=True):
        vector = integers(row, "a vector of the solution", 0, length)
        if len(vector) != len(instance.capacity) + 1 or vector[0] != 0 or vector[-1] != length:
            raise Rejected("a vector of the solution does not go from 0 to the operator's length")
        if vector != sorted(vector):
            raise Rejected("a vector of the solution is not ascending")
        found.append(vector)
    return found


def _lacks(instance: Instance, edge: Edge, begin: int, end: int, held: list[int]) -> int:
    """Return the bytes that a part needs and its device has not computed."""
    first = edge.first(begin)
    last = max(first, edge.end(end))
    if instance.crosses(edge):
        others = instance.length[edge.producer] - (held[1] - held[0])
        return edge.unit * (last - first) * others
    kept = min(last, held[1]) - max(first, held[0])
    return edge.unit * (last - first - max(0, kept))


def _parameters(instance: Instance, operator: int, width: int) -> int:
    """Return the bytes of parameters that a part that is not empty needs."""
    if instance.axis[operator] == 0:
        return -(-instance.weights[operator] * width // instance.length[operator])
    return instance.weights[operator]
