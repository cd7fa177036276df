"""A chain of layers with costs on the devices that may run them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate

import numpy as np

from boundmark.problems.arrays import IntArray, frozen, non_negative_integers
from boundmark.problems.dag import Dag
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.ticks import LARGEST_TOTAL

# So that a table of pairs of types, and one of all devices, stays small.
MOST_DEVICES = 1024
MOST_LAYERS = 16384


@dataclass(frozen=True)
class Origin:
    """Facts about a chain beside its costs; they are no part of an instance's identity.

    Attributes
    ----------
    costs
        What its times rest on, in words.
    facts
        The model's size, by what it is called.
    notes
        What was taken for granted, as sentences.
    phase, batch, context
        What runs: sequences of a micro-batch, and tokens of a sequence; 0 where nobody knows.
    predicting
        Layers behind the repeated ones that predict further words, and that the chain is without.
    beside
        Modules with parameters that are no layers here, before the repeated layers and behind.
    pattern
        Each repeated layer in the letters of Megatron-LM's patterns; empty if these have none.
    """

    costs: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    phase: str = ""
    batch: int = 0
    context: int = 0
    predicting: int = 0
    beside: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    pattern: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Split:
    """Times and bytes of layers that keep a part of themselves on the host.

    Attributes
    ----------
    host
        The type of the host, if it can have layers of its own; else none.
    room
        Bytes that the host has.
    time
        Ticks of each layer if it is split, on each type, shape (T, n).
    bytes
        Bytes of each layer's weights that are on the host then, shape (n,).
    most
        How many layers may be split: the first ones behind those before the repeated ones.
    is_joined
        Whether split layers are in one stage with all before them.
    """

    host: tuple[int, ...]
    room: int
    time: IntArray
    bytes: IntArray
    most: int
    is_joined: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "time", frozen(self.time, "split_time"))
        object.__setattr__(self, "bytes", frozen(self.bytes, "split_bytes"))


@dataclass(frozen=True, eq=False)
class LayerChain:
    """n layers in their order, and devices of some types, which differ in costs, memory and links.

    Two devices are of one type if nothing but their names tells them apart: same times, memory and
    links to all others.

    Attributes
    ----------
    time
        Ticks of each layer on each type, forward and, in training, backward pass, shape (T, n).
    weights
        Bytes that each layer keeps on its device: parameters, state of an optimiser, shape (n,).
    held
        Bytes that each layer keeps for each micro-batch in flight, shape (n,): its cache of keys
        and values, or activations in training.
    tied
        Triples ``(i, j, bytes)``: layers i < j share so many bytes, which a device that has both
        keeps once.
    joined
        Layers that share a device with the layer before them, ascending.
    transfer
        Ticks to move what each layer but the last hands on, over each kind of link, shape (L, n -
        1).
    link
        Kind of the link from a device of the row's type to another one of the column's, shape (T,
        T).
    devices
        Type of each device, in the order in which they stand.
    capacity
        Bytes of memory of each type, shape (T,).
    sizes
        Bytes of each layer's parameters alone, which tools go by, shape (n,).
    outer
        How many layers at the beginning and at the end are none of the repeated ones: an embedding,
        and scores of words.
    names
        One name per layer, for people; not part of an instance's identity.
    device_names
        One name per device, likewise.
    tick
        What one tick is, e.g. ``"ns"``; ``"unit"`` for synthetic costs.
    made_of
        The options that the chain was made with.
    origin
        What a chain that was made of a model says of it, likewise.
    first
        Types whose devices can only have the first stage, as a host in llama.cpp.
    split
        What changes for layers that keep a part of themselves on the host; None if none may.
    """

    time: IntArray
    weights: IntArray
    held: IntArray
    tied: tuple[tuple[int, int, int], ...]
    joined: tuple[int, ...]
    transfer: IntArray
    link: IntArray
    devices: tuple[int, ...]
    capacity: IntArray
    sizes: IntArray
    outer: tuple[int, int]
    names: tuple[str, ...]
    device_names: tuple[str, ...]
    tick: str = "unit"
    made_of: dict[str, int | str] = field(default_factory=dict)
    origin: Origin = Origin()
    first: tuple[int, ...] = ()
    split: Split | None = None

    def __post_init__(self) -> None:
        if not 1 <= len(self.names) <= MOST_LAYERS:
            raise InvalidInputError(
                f"there are {len(self.names)} layers; expected 1 to {MOST_LAYERS}."
            )
        if not 1 <= len(self.devices) <= MOST_DEVICES:
            raise InvalidInputError(
                f"there are {len(self.devices)} devices; expected 1 to {MOST_DEVICES}."
            )
        for name in ("weights", "held", "sizes"):
            values = non_negative_integers(getattr(self, name), name, self.names)
            object.__setattr__(self, name, values)
        for name in ("time", "transfer", "link", "capacity"):
            object.__setattr__(self, name, _table(getattr(self, name), name))
        self._check_shapes()
        self._check_groups()
        self._check_total()
        self._check_host()
        if self.split is None:
            self.check_memory()

    @property
    def layers(self) -> int:
        """Number of layers, n."""
        return len(self.names)

    @property
    def types(self) -> int:
        """Number of types of devices, T."""
        return len(self.capacity)

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """The number of devices of each type."""
        return tuple(self.devices.count(kind) for kind in range(self.types))

    @cached_property
    def dag(self) -> Dag:
        """The chain as a graph."""
        pairs = [(at, at + 1) for at in range(self.layers - 1)]
        return Dag.from_edges(self.layers, pairs, self.names)

    @cached_property
    def _before(self) -> list[tuple[int, int]]:
        """Bytes of `weights` and of `held` before each layer, and of all."""
        sums = (accumulate(one.tolist(), initial=0) for one in (self.weights, self.held))
        return list(zip(*sums, strict=True))

    def memory(self, first: int, end: int, in_flight: int) -> int:
        """Return the bytes that layers ``first .. end - 1`` take together on one device."""
        shared = sum(size for i, j, size in self.tied if first <= i and j < end)
        (kept, held), (before, held_before) = self._before[end], self._before[first]
        return kept - before - shared + in_flight * (held - held_before)

    def with_split(self, count: int) -> "LayerChain":
        """Return the chain in which so many layers keep a part of themselves on the host.

        Raises
        ------
        InvalidInputError
            If it does not fit into the memory.
        """
        split, before = self.split, self.outer[0]
        assert split is not None
        moved = range(before, before + count)
        room = split.room - sum(map(int, split.bytes[before : before + count]))
        if room < 0:
            raise InvalidInputError(
                f"{count} split layers take {split.room - room:,} bytes on the host, {-room:,} "
                "more than it has; expected fewer, or more memory."
            )
        time, weights, capacity = (np.array(x) for x in (self.time, self.weights, self.capacity))
        time[:, before : before + count] = split.time[:, before : before + count]
        weights[before : before + count] -= split.bytes[before : before + count]
        capacity[list(split.host)] = room
        joined = self.joined
        if split.is_joined and count:
            joined = tuple(sorted({*joined, *range(1, moved.stop)}))
        return replace(
            self, time=frozen(time), weights=frozen(weights), capacity=frozen(capacity),
            joined=joined, split=None,
        )  # fmt: skip

    def check_memory(self) -> None:
        """Refuse a chain with a layer that fits on no device, or larger than all memory."""
        largest = int(self.capacity.max())
        for at, name in enumerate(self.names):
            needed = self.memory(at, at + 1, 1)
            if needed > largest:
                raise InvalidInputError(
                    f"layer {quoted(name)} takes {needed:,} bytes, {needed - largest:,} more "
                    "than the "
                    f"largest device has; expected devices with more memory."
                )
        needed = self.memory(0, self.layers, 1)
        total = sum(int(self.capacity[kind]) for kind in self.devices)
        if needed > total:
            raise InvalidInputError(
                f"the {self.layers} layers take {needed:,} bytes, and the {len(self.devices)} "
                "devices "
                f"have {total:,}: {needed - total:,} are missing; expected more memory, "
                "or a host's beside it, such as --devices 3090,cpu:64GiB."
            )

    def _check_shapes(self) -> None:
        n, kinds, links = self.layers, self.capacity.size, len(self.transfer)
        expected = {
            "time": (kinds, n), "transfer": (links, n - 1), "link": (kinds, kinds),
            "capacity": (kinds,),
        }  # fmt: skip
        for name, shape in expected.items():
            found = getattr(self, name).shape
            is_single = name == "transfer" and n == 1 and not getattr(self, name).size
            if found != shape and not is_single:
                raise InvalidInputError(f"{name} has the shape {found}; expected {shape}.")
        if set(self.devices) != set(range(self.types)):
            raise InvalidInputError(
                f"devices have the types {sorted(set(self.devices))}; "
                f"expected each of 0 to {self.types - 1} at least once."
            )
        if len(self.device_names) != len(self.devices):
            raise InvalidInputError("device_names is not one name for each device.")
        if links == 0 or (self.link >= links).any():
            raise InvalidInputError(f"link names kinds beyond the {links} of transfer.")

    def _check_groups(self) -> None:
        if len(self.outer) != 2 or min(self.outer) < 0 or sum(self.outer) > self.layers:
            raise InvalidInputError(
                f"outer is {quoted(self.outer)}; expected how many layers are at both ends, at "
                "most "
                f"{self.layers}."
            )
        if any(not 0 < at < self.layers for at in self.joined) or list(self.joined) != sorted(
            set(self.joined)
        ):
            raise InvalidInputError(
                f"joined is {quoted(self.joined)}; expected layers from 1 to {self.layers - 1}, "
                "ascending."
            )
        seen: set[int] = set()
        for i, j, size in self.tied:
            if not 0 <= i < j < self.layers or {i, j} & seen:
                raise InvalidInputError(
                    f"tied has {[i, j]}; expected pairs of layers, each layer in one at most."
                )
            if not 0 <= size <= min(int(self.weights[i]), int(self.weights[j])):
                raise InvalidInputError(
                    f"layers {i} and {j} share {size} bytes; expected no more than either keeps."
                )
            seen |= {i, j}

    def _check_host(self) -> None:
        if list(self.first) != sorted({*self.first} & {*range(self.types)}):
            raise InvalidInputError(
                f"first is {quoted(self.first)}; expected types of devices, ascending."
            )
        split = self.split
        if split is None:
            return
        if split.time.shape != self.time.shape or split.bytes.shape != self.weights.shape:
            raise InvalidInputError(
                "split_time or split_bytes is not as large as time and weights; expected as many."
            )
        if (split.time < 0).any() or (split.bytes < 0).any() or (split.bytes > self.weights).any():
            raise InvalidInputError(
                "split_time or split_bytes has an entry below 0 or more bytes than weights; "
                "expected none."
            )
        if not 0 <= split.room <= LARGEST_TOTAL:
            raise InvalidInputError(f"room is {split.room}; expected 0 to 2^53.")
        if not 0 <= split.most <= self.layers - sum(self.outer):
            raise InvalidInputError(
                f"most_split is {split.most}; expected 0 to {self.layers - sum(self.outer)}."
            )
        if len(split.host) > 1 or any(
            not 0 <= kind < self.types or self.devices.count(kind) > 1 for kind in split.host
        ):
            raise InvalidInputError(
                f"host is {quoted(split.host)}; expected the type of a single device, or none."
            )

    def _check_total(self) -> None:
        """Refuse costs so large that sums of them could be inexact."""
        slowest = int(self.time.max(axis=0).astype(object).sum())
        moved = int(self.transfer.max(axis=0).astype(object).sum()) if self.layers > 1 else 0
        if slowest + moved > LARGEST_TOTAL:
            raise InvalidInputError(
                f"the costs add up to {slowest + moved:.3g} ticks; expected at most 2^53, so use a "
                "coarser tick."
            )
        bytes_ = sum(map(int, self.weights)) + sum(map(int, self.held))
        if max(bytes_, int(self.sizes.max())) > LARGEST_TOTAL:
            raise InvalidInputError(
                f"the layers take {bytes_:.3g} bytes; expected at most 2^53, so use a larger unit."
            )


def _table(values: object, name: str) -> IntArray:
    table = frozen(values, name)
    if (table < 0).any():
        raise InvalidInputError(f"{name} has a negative entry; expected none.")
    if table.size and int(np.asarray(table).max()) > LARGEST_TOTAL:
        raise InvalidInputError(f"{name} has an entry of {table.max()}; expected at most 2^53.")
    return table
