"""A part of the chain: its proven least ticks, and the best schedules found."""

from dataclasses import dataclass, field
from typing import Any

from boundmark.bounds.checker import TooLarge
from boundmark.bounds.checker.placement.instance import Instance
from boundmark.bounds.checker.placement.module_data import Module, Scratch
from boundmark.bounds.checker.placement.module_search import FOUND, REFUTED
from boundmark.bounds.checker.placement.modules import module_of, scratch_for
from boundmark.bounds.checker.placement.paths import OUTSIDE, Jump, Network
from boundmark.bounds.placement.series.compiled import as_arrays, search, zeros

Pair = tuple[int, int]


@dataclass(frozen=True)
class ModuleSchedule:
    """A schedule of a module, from the end of its first operator on.

    Attributes
    ----------
    ticks
        Until its last operator starts.
    devices, starts
        Of the operators in between.
    moves
        Starts of the transfers, by tensor and receiver: a device, or a consumer if per edge.
    """

    ticks: int
    devices: dict[int, int]
    starts: dict[int, int]
    moves: dict[tuple[int, int], int]


@dataclass(frozen=True)
class Proof:
    """A refutation of a threshold: a search with its steps, or the weights of a row."""

    threshold: int
    steps: int = 0
    weights: tuple[int, ...] = ()


@dataclass
class Part:
    """An interval of the chain.

    Attributes
    ----------
    least
        Proven ticks, by devices of the first and the last operator.
    by_paths
        What paths prove of them.
    proofs
        Of what is proven beyond that.
    best
        The shortest schedules found.
    module
        For searches; None if there are too many operators.
    """

    first: int
    last: int
    body: list[int]
    least: dict[Pair, int]
    by_paths: dict[Pair, int]
    module: Module | None
    room: Scratch | None
    proofs: dict[Pair, Proof] = field(default_factory=dict)
    best: dict[Pair, ModuleSchedule] = field(default_factory=dict)

    @classmethod
    def of(
        cls, instance: Instance, network: Network, written: list[list[int]], ends: Pair
    ) -> "Part":
        """Return an interval with the bounds by paths."""
        first, last = ends
        body = network.inside(first, last)
        sources, targets = (1 if v == OUTSIDE else network.devices for v in (first, last))
        least = {
            (source, target): ticks
            for source in range(sources)
            for target, ticks in enumerate(network.heads(first, source, body, last)[1][:targets])
        }
        module = room = None
        try:
            module = as_arrays(module_of(instance, network, written, ends, body))
            room = scratch_for(module, zeros)
        except TooLarge:
            # Too large for a search: only loads bound it.
            pass
        return cls(first, last, body, least, dict(least), module, room)

    @property
    def sources(self) -> int:
        """Number of devices that the first operator may be on."""
        return 1 + max(source for source, _ in self.least)

    @property
    def targets(self) -> int:
        """Number of devices that the last operator may be on."""
        return 1 + max(target for _, target in self.least)

    def attempt(self, pair: Pair, threshold: int, limit: int) -> tuple[int, int]:
        """Search for a schedule below a threshold; return the outcome and the steps."""
        if self.module is None or self.room is None:
            raise ValueError("the interval has too many operators for a search")
        if self.first != OUTSIDE:
            self.module.allowed[0] = 1 << pair[0]
        if self.last != OUTSIDE:
            self.module.allowed[-1] = 1 << pair[1]
        outcome = search(self.module, self.room, threshold, limit)
        if outcome == FOUND:
            schedule = self._schedule(self.module, self.room)
            if pair not in self.best or schedule.ticks < self.best[pair].ticks:
                self.best[pair] = schedule
        return outcome, int(self.room.count[0])

    def refute(self, pair: Pair, threshold: int, limit: int) -> bool:
        """Try to refute a threshold by a search of limited steps."""
        outcome, steps = self.attempt(pair, threshold, limit)
        if outcome == REFUTED and threshold >= self.least[pair]:
            self.least[pair] = threshold + 1
            self.proofs[pair] = Proof(threshold, steps=steps)
        return outcome == REFUTED

    def refute_less(self, pair: Pair, threshold: int, limit: int) -> bool:
        """Replace a proof by that of a lower threshold, if that takes no more steps."""
        outcome, steps = self.attempt(pair, threshold, limit)
        if outcome == REFUTED:
            self.least[pair] = threshold + 1
            self.proofs[pair] = Proof(threshold, steps=steps)
        return outcome == REFUTED

    def _schedule(self, module: Module, room: Scratch) -> ModuleSchedule:
        operators = self.operators
        devices = dict(zip(operators, room.device.tolist(), strict=True))
        starts = dict(zip(operators, room.start.tolist()[: len(operators)], strict=True))
        ends = [
            int(room.start[at] + module.duration[at * module.devices + room.device[at]])
            for at in range(len(operators))
        ]
        moves: dict[tuple[int, int], int] = {}
        item = len(operators)
        for arc in range(len(module.source)):
            u, v, tensor = (int(row[arc]) for row in (module.source, module.target, module.tensor))
            d, e = int(room.device[u]), int(room.device[v])
            ticks = module.ticks[(arc * module.devices + d) * module.devices + e]
            receiver = e if module.is_shared else operators[v]
            if tensor >= 0 and d != e and ticks > 0 and (tensor, receiver) not in moves:
                moves[tensor, receiver] = int(room.start[item])
                item += 1
        return ModuleSchedule(max(ends), devices, starts, moves)

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
