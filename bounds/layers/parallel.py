"""Which parallelism: the question as one table of integers, and its answer with a certificate.

`boundmark.bounds.checker.layers.parallel` says what the table means, and lists its configurations.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from boundmark.bounds import checker
from boundmark.bounds.checker.layers.instance import NoRoom
from boundmark.bounds.checker.layers.parallel import KEYS, MOST_SEQUENCES, Split, places_of, splits
from boundmark.bounds.checker.layers.questions import NEVER, Configuration
from boundmark.bounds.layers import layer_choices
from boundmark.bounds.layers.layer_reach import KIND as REACH
from boundmark.bounds.layers.layer_reach import Search
from boundmark.problems.arrays import frozen
from boundmark.problems.certificate import CERTIFICATE_FORMAT, Certificate
from boundmark.problems.errors import InvalidInputError, UnsupportedError, find, quoted
from boundmark.problems.json_documents import canonical_json, sha256_hex
from boundmark.problems.layers.chain import MOST_DEVICES, LayerChain
from boundmark.problems.layers.collectives import Ranks, all_reduce, all_to_all
from boundmark.problems.layers.costs import StageDevice, layer_seconds, reducing_seconds, usable
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
from boundmark.problems.method import Budget
from boundmark.problems.problem import INSTANCE_FORMAT, SOLUTION_FORMAT
from boundmark.problems.ticks import NANOSECONDS

GOALS = (DECODE, PREFILL, TRAINING)

# Whether training runs layers again: as is best, not at all, or all of them.
RECOMPUTE = {"any": [0, 1], "none": [0], "full": [1]}

# Of each gradient, in which precision it is summed up.
GRADIENT_BYTES = 4

# What costs of goals without a number of sequences are for.
UNIT = 2**20

# Sequences of a micro-batch that are tried where their number is free.
MOST_BATCH = 2**10


@dataclass(frozen=True)
class Wish:
    """What is asked of a model on hosts.

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
class Question:
    """A wish about a model on hosts, and its table.

    Attributes
    ----------
    facts
        The layers of each form, by `Split.form`.
    outer
        How many layers are not repeated, before and behind the others.
    notes
        What was taken for granted, as sentences.
    """

    wish: Wish
    hosts: Hosts
    table: Mapping[str, Any]
    facts: Mapping[tuple[int, ...], tuple[LayerFacts, ...]]
    outer: tuple[int, int]
    notes: tuple[str, ...] = ()

    @cached_property
    def document(self) -> dict[str, Any]:
        """What the checker reads."""
        head = {"format": INSTANCE_FORMAT, "problem": LayersInstance.problem}
        return {**head, "question": "parallel", **self.table}

    @cached_property
    def sha256(self) -> str:
        """Hash of the canonical JSON."""
        return sha256_hex(canonical_json(self.document))

    def rate(self, cost: int) -> float:
        """Return tokens a second for a cost of the question: of all that a sequence has, or one."""
        tokens = 1 if self.wish.goal == DECODE else self.wish.context
        per = (self.wish.sequences or self.table["unit"]) * tokens
        return per * NANOSECONDS / max(1, cost)

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
        flights = split.micro_batches if self.wish.goal == DECODE else 1
        needed = sum(form["weights"]) - sum(size for _, _, size in form["tied"])
        needed += flights * sum(form["held"])
        room = [split.tensor * self.table["room"][kind] for kind, _ in places_of(split)]
        return int(needed - sum(max(0, one - form["spare"]) for one in room))


def ask(model: LayerModel, hosts: Hosts, wish: Wish) -> Question:
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
    return Question(
        wish, hosts, table, facts, model.outer_in(shape), (*model.notes, *hosts.notes, *notes)
    )


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
        time.append([_ticks(one) for one in seconds])
    sync = 0
    if wish.goal == TRAINING and not wish.overlaps:
        # Of experts that are divided, fewer replicas have the same, and each has fewer.
        kept = sum(layer.gradients for layer in layers)
        sync = _ticks(all_reduce(GRADIENT_BYTES * kept / tensor, _replicas(hosts, data)))
    return {
        **dict(zip(KEYS, form, strict=True)),
        "time": time,
        "weights": [layer.weights for layer in layers],
        "held": [layer.held for layer in layers],
        "spare": max(layer.live for layer in layers),
        "sync": sync,
        "transfer": [
            [_ticks(link.latency + one.output / link.bandwidth + overhead) for one in layers[:-1]]
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


def _ticks(seconds: float) -> int:
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


# Why a configuration is not among those with a cost: it does not fit into the memory, takes longer
# than the limit, costs more than the best ones by its bound, or the time was up.
MEMORY, LIMIT, BOUND, TIME = "memory", "limit", "bound", "time"


class Row(NamedTuple):
    """What is known of a configuration.

    Attributes
    ----------
    name
        (t, d, e, m, b, r): devices that split layers, replicas, how many of these share experts,
        micro-batches of each, sequences of a micro-batch, and whether layers run again in training.
    bound
        What it costs at least; None if it does not fit into the memory, or takes too long.
    cost
        Of its best assignment; None if there is none, or none was searched for.
    why
        Why it has no cost.
    devices
        The group of each layer in the best assignment.
    """

    name: tuple[int, ...]
    bound: int | None
    cost: int | None = None
    why: str = ""
    devices: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Found:
    """The answer of a question.

    Attributes
    ----------
    rows
        All configurations: those with an assignment by its cost, then the others by their bound.
    certificate
        The document from which the checker derives the bound.
    bound
        What every configuration costs at least; `NEVER` if there is none that may be.
    """

    question: Question
    rows: tuple[Row, ...]
    certificate: dict[str, Any]
    bound: int

    @property
    def is_impossible(self) -> bool:
        """Whether no configuration may be, which is proven."""
        return self.bound == NEVER

    @property
    def best(self) -> Row | None:
        """The configuration with the least cost; None if there is none that fits."""
        first = self.rows[0]
        return None if first.cost is None else first

    @cached_property
    def solution(self) -> dict[str, Any] | None:
        """The document of the best configuration, with the devices of layers."""
        if self.best is None:
            return None
        return {
            "format": SOLUTION_FORMAT,
            "problem": LayersInstance.problem,
            "instance_sha256": self.question.sha256,
            "objective": self.best.cost,
            "producer": "plan",
            "configuration": list(self.best.name),
            "devices": list(self.best.devices),
        }


def answer(
    question: Question,
    budget: Budget,
    wanted: int = 10,
    tell: Callable[[int, int], None] = lambda done, all_: None,
) -> Found:
    """Return the best configurations, each optimal unless the time is up, and a certificate.

    Parameters
    ----------
    wanted
        How many of the best configurations are searched for their optimum.
    tell
        Called with how many configurations are done, and how many there are.
    """
    read = checker.check_instance(question.document)
    found = layer_choices.answer(read, instance_of, NEVER, budget, wanted=wanted, tell=tell)
    costs = sorted(cost for cost, _ in found.found.values())
    enough = costs[wanted - 1] if len(costs) >= wanted else NEVER
    rows = []
    for one in read.configurations():
        bound = found.bounds[one.name]
        if one.name in found.found:
            cost, best = found.found[one.name]
            rows.append(Row(one.name, bound, cost, devices=tuple(best.devices.tolist())))
        elif bound is None:
            rows.append(Row(one.name, None, why=_why_never(one, question)))
        else:
            rows.append(Row(one.name, bound, why=BOUND if bound >= enough else TIME))
    rows.sort(key=lambda row: (row.cost is None, row.bound is None, row.cost or row.bound
                               or question.missing(row.name), row.name))  # fmt: skip
    certificate = {
        "format": CERTIFICATE_FORMAT,
        "problem": LayersInstance.problem,
        "instance_sha256": question.sha256,
        "kind": layer_choices.KIND,
        "bound": found.bound,
        "payload": found.payload,
        "producer": "plan",
    }
    result = Found(question, tuple(rows), certificate, found.bound)
    checker.check_certificate(question.document, certificate)
    if result.solution is not None:
        checker.check_solution(question.document, result.solution)
    return result


class Point(NamedTuple):
    """A configuration's time between tokens and rate, and certified limits of them."""

    configuration: tuple[int, ...]
    milliseconds: float
    tokens_per_second: float
    least_milliseconds: float
    most_tokens_per_second: float


def front(question: Question, budget: Budget) -> list[Point]:
    """Return configurations of which none is certified to be better in both, fastest rounds first.

    In the order of their bounds, each is searched unless one that is known has as short rounds and
    as high a rate as its bounds allow.
    """
    if question.wish.goal != DECODE:
        raise InvalidInputError("the goal is not decode; expected it for a front.")
    read, found = checker.check_instance(question.document), list[Point]()

    def point(one: Configuration, best: int, bound: int) -> Point:
        seconds = (1e3 * best / NANOSECONDS, question.rate(one.scale * best // one.per))
        limits = (1e3 * bound / NANOSECONDS, question.rate(one.scale * bound // one.per))
        return Point(one.name, *seconds, *limits)

    for one in sorted(read.configurations(), key=lambda one: one.cost(one.least)):
        ideal = point(one, one.least, one.least)
        if budget.is_spent():
            raise UnsupportedError("the time was up before all configurations of the front.")
        is_worse = any(known[1] <= ideal[1] and known[2] >= ideal[2] for known in found)
        if is_worse or one.cost(one.least) == NEVER:
            continue
        try:
            search = Search(instance_of(one), one.read(), budget)
        except (NoRoom, InvalidInputError):
            continue
        most = search.instance.most()
        search.below(min(most, one.most or most) + 1)
        if search.best is not None:
            payload = search.payload(search.bound, search.largest)
            proof = Certificate.of(search.instance, REACH, search.bound, payload, "plan")
            bound = checker.check_certificate(search.instance.to_json(), proof.to_json())
            found.append(point(one, search.instance.objective(search.best), bound))
    found.sort(key=lambda one: (one[1], -one[2]))
    return [one for at, one in enumerate(found) if all(one[2] > two[2] for two in found[:at])]


def _why_never(one: Configuration, question: Question) -> str:
    """Return why a configuration may not be."""
    with suppress(NoRoom):
        return LIMIT if one.read() and question.table["limit"] else MEMORY
    return MEMORY


def instance_of(one: Configuration) -> LayersInstance:
    """Return the instance of a configuration that fits."""
    head = {"format": INSTANCE_FORMAT, "problem": LayersInstance.problem}
    return LayersInstance.from_json({**head, **(one.fields or {})})


class Part(NamedTuple):
    """Where the time of a stage goes for a micro-batch, in nanoseconds, and its bytes."""

    devices: str
    layers: int
    computing: int
    reducing: int
    exchanging: int
    sending: int
    overhead: int
    weights: int
    cache: int
    capacity: int


def parts(question: Question, row: Row) -> tuple[Part, ...]:
    """Return the parts of each stage of a configuration with a cut."""
    split, wish = question.split(row.name), question.wish
    listed = checker.check_instance(question.document).configurations()
    instance = instance_of(next(one for one in listed if one.name == row.name))
    solution, hosts = LayerAssignment(frozen(list(row.devices))), question.hosts
    places, facts = places_of(split), question.facts[split.form]
    loads, found, extra = instance.stage_loads(solution), [], _ticks(wish.overhead)
    for at, (stage, load) in enumerate(zip(solution.stages, loads, strict=True)):
        kind, is_last = places[stage.device][0], at + 1 == len(loads)
        device, own = hosts.kinds[kind], facts[stage.first : stage.end]
        on = StageDevice(device, split.tensor, hosts.inside[kind] if split.tensor > 1 else None)
        reducing = sum(_ticks(reducing_seconds(layer, on)) for layer in own)
        exchanging = sum(
            _ticks(exchanging_seconds(layer, split.form, hosts, kind)) for layer in own
        )
        weights = instance.chain.memory(stage.first, stage.end, 0)
        found.append(
            Part(
                f"{split.tensor}x{device.name}" if split.tensor > 1 else device.name,
                stage.end - stage.first,
                load.computing - reducing - exchanging - extra * is_last,
                reducing,
                exchanging,
                load.sending - extra * (not is_last),
                extra,
                weights,
                load.memory - weights,
                load.capacity,
            )
        )
    return tuple(found)
