"""Which parallelism: the question as one instance, a table of integers.

`boundmark.bounds.checker.layers.parallel` says what the table means, and lists its configurations:
tables are made, and read, by its rules only, so that there is one list of what may be chosen.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from typing import Any, ClassVar

from boundmark.bounds import checker
from boundmark.bounds.checker.layers.parallel import KEYS, MOST_SEQUENCES, Split, places_of, splits
from boundmark.bounds.checker.layers.questions import Configuration
from boundmark.problems.arrays import frozen
from boundmark.problems.dag import Dag
from boundmark.problems.errors import InvalidInputError, UnsupportedError, find, quoted
from boundmark.problems.layers.chain import MOST_DEVICES, LayerChain, Origin
from boundmark.problems.layers.collectives import Ranks, all_reduce, all_to_all
from boundmark.problems.layers.costs import StageDevice, layer_seconds, usable
from boundmark.problems.layers.fleet import Hosts
from boundmark.problems.layers.instance import LayerAssignment, LayersInstance
from boundmark.problems.layers.model import (
    DECODE,
    PREFILL,
    TRAINING,
    LayerFacts,
    LayerModel,
    Workload,
)
from boundmark.problems.layers.tools.formats import NO_RULES, TOOLS, under_rules
from boundmark.problems.layers.tools.launch import Launch
from boundmark.problems.problem import INSTANCE_FORMAT
from boundmark.problems.stored_instance import StoredInstance
from boundmark.problems.ticks import NANOSECONDS

# The name of the space, in documents.
PARALLEL = "parallel"

GOALS = (DECODE, PREFILL, TRAINING)

# Whether training runs layers again: as is best, not at all, or all of them.
RECOMPUTE = {"any": [0, 1], "none": [0], "full": [1]}

# Gradients are summed up in this precision.
GRADIENT_BYTES = 4

# What costs of goals without a number of sequences are for.
UNIT = 2**20

# Sequences of a micro-batch that are tried where their number is free.
MOST_BATCH = 2**10


@dataclass(frozen=True)
class Wish:
    """The goal, the limits and the options of a plan.

    Attributes
    ----------
    goal
        One of `GOALS`.
    context
        Tokens of a sequence.
    sequences
        Those that are decoded at a time, or of a step of training; 0 for as many as is best.
    limit_seconds
        The longest time between two tokens; 0 for any.
    first_seconds
        The longest time to the first token of a prompt, if nothing else runs; 0 for any.
    weight_bits, cache_bits, memory_percent
        As of problem `layers`.
    overhead
        Seconds that an engine adds to each step of each stage.
    recompute
        In training, whether layers keep their input only, and run again: `RECOMPUTE`.
    overlaps
        Whether gradients are summed up while others are computed, which then takes no time.
    shards
        Whether replicas divide the states of the optimiser among them.
    rules
        Tool whose rules cuts have to follow, as of problem `layers`.
    least, most
        Bounds of what may be chosen: `t`, `p`, `d`, `e` and `b`, the number of devices that split
        layers, of stages, of replicas, of those that share experts, and of sequences in a
        micro-batch.
    """

    goal: str = DECODE
    context: int = 4096
    sequences: int = 0
    limit_seconds: float = 0.0
    first_seconds: float = 0.0
    weight_bits: int = 0
    cache_bits: int = 0
    memory_percent: int = 90
    overhead: float = 0.0
    recompute: str = "any"
    overlaps: bool = False
    shards: bool = False
    rules: str = NO_RULES
    least: Mapping[str, int] = field(default_factory=dict)
    most: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        given, training = f"is given, and the goal is {self.goal}", self.goal == TRAINING
        options = self.overlaps or self.shards or self.recompute != "any"
        for is_wrong, message in (
            (self.goal not in GOALS, f"goal is {quoted(self.goal)}; expected {', '.join(GOALS)}."),
            (training and not self.sequences,
             "sequences are not given; expected those of a step of training."),
            (self.recompute not in RECOMPUTE,
             f"recompute is {quoted(self.recompute)}; expected {', '.join(RECOMPUTE)}. Selective "
             "recomputation is that of attention, which is never kept here."),
            (options and not training,
             f"recompute, overlap or shard_optimizer {given}; expected training."),
            (self.goal == PREFILL and self.sequences > 0,
             "sequences are given, and the goal is prefill; expected none: prompts follow."),
            (self.goal != DECODE and self.limit_seconds + self.first_seconds > 0,
             f"a limit on the time between tokens or to the first one {given}; expected decode."),
            (not 0 <= self.sequences <= MOST_SEQUENCES,
             f"sequences are {self.sequences}; expected 1 to {MOST_SEQUENCES:,}."),
        ):  # fmt: skip
            if is_wrong:
                raise InvalidInputError(message)

    def allows(self, name: str, value: int) -> bool:
        """Whether a number may be chosen."""
        return self.least.get(name, 1) <= value <= self.most.get(name, value)


@dataclass(frozen=True, eq=False)
class Question(StoredInstance):
    """An instance in which groups, replicas, micro-batches and the cut are chosen together.

    A solution has a configuration, the integers that the checker calls it by, beside the devices of
    the layers in a replica.

    Attributes
    ----------
    table
        What the checker reads.
    """

    problem: ClassVar[str] = LayersInstance.problem
    parameters: ClassVar[Mapping[str, int | str]] = {}

    table: Mapping[str, Any]

    @property
    def layers(self) -> int:
        """Number of layers."""
        return len(self.table["forms"][0]["weights"])

    @cached_property
    def dag(self) -> Dag:
        """The chain as a graph."""
        n = self.layers
        return Dag.from_edges(n, [(at, at + 1) for at in range(n - 1)])

    @property
    def chain(self) -> LayerChain:
        """Layers with their costs, which depend on the configuration here."""
        raise UnsupportedError(
            "how layers and devices are divided is not given, as in questions of `boundmark plan`; "
            "expected an instance in which it is. layer-choices is for both."
        )

    virtual_stages = chain

    def fields(self) -> dict[str, Any]:
        """Return the table with the name of its space."""
        return {"question": PARALLEL, **self.table}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Question":
        """Read the JSON that `to_json` wrote."""
        try:
            checker.check_instance(dict(value))
        except checker.Rejected as error:
            raise InvalidInputError(f"{error}.") from error
        return cls({key: value[key] for key in value.keys() - {"format", "problem", "question"}})

    def with_parameters(self, given: Mapping[str, Any]) -> "Question":
        """Return the instance, of which nothing can be changed."""
        if given:
            raise InvalidInputError(
                f"{next(iter(given))} is given, and the instance is a question of `boundmark plan`;"
                " expected no parameters."
            )
        return self

    @cached_property
    def configurations(self) -> Mapping[tuple[int, ...], Configuration]:
        """All that may be chosen, by the integers that documents call them by."""
        listed = checker.check_instance(self.to_json()).configurations()
        return {one.name: one for one in listed}

    def _chosen(self, solution: LayerAssignment) -> Configuration:
        found = self.configurations.get(solution.configuration)
        if found is None or found.fields is None:
            wrong = "none of the question" if found is None else "too large for the memory"
            raise InvalidInputError(
                f"configuration {quoted(solution.configuration)} is {wrong}; expected t, d, e, m, "
                "b and r of one that may be chosen."
            )
        return found

    def chosen(self, solution: LayerAssignment) -> LayersInstance:
        """Return the instance of a solution's configuration.

        Raises
        ------
        InvalidInputError
            If the configuration is none, or does not fit into the memory.
        """
        return instance_of(self._chosen(solution))

    def objective(self, solution: LayerAssignment) -> int:
        """Return what a solution costs, in ticks.

        Raises
        ------
        InvalidInputError
            If it breaks a constraint.
        """
        one = self._chosen(solution)
        alone = instance_of(one).objective(LayerAssignment(solution.devices))
        if one.most is not None and alone > one.most:
            raise InvalidInputError(
                f"the solution takes {alone:,} ns in its configuration; expected at most "
                f"{one.most:,}."
            )
        return one.cost(alone)

    def split(self, name: Sequence[int]) -> Split:
        """Return the configuration of a name."""
        return self._splits[tuple(name)]

    @cached_property
    def _splits(self) -> dict[tuple[int, ...], Split]:
        hosts = [(kind, count) for kind, count in self.table["hosts"]]
        return {one.name: one for one in splits(self.table, hosts)}

    @cached_property
    def _forms(self) -> dict[tuple[int, ...], dict[str, Any]]:
        return {tuple(one[name] for name in KEYS): one for one in self.table["forms"]}

    def missing(self, name: Sequence[int]) -> int:
        """Return how many bytes all groups of a replica together lack, if that is more than 0."""
        split = self.split(name)
        form = self._forms[split.form]
        flights = split.micro_batches if self.table["goal"] == DECODE else 1
        needed = sum(form["weights"]) - sum(size for _, _, size in form["tied"])
        needed += flights * sum(form["held"])
        room = [split.tensor * self.table["room"][kind] for kind, _ in places_of(split)]
        return int(needed - sum(max(0, one - form["spare"]) for one in room))


@dataclass(frozen=True, eq=False)
class Asked(Question):
    """The question of a wish about a model on hosts.

    Attributes
    ----------
    facts
        The layers of each form, by `Split.form`.
    outer
        How many layers are not repeated, before and behind the others.
    pattern
        As of `Origin`.
    notes
        What was taken for granted, as sentences.
    """

    wish: Wish
    hosts: Hosts
    facts: Mapping[tuple[int, ...], tuple[LayerFacts, ...]]
    outer: tuple[int, int]
    pattern: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    costs: ClassVar[str] = "roofline"

    def rate(self, cost: int) -> float:
        """Return tokens a second for a cost of the question: of all that a sequence has, or one."""
        tokens = 1 if self.wish.goal == DECODE else self.wish.context
        per = (self.wish.sequences or self.table["unit"]) * tokens
        return per * NANOSECONDS / max(1, cost)

    def launch(
        self, name: Sequence[int], devices: Sequence[int], model: str, further: str = ""
    ) -> Launch:
        """Return what starts a configuration, with the group of each layer in a replica."""
        split = self.split(name)
        chosen = instance_of(self.configurations[split.name])
        replicas = [list(self._groups(split, replica)) for replica in range(split.data)]
        kinds = [kind for kind, _ in places_of(split)]
        names = tuple(
            f"{self.hosts.kinds[kind].name}{f'*{split.tensor}' * (split.tensor > 1)}#{at}"
            for at, kind in enumerate(kinds)
        )
        chain = replace(
            chosen.chain, outer=self.outer, device_names=names, origin=Origin(pattern=self.pattern)
        )
        stages = dict.fromkeys(devices)
        return Launch(
            replace(chosen, chain=chain),
            LayerAssignment(frozen(devices)),
            model,
            ",".join(str(count) for _, count in self.hosts.hosts),
            split.data,
            split.experts,
            tuple(one for groups in replicas for stage in stages for one in groups[stage]),
            further,
        )

    def _groups(self, split: Split, replica: int) -> Iterator[range]:
        """Yield the devices of each group of a replica, numbered over all hosts."""
        starts = list(accumulate((count for _, count in self.hosts.hosts), initial=0))
        for host in dict.fromkeys(self.hosts.hosts):
            own = [starts[at] for at, one in enumerate(self.hosts.hosts) if one == host]
            in_each, each = -(-split.data // len(own)), max(1, len(own) // split.data)
            groups = host[1] // split.tensor // in_each
            mine = own[replica * each :][:each] if in_each == 1 else [own[replica // in_each]]
            for start in mine:
                first = start + replica % in_each * groups * split.tensor
                for at in range(first, first + groups * split.tensor, split.tensor):
                    yield range(at, at + split.tensor)


def instance_of(one: Configuration) -> LayersInstance:
    """Return the instance of a configuration that fits."""
    head = {"format": INSTANCE_FORMAT, "problem": LayersInstance.problem}
    return LayersInstance.from_json({**head, **(one.fields or {})})


def ask(model: LayerModel, hosts: Hosts, wish: Wish) -> Asked:
    """Return the question of a wish, with the costs of all its configurations.

    Raises
    ------
    InvalidInputError
        If the model cannot do it, or nothing may be chosen.
    """
    if model.usual_workload() is None:
        raise InvalidInputError(
            "the model comes without sequences and tokens; expected a language model's "
            "configuration."
        )
    if {"p"} & {*wish.least, *wish.most} and len(set(hosts.hosts)) > 1:
        raise InvalidInputError(
            "stages are limited, and hosts differ; expected a limit of stages for equal hosts only."
        )
    shape = Workload(wish.goal, 1, wish.context, wish.weight_bits, wish.cache_bits)
    degrees, notes = _degrees(model, hosts, wish, shape)
    table: dict[str, Any] = {
        "goal": wish.goal,
        "hosts": [list(host) for host in hosts.hosts],
        "room": [usable(kind, wish.memory_percent) for kind in hosts.kinds],
        "inside": list(range(len(hosts.kinds))),
        # The last kind of link, if there is more than one host.
        "between": [[len(hosts.links) - 1] * len(hosts.kinds)] * len(hosts.kinds),
        "tensor": degrees,
        "data": [wish.least.get("d", 1), wish.most.get("d", MOST_DEVICES)],
        "stages": [[wish.least.get("p", 1), wish.most.get("p", MOST_DEVICES)] for _ in degrees],
        "sequences": wish.sequences,
        "batches": _batches(wish),
        "limit": round(wish.limit_seconds * NANOSECONDS),
        "unit": 1 if wish.sequences else UNIT,
        "joined": _joined(model, shape, wish.rules),
        "experts": _expert_groups(model, hosts, wish, shape),
        "recomputes": RECOMPUTE[wish.recompute] if wish.goal == TRAINING else [0],
    }
    if wish.first_seconds:
        notes += _limit_first_token(table, model, hosts, wish, shape)
    shapes = dict.fromkeys(one.form for one in splits(table, [*hosts.hosts]))
    if not shapes:
        raise InvalidInputError(
            "nothing may be chosen: expected fewer restrictions, or a number of sequences that "
            "replicas and micro-batches divide."
        )
    facts, known, table["forms"] = {}, {}, []
    for form in shapes:
        tensor, experts, _, batch, again, data = form
        sharing = data if wish.shards else 1
        key = tensor, experts, batch, again, sharing
        if key not in known:
            workload = replace(
                shape, batch=batch, tensor_parallel=tensor, experts_over=experts,
                recomputes=bool(again), optimizer_over=sharing,
            )  # fmt: skip
            known[key] = model.layers(workload), model.tied(workload)
        facts[form], tied = known[key]
        made = _form(facts[form], form, hosts, wish, model.dtype)
        table["forms"].append({**made, "tied": [list(triple) for triple in tied]})
    taken = (*model.notes, *hosts.notes, *notes)
    return Asked(table, wish, hosts, facts, model.outer_in(shape), model.pattern, taken)


def _limit_first_token(
    table: dict[str, Any], model: LayerModel, hosts: Hosts, wish: Wish, shape: Workload
) -> tuple[str, ...]:
    """Leave only as many stages as a prompt may go through, each hop over the slowest link."""
    if len(hosts.kinds) > 1:
        raise InvalidInputError(
            "the time to the first token is limited, and devices differ; expected one kind."
        )
    slowest, notes = min(hosts.links, key=lambda link: link.bandwidth), []
    for at, tensor in enumerate(table["tensor"]):
        layers = model.layers(replace(shape, phase=PREFILL, tensor_parallel=tensor))
        on = StageDevice(hosts.kinds[0], tensor, hosts.inside[0] if tensor > 1 else None)
        alone = sum(layer_seconds(layer, on, model.dtype) for layer in layers) + wish.overhead
        sent = max((layer.output for layer in layers[:-1]), default=0)
        hop = slowest.latency + sent / slowest.bandwidth + wish.overhead
        hops = int((wish.first_seconds - alone) / hop) if alone <= wish.first_seconds else -1
        table["stages"][at][1] = min(table["stages"][at][1], max(0, 1 + hops))
        if 1 + hops < hosts.devices // tensor:
            notes.append(
                f"with tensor parallelism {tensor}, the first token takes {1e3 * alone:,.4g} ms "
                f"and {1e3 * hop:,.3g} ms for each further stage, so there may be {1 + hops} stages"
            )
    return tuple(notes)


def _form(
    layers: Sequence[LayerFacts], form: tuple[int, ...], hosts: Hosts, wish: Wish, dtype: str
) -> dict[str, Any]:  # fmt: skip
    """Return what layers take in a form, for a micro-batch.

    What an engine adds to each step of a stage is in what the stage sends, and in the last layer.
    """
    tensor, data, overhead, time = form[0], form[-1], wish.overhead, []
    for at, (kind, link) in enumerate(zip(hosts.kinds, hosts.inside, strict=True)):
        on = StageDevice(kind, tensor, link if tensor > 1 else None)
        seconds = [
            layer_seconds(layer, on, dtype) + exchanging_seconds(layer, form, hosts, at)
            for layer in layers
        ]
        seconds[-1] += overhead
        time.append([ticks(one) for one in seconds])
    sync = 0
    if wish.goal == TRAINING and not wish.overlaps:
        # Fewer replicas have the same experts if these are divided, and each has fewer.
        kept = sum(layer.gradients for layer in layers)
        sync = ticks(all_reduce(GRADIENT_BYTES * kept / tensor, _replicas(hosts, data)))
    return {
        **dict(zip(KEYS, form, strict=True)),
        "time": time,
        "weights": [layer.weights for layer in layers],
        "held": [layer.held for layer in layers],
        "spare": max(layer.live for layer in layers),
        "sync": sync,
        "transfer": [
            [ticks(link.latency + one.output / link.bandwidth + overhead) for one in layers[:-1]]
            for link in hosts.links
        ],
    }


def exchanging_seconds(layer: LayerFacts, form: tuple[int, ...], hosts: Hosts, kind: int) -> float:
    """Return the seconds of a layer's exchanges with the experts of other replicas."""
    tensor, experts, spread = form[:3]
    if experts == 1 or not layer.exchanged:
        return 0.0
    # As if equally many of the devices that share experts were in each host.
    ranks = Ranks(-(-tensor * experts // spread), spread, hosts.inside[kind], hosts.between)
    return layer.exchanges * all_to_all(layer.exchanged / layer.exchanges / tensor, ranks)


def _replicas(hosts: Hosts, count: int) -> Ranks:
    """Return where the same part of each replica is, as if equally many were in each host."""
    spread = min(count, len(hosts.hosts))
    slowest = min(hosts.inside, key=lambda link: link.bandwidth)
    return Ranks(-(-count // spread), spread, slowest, hosts.between)


def ticks(seconds: float) -> int:
    """Return whole nanoseconds."""
    return round(seconds * NANOSECONDS)


def _degrees(
    model: LayerModel, hosts: Hosts, wish: Wish, shape: Workload
) -> tuple[list[int], tuple[str, ...]]:
    """Return the numbers of devices that may split layers, and why others may not."""
    found, refused, reason = [], [], None
    for tensor in range(1, max(count for _, count in hosts.hosts) + 1):
        if not wish.allows("t", tensor):
            continue
        try:
            model.layers(replace(shape, tensor_parallel=tensor))
        except InvalidInputError as error:
            refused.append(tensor)
            reason = error
        else:
            found.append(tensor)
    if not found:
        raise reason or InvalidInputError(
            "no number of devices may split the layers; expected one from 1 to those of a host."
        )
    listed = ", ".join(map(str, refused))
    note = f"heads do not divide for tensor parallelism of {listed}, which is left out"
    return found, (note,) if refused else ()


def _joined(model: LayerModel, shape: Workload, rules: str) -> list[int]:
    """Return the layers that have to be with the one before them, by the model and a tool."""
    n = len(model.layers(shape))
    nothing, names = frozen([0] * n), tuple(map(str, range(n)))
    chain = LayerChain(
        frozen([[0] * n]), nothing, nothing, (), model.joined(), frozen([[0] * (n - 1)]),
        frozen([[0]]), (0,), frozen([0]), nothing, model.outer_in(shape), names, ("0",),
    )  # fmt: skip
    if rules != NO_RULES and find("tool in rules", rules, TOOLS).is_input_on_host:
        raise InvalidInputError(f"rules are {rules!r}, which has no groups; expected another tool.")
    return list(under_rules(chain, rules).joined)


def _expert_groups(model: LayerModel, hosts: Hosts, wish: Wish, shape: Workload) -> list[int]:
    """Return over how many devices experts may be divided: their number is a multiple of that."""
    numbers = [one.expert_count for one in model.layers(shape) if one.expert_count]
    if not numbers or len(set(hosts.hosts)) > 1:
        if {"e"} & {*wish.least, *wish.most}:
            raise InvalidInputError(
                "e is given, and there are no experts, or hosts differ; expected a mixture of "
                "experts on equal hosts."
            )
        return []
    count = math.gcd(*numbers)
    found = [e for e in range(1, hosts.devices + 1) if count % e == 0 and wish.allows("e", e)]
    if not found:
        raise InvalidInputError(
            f"no e is allowed for {count} experts; expected a divisor, and at most as many devices."
        )
    return found


def _batches(wish: Wish) -> list[int]:
    """Return the sizes of micro-batches that may be chosen; none for any."""
    if wish.goal == DECODE and wish.sequences:
        if not {"b"} & {*wish.least, *wish.most}:
            return []
        most = wish.most.get("b", wish.sequences)
        return list(range(wish.least.get("b", 1), most + 1))
    if wish.goal == TRAINING:
        sizes = [one for one in range(1, wish.sequences + 1) if wish.sequences % one == 0]
    else:
        sizes = [2**at for at in range(MOST_BATCH.bit_length())]
        if "b" in wish.least and wish.least["b"] == wish.most.get("b"):
            sizes = [wish.least["b"]]
    return [one for one in sizes if one <= MOST_BATCH and wish.allows("b", one)]
