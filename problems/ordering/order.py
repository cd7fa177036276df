"""A solution of `ordering`: the operators in the order in which they run, and the memory it takes.

`ordering` minimises the maximum or the sum of the memory while operators run.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.json_documents import is_integer_list
from boundmark.problems.labels import Naming
from boundmark.problems.ordering.graph import INPUT, OrderingGraph
from boundmark.problems.problem import Row, SolutionTable

if TYPE_CHECKING:
    from boundmark.problems.ordering.instance import OrderingInstance


@dataclass(frozen=True, eq=False)
class ExecutionOrder:
    """All operators, one after another.

    Attributes
    ----------
    order
        Numbers of the operators, first to last, shape (n,).
    """

    order: IntArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", frozen(self.order, "order"))
        if self.order.ndim != 1:
            raise InvalidInputError(
                f"order of the solution has the shape {self.order.shape}; expected (n,)."
            )

    def to_json(self) -> dict[str, Any]:
        """Return ``{"order": [...]}``."""
        return {"order": self.order.tolist()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "ExecutionOrder":
        """Read the JSON that `to_json` wrote."""
        order = value.get("order")
        if not is_integer_list(order):
            raise InvalidInputError("order of the solution is not a list of integers.")
        return cls(frozen(order, "order of the solution"))


# Positions in a table may be numbers of a longer list, such as lines of a trace.
LARGEST_POSITION = 2**31


def _order(rows: Sequence[Row], instance: "OrderingInstance") -> ExecutionOrder:
    by_position = sorted((position, node) for node, position in rows)
    for (first, _), (second, _) in itertools.pairwise(by_position):
        if first == second:
            raise InvalidInputError(f"position {first} occurs twice; expected unique positions.")
    return ExecutionOrder(frozen([node for _, node in by_position], "order"))


def _rows(solution: ExecutionOrder) -> Iterable[Row]:
    position = {node: at for at, node in enumerate(solution.order.tolist())}
    return ((node, position[node]) for node in sorted(position))


def _renamed(instance: "OrderingInstance", names: Sequence[str], tick: str) -> "OrderingInstance":
    return replace(instance, graph=replace(instance.graph, names=tuple(names)))


TABLE = SolutionTable(
    columns=("operator", "position"), largest=LARGEST_POSITION, solution=_order, rows=_rows
)

NAMING = Naming(names=lambda instance: instance.graph.names, rename=_renamed)


def check_order(graph: OrderingGraph, order: Sequence[int]) -> None:
    """Check that an order is a topological order of all operators."""
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
    """Return the parts of the memory while each operator runs, first to last."""
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
