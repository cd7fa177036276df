"""An instance of `layers`: a chain, devices, and the objective; and an assignment of layers."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.dag import Dag
from boundmark.problems.entry_points import problems
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.json_documents import (
    check_integer_lists,
    check_integer_tables,
    is_integer_list,
)
from boundmark.problems.layers.chain import LayerChain, Split
from boundmark.problems.layers.flights import (
    EXPECTED,
    INTERLEAVED,
    ONE_F_ONE_B,
    RULES,
    STAGES,
    ZB_H2,
    held,
    interleaved_peak,
    read_in_flight,
)
from boundmark.problems.stored_instance import StoredInstance, numbers_as_names
from boundmark.problems.ticks import LARGEST_TOTAL


class Stage(NamedTuple):
    """Layers ``first .. end - 1`` on a device."""

    device: int
    first: int
    end: int


@dataclass(frozen=True, eq=False)
class LayerAssignment:
    """The number of the device that runs each layer, shape (n,).

    Of a question, `configuration` has the integers that tell its configuration from others: how
    many layers are split.
    """

    devices: IntArray
    configuration: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "devices", frozen(self.devices, "devices"))

    @classmethod
    def of_stages(cls, stages: Iterable[Stage]) -> "LayerAssignment":
        """Return the assignment with these stages, which cover all layers in order."""
        return cls(frozen([s.device for s in stages for _ in range(s.first, s.end)]))

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Runs of layers on one device, in the order of the layers."""
        devices = self.devices.tolist()
        starts = [at for at, device in enumerate(devices) if at == 0 or devices[at - 1] != device]
        ends = [*starts[1:], len(devices)]
        return tuple(Stage(devices[a], a, b) for a, b in zip(starts, ends, strict=True))

    def to_json(self) -> dict[str, Any]:
        """Return ``{"devices": [0, 0, 1, ...]}``, and the configuration if there is one."""
        found: dict[str, Any] = {"devices": self.devices.tolist()}
        return found | ({"configuration": [*self.configuration]} if self.configuration else {})

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "LayerAssignment":
        """Read the JSON that `to_json` wrote."""
        devices = value.get("devices")
        if not is_integer_list(devices) or not devices:
            raise InvalidInputError("devices of the solution is not a list of integers.")
        name = value.get("configuration", [])
        if not is_integer_list(name):
            raise InvalidInputError("configuration of the solution is not a list of integers.")
        return cls(frozen(devices, "devices"), tuple(name))


BOTTLENECK, LATENCY, MAKESPAN, ROUND = GOALS = ("bottleneck", "latency", "makespan", "round")
FREE, GIVEN = ORDERS = ("free", "given")

FIELDS = (
    "goal", "device_order", "micro_batches", "in_flight", "virtual_stages", "made_of", "time",
    "weights", "held", "tied", "joined", "transfer", "link", "devices", "capacity", "sizes",
    "outer",
)  # fmt: skip

MOST_VIRTUAL = 64

# Fields that are one integer for each layer, type or device, and those that are tables.
_LISTS = ("weights", "held", "joined", "devices", "capacity", "sizes", "outer")
_TABLES = ("time", "transfer", "link")

# What a question has beside; see `Split`.
HOST = "host"
_HOST_FIELDS = ("question", "host", "room", "split_time", "split_bytes", "most_split",
                "split_joined")  # fmt: skip


class StageLoad(NamedTuple):
    """A stage's time, in ticks, and memory, in bytes."""

    computing: int
    sending: int
    memory: int
    capacity: int

    @property
    def total(self) -> int:
        """Ticks for one micro-batch."""
        return self.computing + self.sending


@dataclass(frozen=True, eq=False)
class LayersInstance(StoredInstance):
    """Cut a chain of layers into contiguous stages, each on a device of its own.

    A stage of layers a .. b - 1 on device d, followed by a stage on device e, takes::

        load = sum of time[d, a .. b - 1] + transfer[link(d, e), b - 1]

    for one micro-batch: it computes, then sends; the last one sends nothing. Minimise::

        max load                          bottleneck: the time between two inputs in steady state
        sum of loads                      latency: one input alone
        sum of loads + (m - 1) max load   makespan of m micro-batches
        max(sum of loads, m max load)     round: the time between two tokens of a sequence, where
                                          m micro-batches go round the stages again and again

    The s-th of k stages, from 0, holds ``weights`` of its layers, those tied counted once, and ``f
    held``, where f is the number of micro-batches in flight, see `read_in_flight`. That may be no
    more than the device's capacity. Devices may stay empty. If the device order is given, stages
    follow it, otherwise any device may have any stage.

    With v > 1 virtual stages, each of p devices that are used has v stages: the j-th of p v stages
    is on the device of rank j mod p, and the ranks are in the order of the devices if that is
    given. A device's load is that of its stages together, and the goal is the bottleneck.

    If layers may keep a part of themselves on the host (`chain.split`), the instance is a question:
    a solution says how many of the first ones do, and is one of the instance `split_into` that.

    Attributes
    ----------
    chain
        Layers, devices and costs.
    goal
        ``"bottleneck"``, ``"latency"``, ``"makespan"`` or ``"round"``.
    device_order
        ``"free"`` or ``"given"``.
    micro_batches
        m, at least 1.
    in_flight
        How many micro-batches a stage holds: a number, or a rule's name.
    virtual_stages
        v, at least 1.
    """

    problem: ClassVar[str] = "layers"

    chain: LayerChain
    goal: str = BOTTLENECK
    device_order: str = FREE
    micro_batches: int = 8
    in_flight: int | str = 1
    virtual_stages: int = 1

    def __post_init__(self) -> None:
        for name, known in (("goal", GOALS), ("device_order", ORDERS)):
            value = getattr(self, name)
            if value not in known:
                raise InvalidInputError(
                    f"{name} is {quoted(value)}; expected {' or '.join(map(repr, known))}."
                )
        m = self.micro_batches
        if type(m) is not int or not 1 <= m <= 2**20:
            raise InvalidInputError(f"micro_batches is {quoted(m)}; expected 1 to 2^20.")
        object.__setattr__(self, "in_flight", read_in_flight(self.in_flight))
        self._check_virtual_stages()
        most = self.most_in_flight * sum(map(int, self.chain.held))
        if most > LARGEST_TOTAL:
            raise InvalidInputError(
                f"{self.most_in_flight} micro-batches hold {most:.3g} bytes; expected at most 2^53."
            )
        worst = int(self.chain.time.max(axis=0).astype(object).sum())
        if self.goal in (MAKESPAN, ROUND) and 2 * m * worst > 2**62:
            raise InvalidInputError(
                f"{m} micro-batches of {worst:.3g} ticks; expected at most 2^61 together, so use a "
                "coarser tick."
            )

    @property
    def dag(self) -> Dag:
        """The chain as a graph."""
        return self.chain.dag

    @property
    def parameters(self) -> dict[str, int | str]:
        """The objective, the order of devices, and the options that the chain was made with."""
        return {
            "goal": self.goal,
            "device_order": self.device_order,
            "micro_batches": self.micro_batches,
            "in_flight": self.in_flight,
            **({"virtual_stages": self.virtual_stages} if self.virtual_stages > 1 else {}),
            **self.chain.made_of,
        }

    @property
    def notes(self) -> tuple[str, ...]:
        """Assumptions that were made with the chain, as sentences."""
        return self.chain.origin.notes

    @property
    def costs(self) -> str:
        """The source of the times, in words; empty where nobody knows."""
        return self.chain.origin.costs

    @property
    def splits(self) -> range:
        """The number of layers that may be split."""
        return range(0 if self.chain.split is None else self.chain.split.most + 1)

    def split_into(self, count: int) -> "LayersInstance":
        """Return the instance in which so many layers keep a part of themselves on the host.

        Raises
        ------
        InvalidInputError
            If it does not fit into the memory.
        """
        if count not in self._split:
            self._split[count] = replace(self, chain=self.chain.with_split(count))
        return self._split[count]

    @cached_property
    def _split(self) -> dict[int, "LayersInstance"]:
        return {}

    def chosen(self, solution: LayerAssignment) -> "LayersInstance":
        """Return the instance of a solution's configuration.

        Raises
        ------
        InvalidInputError
            If the configuration is none, or does not fit into the memory.
        """
        name = solution.configuration
        if self.chain.split is None:
            if name:
                raise InvalidInputError(
                    f"configuration is {quoted(name)}, and no layers can be split; expected none."
                )
            return self
        if len(name) != 1 or name[0] not in self.splits:
            raise InvalidInputError(
                f"configuration is {quoted(name)}; expected how many layers are split, from 0 to "
                f"{self.chain.split.most}."
            )
        return self.split_into(name[0])

    def check_memory(self) -> None:
        """Refuse an instance if all devices together have too little memory for any pipeline.

        Raises
        ------
        InvalidInputError
            With how many bytes are missing at least, and how many micro-batches are in flight.
        """
        chain, rule = self.chain, self.in_flight
        reason: InvalidInputError | None = None
        for count in reversed(self.splits):
            try:
                self.split_into(count).check_memory()
            except InvalidInputError as error:
                reason = reason or error
            else:
                return
        if reason:
            raise reason
        capacities = sorted((int(chain.capacity[kind]) for kind in chain.devices), reverse=True)
        fixed, flight = chain.memory(0, chain.layers, 0), int(chain.held.sum())
        least: tuple[int, int, int] | None = None
        for stages in range(1, min(len(capacities), chain.layers) + 1):
            count = rule if isinstance(rule, int) else 1
            if rule == STAGES:
                count = min(self.micro_batches, stages * self.virtual_stages)
            missing = fixed + count * flight - sum(capacities[:stages])
            if missing <= 0:
                return
            if least is None or missing < least[0]:
                least = (missing, stages, count)
        assert least is not None
        missing, stages, count = least
        raise InvalidInputError(
            f"the {chain.layers} layers take {fixed + count * flight:,} bytes on {stages} "
            f"device{'s' * (stages > 1)}, {count * flight:,} of them for {count} "
            f"micro-batch{'es' * (count > 1)} in flight; {missing:,} are missing. Expected more "
            "memory, fewer or shorter sequences, or --in-flight with fewer micro-batches."
        )

    def fewest_devices(self) -> int:
        """Return how many of the devices, all of one type, have memory enough.

        No assignment fits into fewer; with virtual stages, no even split.

        Raises
        ------
        InvalidInputError
            If all of them have too little.
        """
        chain, v = self.chain, self.virtual_stages
        ends = [at for at in range(1, chain.layers + 1) if at not in chain.joined]
        most = min(len(chain.devices), len(ends) // v)
        fits = self._fits_filled if v == 1 else self._fits_evenly
        for count in range(1 + (v > 1), most + 1):
            if fits(count, ends):
                return count
        self.check_memory()
        raise InvalidInputError(
            f"no number of {chain.device_names[0].partition('#')[0]} up to {most} has memory "
            "enough for all stages; expected devices with more, fewer or shorter sequences, or "
            "--in-flight with fewer micro-batches."
        )

    def _fits_filled(self, count: int, ends: Sequence[int]) -> bool:
        """Whether so many stages have memory enough if each is as long as it can be.

        Any others end no later, since fewer layers take no more memory.
        """
        chain, first = self.chain, 0
        least = held(self.in_flight, self.micro_batches, count - 1, count)
        if chain.memory(0, chain.layers, least) > count * int(chain.capacity[0]):
            return False
        for number in range(count):
            flight = held(self.in_flight, self.micro_batches, number, count)
            taken = partial(chain.memory, first, in_flight=flight)
            at = bisect_right(ends, int(chain.capacity[0]), key=taken)
            first = ends[at - 1] if at else 0
        return first == chain.layers

    def _fits_evenly(self, count: int, ends: Sequence[int]) -> bool:
        """Whether so many devices have memory enough for parts that differ by a layer at most."""
        if self.in_flight == INTERLEAVED and self.micro_batches % count:
            return False
        parts = count * self.virtual_stages
        length, longer = divmod(len(ends), parts)
        cuts = [0, *(ends[at * length + min(at, longer) - 1] for at in range(1, parts + 1))]
        stages = (Stage(at % count, cuts[at], cuts[at + 1]) for at in range(parts))
        loads = self.stage_loads(LayerAssignment.of_stages(stages))
        return all(load.memory <= load.capacity for load in loads)

    @property
    def most_in_flight(self) -> int:
        """Micro-batches that a stage holds at most."""
        if isinstance(self.in_flight, int):
            return self.in_flight
        if self.virtual_stages > 1:
            return self.micro_batches
        return min(self.micro_batches, 2 * len(self.chain.devices))

    def with_parameters(self, given: Mapping[str, Any]) -> "LayersInstance":
        """Return the instance with the given parameters changed.

        Raises
        ------
        InvalidInputError
            If one says of what the chain is made, which an instance does not know any more.
        """
        own = {"goal", "device_order", "micro_batches", "in_flight", "virtual_stages"}
        usual = {one.name: one.default for one in problems()[self.problem].parameters}
        for name, value in given.items():
            known = self.chain.made_of.get(name, usual.get(name))
            if name not in own and value != known:
                raise InvalidInputError(
                    f"{name} is {quoted(value)}, and the instance is for {known!r}; expected the "
                    "model that it was made of."
                )
        changed = {name: given[name] for name in own & given.keys()}
        if changed.get("in_flight") == "":
            del changed["in_flight"]
        return replace(self, **changed)

    def stage_loads(self, solution: LayerAssignment) -> list[StageLoad]:
        """Return each stage's time and memory, whether it fits or not.

        With virtual stages, those of each device together, in the order of the ranks.

        Raises
        ------
        InvalidInputError
            If layers of a device are not contiguous, a device is none, stages leave the given
            order, or joined layers are apart.
        """
        if (chosen := self.chosen(solution)) is not self:
            return chosen.stage_loads(LayerAssignment(solution.devices))
        stages = solution.stages
        self._check(solution, stages)
        loads = self._loads(stages)
        if self.virtual_stages == 1:
            return loads
        ranks = len(stages) // self.virtual_stages
        return [self._of_device(stages, loads, rank, ranks) for rank in range(ranks)]

    def _loads(self, stages: tuple[Stage, ...]) -> list[StageLoad]:
        """Return each stage's time and memory by itself."""
        chain, found = self.chain, []
        for number, (stage, after) in enumerate(zip(stages, [*stages[1:], None], strict=True)):
            kind = chain.devices[stage.device]
            sending = 0
            if after is not None:
                over = chain.link[kind, chain.devices[after.device]]
                sending = int(chain.transfer[over, stage.end - 1])
            in_flight = 0
            if self.virtual_stages == 1:
                in_flight = held(self.in_flight, self.micro_batches, number, len(stages))
            found.append(
                StageLoad(
                    int(chain.time[kind, stage.first : stage.end].sum()),
                    sending,
                    chain.memory(stage.first, stage.end, in_flight),
                    int(chain.capacity[kind]),
                )
            )
        return found

    def _of_device(
        self, stages: tuple[Stage, ...], loads: list[StageLoad], rank: int, ranks: int
    ) -> StageLoad:
        """Return the time and memory of all virtual stages of a device."""
        chain, own = self.chain, range(rank, len(stages), ranks)
        chunks = [stages[at] for at in own]
        layers = {at for chunk in chunks for at in range(chunk.first, chunk.end)}
        memory = sum(int(chain.weights[at]) for at in layers)
        memory -= sum(size for i, j, size in chain.tied if i in layers and j in layers)
        kept = [int(chain.held[chunk.first : chunk.end].sum()) for chunk in chunks]
        if self.in_flight == INTERLEAVED:
            memory += interleaved_peak(kept, rank, ranks, self.micro_batches)
        else:
            memory += held(self.in_flight, self.micro_batches, 0, len(stages)) * sum(kept)
        return StageLoad(
            sum(loads[at].computing for at in own),
            sum(loads[at].sending for at in own),
            memory,
            loads[rank].capacity,
        )

    def cost(self, loads: list[StageLoad]) -> int:
        """Return the cost of stages with these loads."""
        totals = [load.total for load in loads]
        if self.goal == BOTTLENECK:
            return max(totals)
        if self.goal == ROUND:
            return max(sum(totals), self.micro_batches * max(totals))
        rounds = self.micro_batches - 1 if self.goal == MAKESPAN else 0
        return sum(totals) + rounds * max(totals)

    def most(self) -> int:
        """Return what no assignment costs more than."""
        chain = self.chain
        times = chain.time if chain.split is None else np.maximum(chain.time, chain.split.time)
        loads = int(times.max(axis=0).astype(object).sum())
        if chain.layers > 1:
            loads += int(chain.transfer.max(axis=0).astype(object).sum())
        return (1 + self.micro_batches) * loads

    def objective(self, solution: LayerAssignment) -> int:
        """Return the cost of an assignment, in ticks.

        Raises
        ------
        InvalidInputError
            If it breaks a constraint; of memory, with what is missing on the first such device.
        """
        loads = self.stage_loads(solution)
        for stage, load in zip(solution.stages, loads, strict=False):
            if load.memory > load.capacity:
                layers = int((solution.devices == stage.device).sum())
                raise InvalidInputError(
                    f"device {self.chain.device_names[stage.device]!r} lacks "
                    f"{load.memory - load.capacity:,} bytes: its {layers} layers take "
                    f"{load.memory:,}, with {self._flight_words(solution, stage)} in flight; "
                    f"expected at most {load.capacity:,}."
                )
        return self.cost(loads)

    def _flight_words(self, solution: LayerAssignment, stage: Stage) -> str:
        """Return how many micro-batches a stage holds, in words."""
        if self.virtual_stages > 1:
            return f"micro-batches by rule {self.in_flight!r}"
        number = solution.stages.index(stage)
        count = held(self.in_flight, self.micro_batches, number, len(solution.stages))
        return f"{count} micro-batch{'es' * (count > 1)}"

    def _check_virtual_stages(self) -> None:
        v, rule = self.virtual_stages, self.in_flight
        if type(v) is not int or not 1 <= v <= MOST_VIRTUAL:
            raise InvalidInputError(f"virtual_stages is {quoted(v)}; expected 1 to {MOST_VIRTUAL}.")
        if v > 1 and self.chain.first:
            raise InvalidInputError(
                f"there are {v} virtual stages, and devices that can only have the first stage; "
                "expected one of them."
            )
        if v > 1 and self.goal != BOTTLENECK:
            raise InvalidInputError(
                f"goal is {self.goal!r} with {v} virtual stages; expected bottleneck. Problem "
                "'microbatch' simulates such schedules."
            )
        if (v > 1) != (rule == INTERLEAVED) and rule in (ONE_F_ONE_B, ZB_H2, INTERLEAVED):
            expected = "interleaved, stages or a number" if v > 1 else "another rule or a number"
            raise InvalidInputError(
                f"in_flight is {rule!r} with {v} virtual stage{'s' * (v > 1)}; expected {expected}."
            )

    def _check_ranks(self, stages: tuple[Stage, ...]) -> None:
        """Refuse virtual stages that do not go round the devices in one order."""
        v, order = self.virtual_stages, list(dict.fromkeys(stage.device for stage in stages))
        p = len(order)
        is_round = len(stages) == p * v and all(
            stage.device == order[at % p] for at, stage in enumerate(stages)
        )
        if p < 2 or not is_round:
            raise InvalidInputError(
                f"{len(stages)} stages are on {p} devices; expected {v} for each of two or more, "
                "which go round in one order."
            )
        if self.device_order == GIVEN and order != sorted(order):
            raise InvalidInputError("stages leave the order of the devices; expected them in it.")
        if self.in_flight == INTERLEAVED and self.micro_batches % p:
            raise InvalidInputError(
                f"micro_batches is {self.micro_batches}, and stages are on {p} devices; expected a "
                "multiple, as interleaved schedules need."
            )

    def _check(self, solution: LayerAssignment, stages: tuple[Stage, ...]) -> None:
        chain = self.chain
        if solution.devices.shape != (chain.layers,):
            raise InvalidInputError(
                f"the solution has a device for {solution.devices.size} layers; "
                f"expected one for each of {chain.layers}."
            )
        used = [stage.device for stage in stages]
        for device in dict.fromkeys(used):
            if not 0 <= device < len(chain.devices):
                raise InvalidInputError(
                    f"device {device} is used; expected 0 to {len(chain.devices) - 1}."
                )
            if self.virtual_stages == 1 and used.count(device) > 1:
                raise InvalidInputError(
                    f"the layers of device {chain.device_names[device]!r} are not contiguous; "
                    "expected one run of layers on each device."
                )
        if self.virtual_stages > 1:
            self._check_ranks(stages)
        elif self.device_order == GIVEN and used != sorted(used):
            raise InvalidInputError("stages leave the order of the devices; expected them in it.")
        for device in used[1:]:
            if chain.devices[device] in chain.first:
                raise InvalidInputError(
                    f"device {chain.device_names[device]!r} has a later stage; expected the first "
                    "one there, or none."
                )
        for stage in stages[1:]:
            if stage.first in chain.joined:
                raise InvalidInputError(
                    f"layer {chain.names[stage.first]!r} is on another device than the layer "
                    "before "
                    "it; expected them together."
                )

    def fields(self) -> dict[str, Any]:
        """Return all that the optimum depends on, as integers and texts."""
        chain = self.chain
        return {
            "goal": self.goal,
            "device_order": self.device_order,
            "micro_batches": self.micro_batches,
            "in_flight": self.in_flight,
            "virtual_stages": self.virtual_stages,
            "made_of": dict(chain.made_of),
            "time": chain.time.tolist(),
            "weights": chain.weights.tolist(),
            "held": chain.held.tolist(),
            "tied": [list(triple) for triple in chain.tied],
            "joined": list(chain.joined),
            "transfer": chain.transfer.tolist(),
            "link": chain.link.tolist(),
            "devices": list(chain.devices),
            "capacity": chain.capacity.tolist(),
            "sizes": chain.sizes.tolist(),
            "outer": list(chain.outer),
            **({"first": list(chain.first)} if chain.first else {}),
            **_split_fields(chain.split),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "LayersInstance":
        """Read the JSON that `to_json` wrote; layers and devices get their numbers as names."""
        more = _HOST_FIELDS if "question" in value else ()
        cls.check_head(value, (*FIELDS, *more), (*_LISTS, *_TABLES, "tied"), ("first",))
        check_integer_lists(value, _LISTS)
        if "first" in value and not (is_integer_list(value["first"]) and value["first"]):
            raise InvalidInputError("first is not a list of integers, or empty; expected some.")
        check_integer_tables(value, (*_TABLES, "tied"))
        if any(len(triple) != 3 for triple in value["tied"]):
            raise InvalidInputError("tied is not a list of triples of integers.")
        made_of = value["made_of"]
        if not isinstance(made_of, dict) or not all(
            isinstance(item, str) or type(item) is int for item in made_of.values()
        ):
            raise InvalidInputError("made_of is not an object with texts and integers.")
        rule = value["in_flight"]
        if isinstance(rule, str) and rule not in RULES:
            raise InvalidInputError(f"in_flight is {quoted(rule)}; expected {EXPECTED}.")
        chain = LayerChain(
            time=value["time"],
            weights=value["weights"],
            held=value["held"],
            tied=tuple(map(tuple, value["tied"])),
            joined=tuple(value["joined"]),
            transfer=value["transfer"],
            link=value["link"],
            devices=tuple(value["devices"]),
            capacity=frozen(value["capacity"], "capacity"),
            sizes=value["sizes"],
            outer=tuple(value["outer"]),
            names=numbers_as_names(len(value["weights"])),
            device_names=numbers_as_names(len(value["devices"])),
            made_of=dict(made_of),
            first=tuple(value.get("first", ())),
            split=_read_split(value) if more else None,
        )
        names = ("goal", "device_order", "micro_batches", "in_flight", "virtual_stages")
        return cls(chain, *(value[name] for name in names))


def _split_fields(split: Split | None) -> dict[str, Any]:
    """Return what a question has beside an instance."""
    if split is None:
        return {}
    values = (HOST, list(split.host), split.room, split.time.tolist(), split.bytes.tolist(),
              split.most, int(split.is_joined))  # fmt: skip
    return dict(zip(_HOST_FIELDS, values, strict=True))


def _read_split(value: Mapping[str, Any]) -> Split:
    if value["question"] != HOST:
        raise InvalidInputError(f"question is {quoted(value['question'])}; expected {HOST!r}.")
    check_integer_lists(value, ("host", "split_bytes"))
    check_integer_tables(value, ("split_time",))
    for name in ("room", "most_split", "split_joined"):
        if type(value[name]) is not int:
            raise InvalidInputError(f"{name} is {quoted(value[name])}; expected an integer.")
    if value["split_joined"] not in (0, 1):
        raise InvalidInputError(f"split_joined is {value['split_joined']}; expected 0 or 1.")
    return Split(
        tuple(value["host"]), value["room"], value["split_time"], value["split_bytes"],
        value["most_split"], bool(value["split_joined"]),
    )  # fmt: skip
