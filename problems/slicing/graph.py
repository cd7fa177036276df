"""A model's operators as slicing needs them: lengths, costs on devices, memory, and the router."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from boundmark.problems.arrays import IntArray, frozen, non_negative_integers
from boundmark.problems.dag import Dag
from boundmark.problems.errors import InvalidInputError, NoRoomError
from boundmark.problems.ticks import LARGEST_TOTAL

# The dimensions in which operators are sliced.
CHANNELS, HEIGHT = 0, 1


class Edge(NamedTuple):
    """A tensor between two operators, and which part of it each part of the consumer needs.

    Whoever computes the indices ``a .. b - 1`` of the consumer's output, along the dimension in
    which the consumer is sliced, needs the tensor's indices from ``scale * ((a * multiply + add) //
    divide)`` up to ``scale * (((b - 1) * multiply + add + size - 1) // divide + 1)`` along the same
    dimension, cut off at 0 and `extent`. So strides of windows are in `multiply`, their padding in
    `add` and their reach in `size`; groups of channels and reshaped dimensions are in `divide` and
    `scale`.

    Attributes
    ----------
    producer, consumer
        Numbers of operators.
    unit
        Bytes of the smallest part: for one index of the dimension in which the consumer is sliced
        and, if the producer is sliced in another one, one index of that.
    extent
        Extent of the tensor along the dimension in which the consumer is sliced.
    """

    producer: int
    consumer: int
    unit: int
    extent: int
    multiply: int
    add: int
    size: int
    divide: int
    scale: int

    @property
    def is_whole(self) -> bool:
        """Whether every part needs the whole tensor."""
        return self.multiply == 0

    def needed(self, begin: int, end: int) -> tuple[int, int]:
        """Return the indices that a part ``begin .. end - 1`` needs; an empty part needs none."""
        if begin >= end:
            return 0, 0
        first = self.scale * ((begin * self.multiply + self.add) // self.divide)
        reach = (end - 1) * self.multiply + self.add + self.size - 1
        last = self.scale * (reach // self.divide + 1)
        first = min(max(first, 0), self.extent)
        return first, max(first, min(last, self.extent))


def whole(producer: int, consumer: int, unit: int, extent: int) -> Edge:
    """Return an edge whose whole tensor every part of the consumer needs."""
    return Edge(producer, consumer, unit, extent, 0, 0, extent, 1, 1)


MOST_DEVICES = 16

# Fields with a value, or a row, for each operator.
PER_OPERATOR = ("length", "axis", "work", "weights", "output")

# So that products of lengths, strides and bytes stay within 64 bits.
LONGEST = 2**20
MOST_BYTES = 2**42


@dataclass(frozen=True, eq=False)
class SlicingGraph:
    """Operators in their order of execution, n edge devices, and the router between them.

    Attributes
    ----------
    length
        Indices of each of the N operators' outputs in the dimension in which it is sliced, shape
        (N,).
    axis
        That dimension: `CHANNELS` or `HEIGHT`, shape (N,).
    work
        Ticks of each whole operator on each device, shape (N, n).
    launch
        Ticks to start an operator with work, on each device, shape (n,).
    weights
        Bytes of each operator's parameters, shape (N,).
    output
        Bytes of one index of each operator's output, shape (N,).
    edges
        Tensors between operators.
    capacity
        Memory of each device in bytes, shape (n,).
    point_to_point, broadcast
        Pairs (ticks, bytes): the router takes so many ticks for so many bytes.
    delay
        Ticks until the first byte is there.
    names
        One name per operator, for people; not part of an instance's identity.
    device_names
        One name per device, likewise.
    tick
        What one tick is, e.g. ``"ns"``; ``"unit"`` for synthetic costs.
    """

    length: IntArray
    axis: IntArray
    work: IntArray
    launch: IntArray
    weights: IntArray
    output: IntArray
    edges: tuple[Edge, ...]
    capacity: IntArray
    point_to_point: tuple[int, int]
    broadcast: tuple[int, int]
    delay: int
    names: tuple[str, ...]
    device_names: tuple[str, ...]
    tick: str = "unit"

    def __post_init__(self) -> None:
        if not self.names:
            raise InvalidInputError("the graph has no operators; expected at least one.")
        if not 1 <= self.devices <= MOST_DEVICES:
            raise InvalidInputError(
                f"there are {self.devices} devices; expected 1 to {MOST_DEVICES}."
            )
        for field in ("length", "axis", "weights", "output"):
            values = non_negative_integers(getattr(self, field), field, self.names)
            object.__setattr__(self, field, values)
        for field in ("launch", "capacity"):
            values = non_negative_integers(getattr(self, field), field, self.device_names)
            object.__setattr__(self, field, values)
        object.__setattr__(self, "work", frozen(self.work, "work"))
        _check_operators(self)
        _check_router(self)
        # Refuse cycles when the graph is made.
        _ = self.dag
        _check_edges(self)
        _check_total(self)
        check_each_operator_fits(self)

    @property
    def nodes(self) -> int:
        """Number of operators, N."""
        return len(self.names)

    @property
    def devices(self) -> int:
        """Number of devices, n."""
        return len(self.device_names)

    @cached_property
    def dag(self) -> Dag:
        """Edges from the operator that writes a tensor to those that read it."""
        return Dag.from_edges(
            self.nodes, [(edge.producer, edge.consumer) for edge in self.edges], self.names
        )

    @cached_property
    def inputs(self) -> tuple[tuple[Edge, ...], ...]:
        """The edges into each operator."""
        found: list[list[Edge]] = [[] for _ in range(self.nodes)]
        for edge in self.edges:
            found[edge.consumer].append(edge)
        return tuple(map(tuple, found))

    @cached_property
    def last_use(self) -> IntArray:
        """The last operator that reads each operator's output, or itself, shape (N,)."""
        last = np.arange(self.nodes)
        for edge in self.edges:
            last[edge.producer] = max(last[edge.producer], edge.consumer)
        return frozen(last)

    def with_devices(self, count: int) -> "SlicingGraph":
        """Return the graph on the first devices.

        Raises
        ------
        InvalidInputError
            If there are not so many, or an operator does not fit on them.
        """
        if not 1 <= count <= self.devices:
            raise InvalidInputError(
                f"edge_devices is {count}; expected 1 to {self.devices}, the number of devices."
            )
        return replace(
            self,
            work=self.work[:, :count],
            launch=self.launch[:count],
            capacity=self.capacity[:count],
            device_names=self.device_names[:count],
        )

    def in_order(self, order: Sequence[int]) -> "SlicingGraph":
        """Return the graph with its operators in another order of execution.

        Parameters
        ----------
        order
            Numbers of the operators, first to last.

        Raises
        ------
        InvalidInputError
            If they do not occur once each, or an operator comes before one that it reads.
        """
        if sorted(order) != list(range(self.nodes)):
            raise InvalidInputError(
                f"the order does not have each of the {self.nodes} operators once."
            )
        place = {operator: at for at, operator in enumerate(order)}
        edges = [
            edge._replace(producer=place[edge.producer], consumer=place[edge.consumer])
            for edge in self.edges
        ]
        rows = list(order)
        return replace(
            self,
            **{field: getattr(self, field)[rows] for field in PER_OPERATOR},
            edges=tuple(sorted(edges, key=lambda edge: (edge.consumer, edge.producer))),
            names=tuple(self.names[operator] for operator in order),
        )


def _check_operators(graph: SlicingGraph) -> None:
    if graph.work.shape != (graph.nodes, graph.devices):
        raise InvalidInputError(
            f"work has the shape {graph.work.shape}; expected {(graph.nodes, graph.devices)}."
        )
    if graph.work.size and graph.work.min() < 0:
        raise InvalidInputError(f"a work is {graph.work.min()}; expected none below 0.")
    for name, length, axis in zip(
        graph.names, graph.length.tolist(), graph.axis.tolist(), strict=True
    ):
        if not 1 <= length <= LONGEST:
            raise InvalidInputError(
                f"length of operator {name!r} is {length}; expected 1 to {LONGEST}."
            )
        if axis not in (CHANNELS, HEIGHT):
            raise InvalidInputError(
                f"axis of operator {name!r} is {axis}; expected {CHANNELS} for channels or "
                f"{HEIGHT} for height."
            )


def _check_router(graph: SlicingGraph) -> None:
    for field in ("point_to_point", "broadcast"):
        ticks, size = getattr(graph, field)
        if ticks < 0 or ticks > LONGEST or not 1 <= size <= LONGEST:
            raise InvalidInputError(
                f"{field} is {ticks} ticks for {size} bytes; expected at least 0 for at least 1, "
                f"and at most {LONGEST} of both."
            )
    if graph.delay < 0:
        raise InvalidInputError(f"delay is {graph.delay}; expected none below 0.")


def _check_edges(graph: SlicingGraph) -> None:
    for edge in graph.edges:
        producer, consumer = graph.names[edge.producer], graph.names[edge.consumer]
        what = f"the edge from {producer!r} to {consumer!r}"
        if edge.producer >= edge.consumer:
            raise InvalidInputError(
                f"operator {consumer!r} comes before {producer!r}, which it reads; expected "
                "operators in an order in which they can run."
            )
        is_legal = (
            0 <= edge.unit <= MOST_BYTES
            and all(1 <= value <= LONGEST for value in (edge.extent, edge.divide, edge.scale))
            and 0 <= edge.multiply <= LONGEST
            and 1 <= edge.size <= LONGEST
            and abs(edge.add) <= LONGEST
        )
        if not is_legal:
            raise InvalidInputError(f"{what} has numbers out of range: {tuple(edge)[2:]}.")
        if edge.is_whole and tuple(edge)[5:] != (0, edge.extent, 1, 1):
            raise InvalidInputError(
                f"{what} has multiply 0; expected add 0, size {edge.extent}, divide 1 and scale 1."
            )
        crosses = graph.axis[edge.producer] != graph.axis[edge.consumer]
        if not crosses and edge.extent != graph.length[edge.producer]:
            raise InvalidInputError(
                f"{what} has the extent {edge.extent}; expected {graph.length[edge.producer]}, the "
                "producer's length, because both are sliced in the same dimension."
            )
        # Sizes are rounded up to whole bytes, here by index and there by index of both dimensions.
        # Outputs of 0 bytes are not counted.
        parts, output = edge.extent if crosses else 1, int(graph.output[edge.producer])
        if edge.unit and output and (edge.unit - 1) * parts >= output:
            raise InvalidInputError(
                f"{what} has a unit of {edge.unit} bytes, but an index of the output of "
                f"{producer!r} has {output}; expected a tensor that is no larger than the output "
                "that it is read from."
            )


def tensor_bytes(graph: SlicingGraph, edge: Edge) -> int:
    """Return the size of an edge's tensor."""
    crosses = graph.axis[edge.producer] != graph.axis[edge.consumer]
    return edge.unit * edge.extent * (int(graph.length[edge.producer]) if crosses else 1)


def _check_total(graph: SlicingGraph) -> None:
    """Refuse costs whose sums may be inexact."""
    total = sum(map(max, graph.work.tolist())) + graph.nodes * (
        graph.delay + 2 + max(graph.launch.tolist())
    )
    size = 0
    for edge in graph.edges:
        moved = tensor_bytes(graph, edge)
        size += moved
        for ticks, per in (graph.point_to_point, graph.broadcast):
            total += moved * ticks // per + 1
    if total > LARGEST_TOTAL:
        raise InvalidInputError(
            f"all operators and transfers take up to {total:.3g} ticks; expected at most 2^53, so "
            "use a coarser tick."
        )
    for length, unit in zip(graph.length.tolist(), graph.output.tolist(), strict=True):
        size += length * unit
    if size + sum(graph.weights.tolist()) + sum(graph.capacity.tolist()) > LARGEST_TOTAL:
        raise InvalidInputError("the bytes add up to more than 2^53; expected less.")


def weight_share(graph: SlicingGraph, operator: int, width: int) -> int:
    """Return the bytes of parameters for a number of indices of an operator.

    Slices of channels need their share; slices of the height need all parameters, if not empty.
    """
    weights, length = int(graph.weights[operator]), int(graph.length[operator])
    if graph.axis[operator] == CHANNELS:
        return -(-weights * width // length)
    return weights if width else 0


def least_memory(graph: SlicingGraph, operator: int, width: int) -> int:
    """Return a lower bound on the memory of a part of this width: parameters, output, inputs.

    Of a tensor that is needed whole, a device computed h indices and received the rest. What it
    holds is linear in h, so it is least where h is 0 or all: the tensor as it is received, or the
    output as its producer holds it, which differ by rounding. Several tensors of one producer
    count once.
    """
    if not width:
        return 0
    taken = weight_share(graph, operator, width) + width * int(graph.output[operator])
    received: dict[int, int] = {}
    for edge in graph.inputs[operator]:
        if edge.is_whole:
            other = received.get(edge.producer, 0)
            received[edge.producer] = other + tensor_bytes(graph, edge)
    for producer, size in received.items():
        taken += min(size, int(graph.length[producer]) * int(graph.output[producer]))
    return taken


def check_each_operator_fits(graph: SlicingGraph) -> None:
    """Refuse memory limits that no slicing of some operator meets."""
    capacity = graph.capacity.tolist()
    for operator, name in enumerate(graph.names):
        length = int(graph.length[operator])
        if _room(graph, operator, capacity) >= length:
            continue
        needed = range(1, least_memory(graph, operator, length))
        more = needed.start + bisect_left(needed, True, key=partial(_fits_with, graph, operator))
        raise NoRoomError(
            f"no slicing of operator {name!r} meets the memory limits {capacity}: each device "
            f"would need at least {more} bytes more."
        )


def _fits_with(graph: SlicingGraph, operator: int, more: int) -> bool:
    """Whether an operator fits on all devices together if each has so many bytes more."""
    capacity = [limit + more for limit in graph.capacity.tolist()]
    return _room(graph, operator, capacity) >= int(graph.length[operator])


def _room(graph: SlicingGraph, operator: int, capacity: list[int]) -> int:
    """Return how many indices of an operator fit on all devices together, one more than needed."""
    length = int(graph.length[operator])
    room = 0
    for limit in capacity:
        least = partial(least_memory, graph, operator)
        room += bisect_right(range(1, length + 1), limit, key=least)
        if room >= length:
            break
    return room
