"""The best parallelism: the answer of a question, with a certificate over all configurations."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from boundmark.bounds import checker
from boundmark.bounds.checker.layers.instance import NoRoom
from boundmark.bounds.checker.layers.parallel import places_of
from boundmark.bounds.checker.layers.questions import NEVER, Configuration
from boundmark.bounds.layers import layer_choices
from boundmark.bounds.layers.layer_reach import KIND as REACH
from boundmark.bounds.layers.layer_reach import Search
from boundmark.problems.arrays import frozen
from boundmark.problems.certificate import Certificate
from boundmark.problems.errors import InvalidInputError, UnsupportedError
from boundmark.problems.layers import LayerAssignment
from boundmark.problems.layers.costs import StageDevice, reducing_seconds
from boundmark.problems.layers.model import DECODE
from boundmark.problems.layers.parallel import Asked, exchanging_seconds, instance_of, ticks
from boundmark.problems.method import Budget
from boundmark.problems.problem import solution_document
from boundmark.problems.ticks import NANOSECONDS

# Why a configuration is not among those with a cost: it does not fit into the memory, takes longer
# than the limit, costs more than the best ones by its bound, or the time was up.
MEMORY, LIMIT, BOUND, TIME = "memory", "limit", "bound", "time"


class Row(NamedTuple):
    """The best cost and bound known for a configuration.

    Attributes
    ----------
    name
        (t, d, e, m, b, r): devices that split layers, replicas, how many of these share experts,
        micro-batches of each, sequences of a micro-batch, and whether layers run again in training.
    bound
        What it costs at least; None if it does not fit into the memory, or takes too long.
    cost
        Cost of its best assignment; None if there is none, or none was searched for.
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

    question: Asked
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
        best = LayerAssignment(frozen(list(self.best.devices)), self.best.name)
        document = solution_document(self.question, best, self.best.cost or 0)
        return {**document, "producer": "plan"}


def answer(
    question: Asked,
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
    read = checker.check_instance(question.to_json())
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
    kind, proof = layer_choices.KIND, found.payload
    certificate = Certificate.of(question, kind, found.bound, proof, "plan").to_json()
    result = Found(question, tuple(rows), certificate, found.bound)
    checker.check_certificate(question.to_json(), certificate)
    if result.solution is not None:
        checker.check_solution(question.to_json(), result.solution)
    return result


class Point(NamedTuple):
    """A configuration's time between tokens and rate, and certified limits of them."""

    configuration: tuple[int, ...]
    milliseconds: float
    tokens_per_second: float
    least_milliseconds: float
    most_tokens_per_second: float


def front(question: Asked, budget: Budget) -> list[Point]:
    """Return configurations of which none is certified to be better in both, fastest rounds first.

    In the order of their bounds, each is searched unless one that is known has as short rounds and
    as high a rate as its bounds allow.
    """
    if question.wish.goal != DECODE:
        raise InvalidInputError("the goal is not decode; expected it for a front.")
    read, found = checker.check_instance(question.to_json()), list[Point]()

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


def _why_never(one: Configuration, question: Asked) -> str:
    """Return why a configuration may not be."""
    with suppress(NoRoom):
        return LIMIT if one.read() and question.table["limit"] else MEMORY
    return MEMORY


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


def parts(question: Asked, row: Row) -> tuple[Part, ...]:
    """Return the parts of each stage of a configuration with a cut."""
    split, wish = question.split(row.name), question.wish
    instance = instance_of(question.configurations[row.name])
    solution, hosts = LayerAssignment(frozen(list(row.devices))), question.hosts
    places, facts = places_of(split), question.facts[split.form]
    loads, found, extra = instance.stage_loads(solution), [], ticks(wish.overhead)
    for at, (stage, load) in enumerate(zip(solution.stages, loads, strict=True)):
        kind, is_last = places[stage.device][0], at + 1 == len(loads)
        device, own = hosts.kinds[kind], facts[stage.first : stage.end]
        on = StageDevice(device, split.tensor, hosts.inside[kind] if split.tensor > 1 else None)
        reducing = sum(ticks(reducing_seconds(layer, on)) for layer in own)
        exchanging = sum(ticks(exchanging_seconds(layer, split.form, hosts, kind)) for layer in own)
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
