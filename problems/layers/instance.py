"""An instance of `layers`: a chain, devices, and the objective."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

from boundmark.problems.arrays import frozen
from boundmark.problems.dag import Dag
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.json_documents import (
    check_integer_lists,
    check_integer_tables,
)
from boundmark.problems.layers.assignment import LayerAssignment, Stage
from boundmark.problems.layers.chain import LayerChain
from boundmark.problems.stored_instance import StoredInstance, numbers_as_names

BOTTLENECK, LATENCY, MAKESPAN = GOALS = ("bottleneck", "latency", "makespan")
FREE, GIVEN = ORDERS = ("free", "given")

FIELDS = (
    "goal", "device_order", "micro_batches", "made_of", "training", "time", "weights", "held",
    "tied", "joined", "transfer", "link", "devices", "capacity", "sizes", "outer",
)  # fmt: skip

# Fields that are one integer for each layer, type or device, and those that are tables.
_LISTS = ("weights", "held", "joined", "devices", "capacity", "sizes", "outer")
_TABLES = ("time", "transfer", "link")


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

    The s-th of k stages, from 0, holds ``weights`` of its layers, those tied counted once, and ``f
    held``, where f = 1 in inference and f = min(m, k - s) in training, which is what 1F1B has in
    flight ([MEGATRON21], Section 2.2). That may be no more than the device's capacity. Devices may
    stay empty. If the device order is given, stages follow it, otherwise any device may have any
    stage.

    Attributes
    ----------
    chain
        Layers, devices and costs.
    goal
        ``"bottleneck"``, ``"latency"`` or ``"makespan"``.
    device_order
        ``"free"`` or ``"given"``.
    micro_batches
        m, at least 1.
    """

    problem: ClassVar[str] = "layers"

    chain: LayerChain
    goal: str = BOTTLENECK
    device_order: str = FREE
    micro_batches: int = 8

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
        worst = int(self.chain.time.max(axis=0).astype(object).sum())
        if self.goal == MAKESPAN and 2 * m * worst > 2**62:
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
            **self.chain.made_of,
        }

    @property
    def most_in_flight(self) -> int:
        """Micro-batches that a stage holds at most."""
        return min(self.micro_batches, len(self.chain.devices)) if self.chain.training else 1

    def with_parameters(self, given: Mapping[str, Any]) -> "LayersInstance":
        """Return the instance with the given parameters changed.

        Raises
        ------
        InvalidInputError
            If one says of what the chain is made, which an instance does not know any more.
        """
        own = {"goal", "device_order", "micro_batches"}
        for name, value in given.items():
            if name not in own and value != self.chain.made_of.get(name, value):
                raise InvalidInputError(
                    f"{name} is {quoted(value)}, and the instance is for "
                    f"{self.chain.made_of[name]!r}; expected the model that it was made of."
                )
        return replace(self, **{name: given[name] for name in own & given.keys()})

    def in_flight(self, stage: int, stages: int) -> int:
        """Return how many micro-batches a stage holds."""
        return min(self.most_in_flight, stages - stage)

    def stage_loads(self, solution: LayerAssignment) -> list[StageLoad]:
        """Return each stage's time and memory, whether it fits or not.

        Raises
        ------
        InvalidInputError
            If layers of a device are not contiguous, a device is none, stages leave the given
            order, or joined layers are apart.
        """
        chain, stages = self.chain, solution.stages
        self._check(solution, stages)
        found = []
        for number, (stage, after) in enumerate(zip(stages, [*stages[1:], None], strict=True)):
            kind = chain.devices[stage.device]
            sending = 0
            if after is not None:
                over = chain.link[kind, chain.devices[after.device]]
                sending = int(chain.transfer[over, stage.end - 1])
            in_flight = self.in_flight(number, len(stages))
            found.append(
                StageLoad(
                    int(chain.time[kind, stage.first : stage.end].sum()),
                    sending,
                    chain.memory(stage.first, stage.end, in_flight),
                    int(chain.capacity[kind]),
                )
            )
        return found

    def cost(self, loads: list[StageLoad]) -> int:
        """Return the cost of stages with these loads."""
        totals = [load.total for load in loads]
        if self.goal == BOTTLENECK:
            return max(totals)
        rounds = self.micro_batches - 1 if self.goal == MAKESPAN else 0
        return sum(totals) + rounds * max(totals)

    def objective(self, solution: LayerAssignment) -> int:
        """Return the cost of an assignment, in ticks.

        Raises
        ------
        InvalidInputError
            If it breaks a constraint; of memory, with what is missing on the first such device.
        """
        loads = self.stage_loads(solution)
        for stage, load in zip(solution.stages, loads, strict=True):
            if load.memory > load.capacity:
                raise InvalidInputError(
                    f"device {self.chain.device_names[stage.device]!r} lacks "
                    f"{load.memory - load.capacity:,} bytes: its {stage.end - stage.first} layers "
                    f"take {load.memory:,}; expected at most {load.capacity:,}."
                )
        return self.cost(loads)

    def _check(self, solution: LayerAssignment, stages: tuple[Stage, ...]) -> None:
        chain = self.chain
        if solution.devices.shape != (chain.layers,):
            raise InvalidInputError(
                f"the solution has a device for {solution.devices.size} layers; "
                f"expected one for each of {chain.layers}."
            )
        used = [stage.device for stage in stages]
        for device in used:
            if not 0 <= device < len(chain.devices):
                raise InvalidInputError(
                    f"device {device} is used; expected 0 to {len(chain.devices) - 1}."
                )
            if used.count(device) > 1:
                raise InvalidInputError(
                    f"the layers of device {chain.device_names[device]!r} are not contiguous; "
                    "expected one run of layers on each device."
                )
        if self.device_order == GIVEN and used != sorted(used):
            raise InvalidInputError("stages leave the order of the devices; expected them in it.")
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
            "made_of": dict(chain.made_of),
            "training": int(chain.training),
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
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "LayersInstance":
        """Read the JSON that `to_json` wrote; layers and devices get their numbers as names.

        Raises
        ------
        InvalidInputError
            If a field is missing, or is not what the format says.
        """
        cls.check_head(value, FIELDS, (*_LISTS, *_TABLES, "tied"))
        check_integer_lists(value, _LISTS)
        check_integer_tables(value, (*_TABLES, "tied"))
        if any(len(triple) != 3 for triple in value["tied"]):
            raise InvalidInputError("tied is not a list of triples of integers.")
        made_of = value["made_of"]
        if not isinstance(made_of, dict) or not all(
            isinstance(item, str) or type(item) is int for item in made_of.values()
        ):
            raise InvalidInputError("made_of is not an object with texts and integers.")
        if value["training"] not in (0, 1):
            raise InvalidInputError(f"training is {quoted(value['training'])}; expected 0 or 1.")
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
            training=bool(value["training"]),
            names=numbers_as_names(len(value["weights"])),
            device_names=numbers_as_names(len(value["devices"])),
            made_of=dict(made_of),
        )
        return cls(chain, value["goal"], value["device_order"], value["micro_batches"])
