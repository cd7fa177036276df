"""A model's graph with its costs on the devices of a cluster, as device placement needs it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from boundmark.problems.arrays import IntArray, frozen, non_negative_integers
from boundmark.problems.dag import Dag
from boundmark.problems.errors import InvalidInputError, NoRoomError
from boundmark.problems.ticks import LARGEST_TOTAL

FloatArray: TypeAlias = NDArray[np.float64]
BoolArray: TypeAlias = NDArray[np.bool_]

# As a duration: the device cannot run the operator.
UNSUPPORTED = -1

MOST_DEVICES = 64


def _nothing() -> IntArray:
    return frozen(np.zeros(0, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class FusedCosts:
    """The operations and bytes of operators that run as one kernel ([ROOFLINE09]).

    The kernel takes the longer of its arithmetic and its memory traffic, and one launch. A tensor
    between two of its operators is neither written nor read.

    Attributes
    ----------
    arithmetic
        Seconds of each operator's arithmetic on each device, shape (n, D).
    traffic
        Bytes that each operator reads and writes, shape (n,); 0 if it is free.
    bandwidth
        Bytes per second of each device's memory, shape (D,).
    overhead
        Seconds of a launch on each device, shape (D,).
    is_free
        Whether each operator takes no time, shape (n,).
    tensor_bytes
        Size of each tensor, shape (T,).
    is_returned
        Whether each tensor is a result of the model, so that it is written anyway, shape (T,).
    """

    arithmetic: FloatArray
    traffic: IntArray
    bandwidth: FloatArray
    overhead: FloatArray
    is_free: BoolArray
    tensor_bytes: IntArray
    is_returned: BoolArray


@dataclass(frozen=True, eq=False)
class PlacementGraph:
    """Operators, tensors and devices with integer costs ([MOIRAI24], Section III-D).

    Attributes
    ----------
    duration
        Ticks of each of the n operators on each of the D devices, shape (n, D); `UNSUPPORTED` where
        the device cannot run it.
    memory
        What each operator takes of its device's memory all the time, shape (n,).
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
    tensor_memory
        What each tensor takes of a device's memory while it is live there, shape (T,); empty if
        that is part of `memory`.
    result_memory
        What each operator writes and nobody reads, shape (n,), likewise.
    fusing
        What the time of a fused operator follows from; None if it is that of its operators.
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
    tensor_memory: IntArray = field(default_factory=_nothing)
    result_memory: IntArray = field(default_factory=_nothing)
    fusing: FusedCosts | None = None

    def __post_init__(self) -> None:
        for name in ("duration", "producer", "size", "times"):
            object.__setattr__(self, name, frozen(getattr(self, name), name))
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
        _check_live(self)
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

    @property
    def is_live(self) -> bool:
        """Whether tensors take memory only while they are live (model `parameters+live`)."""
        return len(self.result_memory) > 0

    @cached_property
    def readings(self) -> tuple[IntArray, IntArray]:
        """Tensor and operator of each reading of a tensor, by tensor, two of one shape."""
        lengths = [len(readers) for readers in self.consumers]
        readers = np.array([v for row in self.consumers for v in row], dtype=np.int64)
        return frozen(np.repeat(np.arange(len(lengths)), lengths)), frozen(readers)

    @cached_property
    def needed(self) -> IntArray:
        """Memory of each operator while it runs: `memory`, inputs and outputs, shape (n,)."""
        needed = self.memory.copy()
        if self.is_live:
            needed += self.result_memory
            np.add.at(needed, self.producer, self.tensor_memory)
            tensor, reader = self.readings
            np.add.at(needed, reader, self.tensor_memory[tensor])
        return frozen(needed)

    @cached_property
    def fits(self) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Whether each device supports each operator and has room for it alone, shape (n, D)."""
        needed = np.where(self.duration > 0, self.needed[:, None], self.memory[:, None])
        return np.asarray(self.is_supported & (needed <= self.capacity))

    @cached_property
    def is_supported(self) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Whether each device can run each operator, shape (n, D)."""
        return np.asarray(self.duration != UNSUPPORTED)


def with_kept_outputs(graph: PlacementGraph) -> PlacementGraph:
    """Return a graph whose operators hold memory for their outputs all the time.

    That is model `parameters+outputs` ([MOIRAI24], Equation 5).
    """
    if not graph.is_live:
        return graph
    memory = graph.memory + graph.result_memory
    np.add.at(memory, graph.producer, graph.tensor_memory)
    return replace(graph, memory=frozen(memory), tensor_memory=_nothing(), result_memory=_nothing())


def _check_live(graph: PlacementGraph) -> None:
    """Refuse sizes of tensors that are not one each, or negative."""
    numbers = tuple(map(str, range(len(graph.tensor_memory))))
    tensors = non_negative_integers(graph.tensor_memory, "tensor_memory", numbers)
    names = graph.names if len(graph.result_memory) else ()
    results = non_negative_integers(graph.result_memory, "result_memory", names)
    if len(tensors) != (len(graph.consumers) if len(results) else 0):
        raise InvalidInputError(
            f"there are {len(tensors)} sizes of tensors and {len(results)} of results; expected "
            f"{len(graph.consumers)} and {graph.nodes}, or none."
        )
    object.__setattr__(graph, "tensor_memory", tensors)
    object.__setattr__(graph, "result_memory", results)


def _check_shapes(graph: PlacementGraph) -> None:
    n, d, tensors = graph.nodes, graph.devices, len(graph.consumers)
    for name, shape in (
        ("duration", (n, d)),
        ("producer", (tensors,)),
        ("size", (tensors,)),
        ("times", (*graph.times.shape[:1], d, d)),
    ):
        found = getattr(graph, name).shape
        # An empty list has one axis; the tables have three.
        if found != shape and not (name == "times" and found == (0,)):
            raise InvalidInputError(f"{name} has the shape {found}; expected {shape}.")
    for name in ("op_types", "output_shapes"):
        given = len(getattr(graph, name))
        if given not in (0, n):
            raise InvalidInputError(f"there are {given} {name}; expected {n} or none.")
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
    if max(duration.max(), times.max(initial=0)) > LARGEST_TOTAL:
        raise InvalidInputError(
            "a duration or a time of a transfer is more than 2^53 ticks; expected less, so use a "
            "coarser tick."
        )
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
    live = sum(graph.tensor_memory.tolist()) + sum(graph.result_memory.tolist())
    if sum(memory) + sum(capacity) + live * (1 + graph.devices) > LARGEST_TOTAL:
        raise InvalidInputError(
            "memory and capacity add up to more than 2^53; expected less, so use a larger unit."
        )
    if not graph.is_supported.any(axis=1).all():
        name = graph.names[int(np.argmin(graph.is_supported.any(axis=1)))]
        raise InvalidInputError(f"no device supports operator {name!r}; expected at least one.")
    if not graph.fits.any(axis=1).all():
        node = int(np.argmin(graph.fits.any(axis=1)))
        able = np.flatnonzero(graph.is_supported[node])
        # The one that comes closest.
        device = int(able[np.argmax(graph.capacity[able])])
        needed = int(graph.needed[node])
        raise NoRoomError(
            f"operator {graph.names[node]!r} takes {needed} of memory, more than any device "
            f"that supports it has: device {graph.device_names[device]!r} has {capacity[device]}, "
            f"{needed - capacity[device]} too little; expected one with room for it."
        )
    missing = sum(memory) - sum(capacity)
    if missing > 0:
        device = int(np.argmin(graph.capacity))
        raise NoRoomError(
            f"the operators take {sum(memory)} of memory, and the devices have {sum(capacity)} "
            f"together, {missing} too little; the tightest is {graph.device_names[device]!r} with "
            f"{capacity[device]}; expected room for all."
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
