"""Memory while operators run in an order, whose maximum or sum `ordering` minimises."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from boundmark.problems.arrays import IntArray
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.ordering.graph import INPUT, OrderingGraph
from boundmark.problems.ordering.order import ExecutionOrder

if TYPE_CHECKING:
    from boundmark.problems.ordering.instance import OrderingInstance


def check_order(graph: OrderingGraph, order: Sequence[int]) -> None:
    """Check that an order is a topological order of all operators.

    Raises
    ------
    InvalidInputError
        If not.
    """
    if sorted(order) != list(range(graph.nodes)):
        raise InvalidInputError(
            f"the order is not one of the operators 0 to {graph.nodes - 1}, each once."
        )
    position = {node: at for at, node in enumerate(order)}
    for producer, consumer in graph.dag.edge_pairs().tolist():
        if position[producer] > position[consumer]:
            raise InvalidInputError(
                f"operator {graph.names[consumer]!r} runs before operator "
                f"{graph.names[producer]!r}, whose output it reads."
            )


def memory_while_running(
    graph: OrderingGraph,
    workspace: IntArray,
    overwrites: Sequence[Sequence[int]],
    order: Sequence[int],
) -> list[int]:
    """Return the memory while each operator runs, first to last, n values.

    While an operator runs, there are the tensors that were there before it (written, or inputs of
    the model, and still to be read, or kept), all that it writes, and its workspace. If it is the
    last to read a tensor that it can overwrite, its output takes the place of that tensor.

    Parameters
    ----------
    workspace
        Memory that each operator takes beside tensors, shape (n,).
    overwrites
        The tensors that each operator overwrites if it is the last to read them.

    Raises
    ------
    InvalidInputError
        If the order is not a topological order of all operators.
    """
    check_order(graph, order)
    size, extra = graph.size.tolist(), workspace.tolist()
    kept = set(graph.kept)
    left = [len(readers) for readers in graph.consumers]
    live = sum(
        size[tensor]
        for tensor, producer in enumerate(graph.producer.tolist())
        if producer == INPUT and (left[tensor] or tensor in kept)
    )
    taken = []
    for node in order:
        written = sum(size[tensor] for tensor in graph.writes[node])
        is_in_place = any(left[tensor] == 1 for tensor in overwrites[node])
        taken.append(live + written * (not is_in_place) + extra[node])
        live += sum(size[t] for t in graph.writes[node] if left[t] or t in kept)
        for tensor in graph.reads[node]:
            left[tensor] -= 1
            if not left[tensor] and tensor not in kept:
                live -= size[tensor]
    return taken


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
        """All parts together."""
        return sum(self)


def memory_parts(instance: "OrderingInstance", solution: ExecutionOrder) -> list[Taken]:
    """Return the parts of the memory while each operator runs, first to last.

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
