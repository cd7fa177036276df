"""A part of the chain: its proven least ticks, and the best schedules found.

Models repeat layers, and clusters devices. Parts whose modules are the same share what is found of
them, and so do pairs of devices that are alike.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from boundmark.bounds.checker import TooLarge
from boundmark.bounds.checker.placement.alike import first_pair, module_key
from boundmark.bounds.checker.placement.instance import Instance
from boundmark.bounds.checker.placement.module_data import Module, Scratch
from boundmark.bounds.checker.placement.module_search import FOUND, REFUTED
from boundmark.bounds.checker.placement.modules import module_of, scratch_for
from boundmark.bounds.checker.placement.paths import OUTSIDE, Jump, Network
from boundmark.bounds.placement.series.compiled import as_arrays, search, zeros

Pair = tuple[int, int]


@dataclass(frozen=True)
class ModuleSchedule:
    """A schedule of a module, from the end of its first operator on."""

    # Until its last operator starts.
    ticks: int
    # Devices of its operators, the ends among them.
    devices: tuple[int, ...]
    starts: tuple[int, ...]
    # Arc, device of the receiver and start of each transfer.
    moves: tuple[tuple[int, int, int], ...]

    def exchanged(self, place: Sequence[int]) -> "ModuleSchedule":
        """Return the schedule with other devices in place of its own."""
        return replace(
            self,
            devices=tuple(place[d] for d in self.devices),
            moves=tuple((arc, place[d], start) for arc, d, start in self.moves),
        )


@dataclass(frozen=True)
class Proof:
    """A refutation of a threshold: a search with its steps, or the weights of a row."""

    threshold: int
    steps: int = 0
    weights: tuple[int, ...] = ()


@dataclass
class Known:
    """Bounds of a module, by devices of its first and its last operator."""

    # Proven ticks.
    least: dict[Pair, int]
    # What paths prove of them.
    by_paths: dict[Pair, int]
    # Proofs of what is known beyond that.
    proofs: dict[Pair, Proof] = field(default_factory=dict)
    # The shortest schedules found, of the first pair of devices of those that are alike.
    best: dict[Pair, ModuleSchedule] = field(default_factory=dict)

    def copy(self) -> "Known":
        """Return a copy that can be weakened without any change to this one."""
        return Known(dict(self.least), self.by_paths, dict(self.proofs), self.best)


# What is known of modules, by what tells them apart.
Shared = dict[object, Known]


@dataclass
class Part:
    """An interval of the chain."""

    first: int
    last: int
    body: list[int]
    # Shared by all parts with the same module.
    known: Known
    # For searches; None if there are too many operators.
    module: Module | None
    room: Scratch | None

    @classmethod
    def of(
        cls,
        instance: Instance,
        network: Network,
        written: list[list[int]],
        ends: Pair,
        shared: Shared,
    ) -> "Part":
        """Return an interval with its bounds by paths, or with those known of the same module."""
        first, last = ends
        body = network.inside(first, last)
        module = room = key = None
        try:
            module = as_arrays(module_of(instance, network, written, ends, body))
            room = scratch_for(module, zeros)
            key = module_key(module), first == OUTSIDE, last == OUTSIDE
        except TooLarge:
            # Too large for a search: only loads bound it.
            pass
        if key is not None and key in shared:
            return cls(first, last, body, shared[key], module, room)
        sources, targets = (1 if v == OUTSIDE else network.devices for v in (first, last))
        least = {
            (source, target): ticks
            for source in range(sources)
            for target, ticks in enumerate(network.heads(first, source, body, last)[1][:targets])
        }
        known = Known(least, dict(least))
        if key is not None:
            shared[key] = known
        return cls(first, last, body, known, module, room)

    @property
    def least(self) -> dict[Pair, int]:
        """The proven ticks of each pair of devices."""
        return self.known.least

    @property
    def by_paths(self) -> dict[Pair, int]:
        """The ticks of each pair of devices that paths alone prove."""
        return self.known.by_paths

    @property
    def proofs(self) -> dict[Pair, Proof]:
        """The proofs of ticks beyond those that paths prove."""
        return self.known.proofs

    @property
    def sources(self) -> int:
        """Number of devices that the first operator may be on."""
        return 1 + max(source for source, _ in self.least)

    @property
    def targets(self) -> int:
        """Number of devices that the last operator may be on."""
        return 1 + max(target for _, target in self.least)

    def first_like(self, pair: Pair) -> Pair:
        """Return the first pair of devices that is like the given one."""
        if self.module is None:
            return pair
        return first_pair(self.module, pair, self.first != OUTSIDE, self.last != OUTSIDE)

    def best_ticks(self, pair: Pair) -> int | None:
        """Return the ticks of the best schedule, None if there is none."""
        found = self.known.best.get(self.first_like(pair))
        return None if found is None else found.ticks

    def best(self, pair: Pair) -> ModuleSchedule | None:
        """Return the best schedule, None if there is none."""
        like = self.first_like(pair)
        found = self.known.best.get(like)
        return found if found is None or like == pair else found.exchanged(self._place(like, pair))

    def _place(self, pair: Pair, other: Pair) -> list[int]:
        """Return a device for each one, so that the first pair becomes the other, like it."""
        place = list(range(max(self.sources, self.targets)))
        has_ends = self.first != OUTSIDE, self.last != OUTSIDE
        for has_end, d, e in zip(has_ends, pair, other, strict=True):
            if has_end:
                there = place.index(e)
                place[d], place[there] = place[there], place[d]
        return place

    def attempt(self, pair: Pair, threshold: int, limit: int) -> tuple[int, int]:
        """Search for a schedule below a threshold; return the outcome and the steps."""
        if self.module is None or self.room is None:
            raise ValueError("the interval has too many operators for a search")
        pair = self.first_like(pair)
        if self.first != OUTSIDE:
            self.module.allowed[0] = 1 << pair[0]
        if self.last != OUTSIDE:
            self.module.allowed[-1] = 1 << pair[1]
        outcome = search(self.module, self.room, threshold, limit)
        if outcome == FOUND:
            schedule = _schedule(self.module, self.room)
            best = self.known.best
            if pair not in best or schedule.ticks < best[pair].ticks:
                best[pair] = schedule
        return outcome, int(self.room.count[0])

    def record(self, pair: Pair, proof: Proof) -> None:
        """Store the ticks that a proof proves for a pair of devices and for all pairs like it."""
        for other in self.all_like(pair):
            weights = proof.weights
            if weights and other != pair:
                place = self._place(pair, other)
                weights = tuple(weights[place.index(d)] for d in range(len(weights)))
            self.least[other] = proof.threshold + 1
            self.proofs[other] = replace(proof, weights=weights)

    def forget(self, pair: Pair) -> None:
        """Reset a pair of devices, and all pairs like it, to the ticks that paths prove."""
        for other in self.all_like(pair):
            self.least[other] = self.by_paths[other]
            self.proofs.pop(other, None)

    def all_like(self, pair: Pair) -> list[Pair]:
        """Return the pairs of devices that are like the given one, which is among them."""
        like = self.first_like(pair)
        return [other for other in self.least if self.first_like(other) == like]

    def refute(self, pair: Pair, threshold: int, limit: int) -> bool:
        """Try to refute a threshold by a search of limited steps."""
        outcome, steps = self.attempt(pair, threshold, limit)
        if outcome == REFUTED and threshold >= self.least[pair]:
            self.record(pair, Proof(threshold, steps=steps))
        return outcome == REFUTED

    def refute_less(self, pair: Pair, threshold: int, limit: int) -> bool:
        """Replace a proof by that of a lower threshold, if that takes no more steps."""
        outcome, steps = self.attempt(pair, threshold, limit)
        if outcome == REFUTED:
            self.record(pair, Proof(threshold, steps=steps))
        return outcome == REFUTED

    @property
    def operators(self) -> list[int]:
        """The operators of the module, its first and last one among them."""
        first = [] if self.first == OUTSIDE else [self.first]
        return [*first, *self.body, *([] if self.last == OUTSIDE else [self.last])]

    def jump(self) -> Jump:
        """Return the proven ticks as the checker's type."""
        rows = [
            [self.least[source, target] for target in range(self.targets)]
            for source in range(self.sources)
        ]
        return Jump(self.first, self.last, rows)

    def to_json(self) -> dict[str, Any]:
        """Return the interval as certificates store it."""
        rows, searches = [], []
        for (source, target), proof in sorted(self.proofs.items()):
            if proof.weights:
                rows.append([source, target, proof.threshold, *proof.weights])
            else:
                searches.append([source, target, proof.threshold, proof.steps])
        return {"first": self.first, "last": self.last, "rows": rows, "searches": searches}


def _schedule(module: Module, room: Scratch) -> ModuleSchedule:
    """Return the schedule that a search has left."""
    size = module.operators
    devices = tuple(room.device.tolist())
    starts = tuple(room.start.tolist()[:size])
    ends = [
        start + int(module.duration[at * module.devices + devices[at]])
        for at, start in enumerate(starts)
    ]
    moves: list[tuple[int, int, int]] = []
    seen = set()
    for arc in range(len(module.source)):
        u, v, tensor = (int(row[arc]) for row in (module.source, module.target, module.tensor))
        d, e = devices[u], devices[v]
        ticks = module.ticks[(arc * module.devices + d) * module.devices + e]
        receiver = tensor, e if module.is_shared else v
        if tensor >= 0 and d != e and ticks > 0 and receiver not in seen:
            seen.add(receiver)
            moves.append((arc, e, int(room.start[size + len(moves)])))
    return ModuleSchedule(max(ends), devices, starts, tuple(moves))
