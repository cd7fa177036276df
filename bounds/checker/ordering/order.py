"""Checks solutions of `ordering`, and computes the memory that they take."""

from typing import Any

from ..budget import hold, spend
from ..values import Rejected, integers
from .instance import ENTRY_BYTES, INPUT, Instance


def read_order(instance: Instance, value: Any, what: str) -> tuple[list[int], list[int]]:
    """Return an order and the position of each operator; raise `Rejected` if it is not one."""
    nodes = len(instance.reads)
    order = integers(value, what, 0, nodes - 1)
    if len(order) != nodes or len(set(order)) != nodes:
        raise Rejected(f"{what} does not have each operator once")
    hold(ENTRY_BYTES * nodes)
    spend(nodes + sum(map(len, instance.consumers)))
    position = [0] * nodes
    for at, operator in enumerate(order):
        position[operator] = at
    for producer, readers in zip(instance.producer, instance.consumers, strict=True):
        if producer != INPUT and any(position[w] < position[producer] for w in readers):
            raise Rejected(f"{what} runs an operator before one whose tensor it reads")
    return order, position


def live_after(instance: Instance, order: list[int]) -> list[int]:
    """Return L of the first i operators of an order, for i from 0 to all."""
    spend(4 * (len(order) + len(instance.size)) + sum(map(len, instance.consumers)))
    left = [len(readers) + (t in instance.kept) for t, readers in enumerate(instance.consumers)]
    size, producer = instance.size, instance.producer
    live = [sum(size[t] for t, p in enumerate(producer) if p == INPUT and left[t])]
    for operator in order:
        now = live[-1] + sum(size[t] for t in instance.writes[operator] if left[t])
        for tensor in instance.reads[operator]:
            left[tensor] -= 1
            if not left[tensor]:
                now -= size[tensor]
        live.append(now)
    return live


def objective(instance: Instance, solution: dict[str, Any]) -> int:
    """Return the maximum or the sum of the memory while operators run."""
    order, position = read_order(instance, solution["order"], "order of the solution")
    taken = []
    spend(sum(map(len, instance.overwrites)) + sum(map(len, instance.consumers)))
    last_read = [max((position[w] for w in row), default=-1) for row in instance.consumers]
    for at, (operator, live) in enumerate(zip(order, live_after(instance, order), strict=False)):
        is_in_place = any(last_read[tensor] <= at for tensor in instance.overwrites[operator])
        written = 0 if is_in_place else instance.written[operator]
        taken.append(live + written + instance.workspace[operator])
    return max(taken) if instance.is_peak else sum(taken)
