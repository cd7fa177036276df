"""A model's graph with its costs on the devices of a cluster, as device placement needs it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from boundmark.problems.arrays import IntArray, frozen, non_negative_integers
from boundmark.problems.dag import Dag
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.ticks import LARGEST_TOTAL

# As a duration: the device cannot run the operator.
UNSUPPORTED = -1

MOST_DEVICES = 64


@dataclass(frozen=True, eq=False)
class PlacementGraph:
    """Operators, tensors and devices with integer costs ([MOIRAI24], Section III-D).

    Attributes
    ----------
    duration
        Ticks of each of the n operators on each of the D devices, shape (n, D); `UNSUPPORTED` where
        the device cannot run it.
    memory
        What each operator takes of its device's memory, shape (n,).
    capacity
        Memory of each device, shape (D,).
    producer
        The operator that writes each of the T tensors, shape (T,).
    consumers
        The operators that read each tensor: ascending, at least one.
    size
        For each tensor the number of its table in `times`, shape (T,).
    times
        Ticks to move a tensor from row to column, a table per size, shape (S, D, D); 0 on the
        diagonals. Tensors of equal size share a table.
    names
        One name per operator, for people; not part of an instance's identity.
    device_names
        One name per device, likewise.
    tick
        What one tick is, e.g. ``"ns"``; ``"unit"`` for synthetic costs.
    op_types
        The type of each operator, e.g. ``"Conv"``, for fusion; none if they are not known.
    output_shapes
        The shape of what each operator writes, of the first tensor if there are several; none if
        they are not known.
    """

    duration: IntArray
    memory: IntArray
    capacity: IntArray
    producer: IntArray
    consumers: tuple[tuple[int, ...], ...]
    size: IntArray
    times: IntArray
    names: tuple[str, ...]
    device_names: tuple[str, ...]
    tick: str = "unit"
    op_types: tuple[str, ...] = ()
    output_shapes: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        for field in ("duration", "producer", "size", "times"):
            object.__setattr__(self, field, frozen(getattr(self, field), field))
        if not self.names:
            raise InvalidInputError("the graph has no operators; expected at least one.")
        if not 1 <= self.devices <= MOST_DEVICES:
            raise InvalidInputError(
                f"there are {self.devices} devices; expected 1 to {MOST_DEVICES}."
            )
        memory = non_negative_integers(self.memory, "memory", self.names)
        capacity = non_negative_integers(self.capacity, "capacity", self.device_names)
        object.__setattr__(self, "memory", memory)
        object.__setattr__(self, "capacity", capacity)
        _check_shapes(self)
        _check_tensors(self)
        _check_costs(self)
        _check_memory(self)
        # Refuse cycles when the graph is made.
        _ = self.dag

    @property
    def nodes(self) -> int:
        """Number of operators, n."""
        return len(self.names)

    @property
    def devices(self) -> int:
        """Number of devices, D."""
        return len(self.device_names)

    @cached_property
    def dag(self) -> Dag:
        """Edges from the operator that writes a tensor to those that read it."""
        edges = [
            (producer, consumer)
            for producer, readers in zip(self.producer.tolist(), self.consumers, strict=True)
            for consumer in readers
        ]
        return Dag.from_edges(self.nodes, edges, self.names)

    @cached_property
    def is_supported(self) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Whether each device can run each operator, shape (n, D)."""
        return np.asarray(self.duration != UNSUPPORTED)


def _check_shapes(graph: PlacementGraph) -> None:
    n, d, tensors = graph.nodes, graph.devices, len(graph.consumers)
    for field, shape in (
        ("duration", (n, d)),
        ("producer", (tensors,)),
        ("size", (tensors,)),
        ("times", (*graph.times.shape[:1], d, d)),
    ):
        found = getattr(graph, field).shape
        # An empty list has one axis; the tables have three.
        if found != shape and not (field == "times" and found == (0,)):
            raise InvalidInputError(f"{field} has the shape {found}; expected {shape}.")
    for field in ("op_types", "output_shapes"):
        given = len(getattr(graph, field))
        if given not in (0, n):
            raise InvalidInputError(f"there are {given} {field}; expected {n} or none.")
    if not len(graph.times):
        object.__setattr__(graph, "times", frozen(np.zeros((0, d, d), dtype=np.int64)))


def _check_tensors(graph: PlacementGraph) -> None:
    for tensor, (producer, readers, size) in enumerate(
        zip(graph.producer.tolist(), graph.consumers, graph.size.tolist(), strict=True)
    ):
        if any(type(reader) is not int for reader in readers):
            raise InvalidInputError(f"consumers of tensor {tensor} are not operator numbers.")
        if not readers or list(readers) != sorted(set(readers)):
            raise InvalidInputError(
                f"consumers of tensor {tensor} are {list(readers)[:9]}; "
                "expected at least one, ascending."
            )
        for operator in (producer, readers[0], readers[-1]):
            if not 0 <= operator < graph.nodes:
                raise InvalidInputError(
                    f"tensor {tensor} names operator {operator}; expected 0 to {graph.nodes - 1}."
                )
        if not 0 <= size < len(graph.times):
            raise InvalidInputError(
                f"size of tensor {tensor} is {size}; expected the number of one of the "
                f"{len(graph.times)} tables of times."
            )


def _check_costs(graph: PlacementGraph) -> None:
    duration, times = graph.duration, graph.times
    if duration.min() < UNSUPPORTED:
        raise InvalidInputError(
            f"a duration is {duration.min()}; expected ticks, or -1 where a device cannot run "
            "the operator."
        )
    if times.size and times.min() < 0:
        raise InvalidInputError(f"a time of a transfer is {times.min()}; expected none below 0.")
    if times.size and np.einsum("sdd->sd", times).any():
        raise InvalidInputError("a tensor takes time from a device to itself; expected 0.")
    longest = times.reshape(len(times), graph.devices**2).max(axis=1, initial=0).tolist()
    moved = sum(
        longest[size] * len(readers)
        for size, readers in zip(graph.size.tolist(), graph.consumers, strict=True)
    )
    total = sum(map(max, duration.tolist())) + moved
    if total > LARGEST_TOTAL:
        raise InvalidInputError(
            f"all operators and transfers take up to {total:.3g} ticks; expected at most 2^53, so "
            "use a coarser tick."
        )


def _check_memory(graph: PlacementGraph) -> None:
    memory, capacity = graph.memory.tolist(), graph.capacity.tolist()
    if sum(memory) + sum(capacity) > LARGEST_TOTAL:
        raise InvalidInputError(
            "memory and capacity add up to more than 2^53; expected less, so use a larger unit."
        )
    supported = graph.duration != UNSUPPORTED
    if not supported.any(axis=1).all():
        name = graph.names[int(np.argmin(supported.any(axis=1)))]
        raise InvalidInputError(f"no device supports operator {name!r}; expected at least one.")
    fits = supported & (graph.memory[:, None] <= graph.capacity[None, :])
    if not fits.any(axis=1).all():
        node = int(np.argmin(fits.any(axis=1)))
        raise InvalidInputError(
            f"operator {graph.names[node]!r} takes {memory[node]} of memory, more than any device "
            "that supports it has; expected one with room for it."
        )
    if sum(memory) > sum(capacity):
        raise InvalidInputError(
            f"the operators take {sum(memory)} of memory, and the devices have {sum(capacity)} "
            "together; expected room for all."
        )


def tensor_edges(graph: PlacementGraph) -> Sequence[tuple[int, int, int]]:
    """Return a triple (tensor, producer, consumer) for each consumer of each tensor."""
    return [
        (tensor, producer, consumer)
        for tensor, (producer, readers) in enumerate(
            zip(graph.producer.tolist(), graph.consumers, strict=True)
        )
        for consumer in readers
    ]
