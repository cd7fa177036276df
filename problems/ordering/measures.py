"""Describes the memory of an order for people: what it is made of, and when."""

from typing import NamedTuple

from boundmark.problems.ordering.instance import OrderingInstance
from boundmark.problems.ordering.memory import memory_while_running
from boundmark.problems.ordering.order import ExecutionOrder


class Taken(NamedTuple):
    """The memory while one operator runs, in bytes.

    Attributes
    ----------
    inputs, outputs
        Tensors that it reads, and those that it writes unless they take the place of an input.
    waiting
        Tensors that were written before and are read later, or kept.
    weights
        Parameters, as far as they count.
    """

    inputs: int
    outputs: int
    waiting: int
    weights: int

    @property
    def total(self) -> int:
        """All of it."""
        return sum(self)


def memory_parts(instance: OrderingInstance, solution: ExecutionOrder) -> list[Taken]:
    """Return what is in memory while each operator runs, first to last.

    Raises
    ------
    InvalidInputError
        If the order is not a topological order of all operators.
    """
    graph, order = instance.graph, solution.order.tolist()
    taken = memory_while_running(graph, instance.workspace, instance.overwrites, order)
    position = {node: at for at, node in enumerate(order)}
    found = []
    for at, (node, total) in enumerate(zip(order, taken, strict=True)):
        inputs = sum(int(graph.size[tensor]) for tensor in graph.reads[node])
        is_in_place = any(
            all(position[reader] <= at for reader in graph.consumers[tensor])
            for tensor in instance.overwrites[node]
        )
        outputs = sum(int(graph.size[tensor]) for tensor in graph.writes[node]) * (not is_in_place)
        weights = int(instance.workspace[node])
        found.append(Taken(inputs, outputs, total - inputs - outputs - weights, weights))
    return found
