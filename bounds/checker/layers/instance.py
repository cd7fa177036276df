"""Reads instances of `layers`."""

import itertools
from typing import Any, NamedTuple

from ..budget import hold, spend
from ..values import LARGEST_COST, Rejected, fields, number, numbers, quoted
from .limits import MOST_DEVICES, MOST_LAYERS

FIELDS = {
    "goal", "device_order", "micro_batches", "in_flight", "virtual_stages", "made_of", "time",
    "weights", "held", "tied", "joined", "transfer", "link", "devices", "capacity", "sizes",
    "outer",
}  # fmt: skip

# `first`: types whose devices can only have the first stage, as the host has in llama.cpp.
OPTIONAL_FIELDS = ("first",)

MOST_MICRO_BATCHES = MOST_IN_FLIGHT = 2**20
MOST_VIRTUAL_STAGES = 64
LARGEST_MAKESPAN = 2**62

STAGES, ONE_F_ONE_B, ZB_H2, INTERLEAVED = "stages", "1f1b", "zb-h2", "interleaved"


class NoRoom(Rejected):
    """Raised if the layers of an instance do not fit into the memory of its devices."""


class Case(NamedTuple):
    """Numbers of micro-batches that stages hold, the last one first, for some numbers of stages."""

    # Micro-batches that the last stage holds, the one before it, and so on; all stages before those
    # hold as many as the last of these.
    held: tuple[int, ...]
    # Stages that a pipeline may have; more than there are devices for any number.
    most: int
    # Up to how many stages it makes a difference how many there are.
    counted: int

    def alike(self, count: int) -> int:
        """Return the first stage from the end, 1 for the last, from which on all hold as much."""
        return min(count, len(self.held))

    def later(self, count: int) -> int:
        """Return the number of the stage before it; one that may not be if all are taken."""
        return count + 1 if self.counted == self.most else min(count + 1, self.counted)


class Instance(NamedTuple):
    """An instance that has passed all checks."""

    # 1 if loads are added up, 0 if only the largest one counts.
    adds: int
    # How often the largest load counts.
    rounds: int
    # How often the largest load has to go into the cost, whatever the sum is.
    turns: int
    # micro_batches, in_flight, virtual_stages: As in the document.
    micro_batches: int
    in_flight: int | str
    virtual_stages: int
    # An assignment without virtual stages fits if it does so in one of these cases.
    cases: tuple[Case, ...]
    is_free: bool
    # Ticks of each layer on each type of device.
    time: list[list[int]]
    weights: list[int]
    held: list[int]
    # By the first of two tied layers: the second one, and the bytes that they share.
    partner: dict[int, tuple[int, int]]
    # Whether a stage may begin at each layer.
    apart: list[bool]
    # transfer, link: Ticks over each kind of link behind each layer but the last; the kind for each
    # pair of types.
    transfer: list[list[int]]
    link: list[list[int]]
    # The type of each device in order, if stages have to follow it.
    devices: list[int]
    # The devices of each type.
    members: list[list[int]]
    capacity: list[int]
    # Types that only the first stage may be on.
    first: list[int]
    # For each type the first one that may have the same stages, which take as long.
    alike: list[int]


def read_instance(document: dict[str, Any], is_room_enough: bool = True) -> Instance:
    """Return an instance; raise `Rejected` if it is malformed, `NoRoom` if memory is too small."""
    # `is_room_enough`: Whether to look at the memory at all.
    document = fields(document, "the instance", FIELDS, OPTIONAL_FIELDS)
    goal = _one_of(document, "goal", ("bottleneck", "latency", "makespan", "round"))
    order = _one_of(document, "device_order", ("free", "given"))
    batches = number(document["micro_batches"], "micro_batches", 1, MOST_MICRO_BATCHES)
    virtual = number(document["virtual_stages"], "virtual_stages", 1, MOST_VIRTUAL_STAGES)
    rule = _rule(document["in_flight"], virtual)
    if virtual > 1 and goal != "bottleneck":
        raise Rejected("the instance has virtual stages, and its goal is not bottleneck")
    made_of = document["made_of"]
    if type(made_of) is not dict or not {type(one) for one in made_of.values()} <= {int, str}:
        raise Rejected("made_of of the instance is not an object of texts and integers")
    weights = numbers(document["weights"], "weights of the instance", 0, LARGEST_COST)
    held = numbers(document["held"], "held of the instance", 0, LARGEST_COST)
    capacity = numbers(document["capacity"], "capacity of the instance", 0, LARGEST_COST)
    n, types = len(weights), len(capacity)
    if not 1 <= n <= MOST_LAYERS or len(held) != n:
        raise Rejected("the instance has no layers, too many, or not as many in every list")
    devices = numbers(document["devices"], "devices of the instance", 0, types - 1)
    if not 1 <= len(devices) <= MOST_DEVICES or set(devices) != set(range(types)):
        raise Rejected("the instance has no devices, too many, or none of some type")
    # What tools go by; the optimum does not depend on it.
    sizes = numbers(document["sizes"], "sizes of the instance", 0, LARGEST_COST)
    outer = numbers(document["outer"], "outer of the instance", 0, n)
    if len(sizes) != n or len(outer) != 2 or sum(outer) > n:
        raise Rejected("sizes or outer of the instance do not say as much as they should")
    transfer = _rows(document, "transfer", None, n - 1, LARGEST_COST)
    time = _rows(document, "time", types, n, LARGEST_COST)
    link = _rows(document, "link", types, types, len(transfer) - 1)
    slowest = sum(map(max, zip(*time, strict=True)))
    if slowest + sum(map(max, zip(*transfer, strict=True))) > LARGEST_COST:
        raise Rejected("the times of the instance are too large")
    joined = numbers(document["joined"], "joined of the instance", 1, n - 1)
    if any(u >= w for u, w in itertools.pairwise(joined)):
        raise Rejected("joined of the instance is not ascending")
    hold(100 * (n * (types + len(transfer)) + types * types))
    spend(n * (types + len(transfer) + 8) + (len(devices) + types) * types)
    first = numbers(document.get("first", []), "first of the instance", 0, types - 1)
    if any(u >= w for u, w in itertools.pairwise(first)) or ("first" in document and not first):
        raise Rejected("first of the instance is empty or not ascending")
    if first and virtual > 1:
        raise Rejected("the instance has virtual stages and types for the first stage only")
    flights = _most_in_flight(rule, batches, virtual, len(devices))
    if sum(weights) + sum(held) > LARGEST_COST or flights * sum(held) > LARGEST_COST:
        raise Rejected("the bytes of the instance add up to more than 2^53")
    if goal in ("makespan", "round") and 2 * batches * slowest > LARGEST_MAKESPAN:
        raise Rejected("the micro-batches of the instance take more than 2^61 ticks")
    partners = _partners(document["tied"], weights)
    if is_room_enough:
        _check_room(partners, weights, held, [capacity[kind] for kind in devices])
    most = min(n, len(devices))
    cases = _cases(rule, batches, most if any(held) else 1, most)
    own = [(time[kind], capacity[kind], kind in first) for kind in range(types)]
    return Instance(
        int(goal != "bottleneck"),
        {"bottleneck": 1, "latency": 0, "makespan": batches - 1, "round": 0}[goal],
        batches if goal == "round" else 1,
        batches, rule, virtual, cases, order == "free", time, weights, held,
        partners, _apart(joined, n),
        transfer, link, devices,
        [[at for at, one in enumerate(devices) if one == kind] for kind in range(types)],
        capacity, first, [own.index(mine) for mine in own],
    )  # fmt: skip


def _rule(value: Any, virtual: int) -> int | str:
    """Return how many micro-batches stages hold: a number, or the name of a rule."""
    if type(value) is int:
        return number(value, "in_flight of the instance", 1, MOST_IN_FLIGHT)
    known = (STAGES, INTERLEAVED) if virtual > 1 else (STAGES, ONE_F_ONE_B, ZB_H2)
    if type(value) is not str or value not in known:
        raise Rejected(f"in_flight of the instance is not a number or {' or '.join(known)}")
    return value


def _most_in_flight(rule: int | str, batches: int, virtual: int, devices: int) -> int:
    """Return more micro-batches than any stage holds, or as many."""
    if isinstance(rule, int):
        return rule
    return batches if virtual > 1 else min(batches, 2 * devices)


def _check_room(
    partners: dict[int, tuple[int, int]], weights: list[int], held: list[int], rooms: list[int]
) -> None:
    """Refuse an instance if a layer fits on no device, or all layers on no number of them."""
    if max(map(sum, zip(weights, held, strict=True))) > max(rooms):
        raise NoRoom("a layer of the instance fits on no device")
    shared = sum(bytes_ for _, bytes_ in partners.values())
    if sum(weights) - shared + sum(held) > sum(rooms):
        raise NoRoom("the layers of the instance need more memory than there is")


def _cases(rule: int | str, batches: int, stages: int, most: int) -> tuple[Case, ...]:
    """Return cases that have all assignments of at most `most` stages that fit, and no others.

    If each of k stages holds min(m, k), those with at most F stages are among the pipelines that
    hold F on each: what fits there fits with min(m, k) as well, and what fits with min(m, k) is
    there for F = min(m, k). `stages` is the largest F that makes a difference; it comes first.
    """
    if rule == STAGES:
        full = min(batches, stages)
        fewer = (Case((held,), held, held) for held in range(full - 1, 0, -1))
        return (Case((full,), most + 1, 1), *fewer)
    if rule in (ONE_F_ONE_B, ZB_H2):
        step = 1 if rule == ONE_F_ONE_B else 2
        held = [min(batches, 1 + step * at) for at in range(stages)]
        different = 1 + held.index(held[-1])
        return (Case(tuple(held[:different]), most + 1, different),)
    return (Case((rule if isinstance(rule, int) else 1,), most + 1, 1),)


def memory(instance: Instance, first: int, end: int, in_flight: int) -> int:
    """Return the bytes of a stage; layers that are tied within it count once."""
    shared = sum(
        instance.partner[at][1]
        for at in range(first, end)
        if at in instance.partner and instance.partner[at][0] < end
    )
    return sum(instance.weights[first:end]) - shared + in_flight * sum(instance.held[first:end])


def _apart(joined: list[int], n: int) -> list[bool]:
    found = [True] * n
    for at in joined:
        found[at] = False
    return found


def _partners(value: Any, weights: list[int]) -> dict[int, tuple[int, int]]:
    if type(value) is not list:
        raise Rejected("tied of the instance is not a list")
    found: dict[int, tuple[int, int]] = {}
    seen: set[int] = set()
    for triple in value:
        row = numbers(triple, "an entry of tied", 0, LARGEST_COST)
        if len(row) != 3 or not row[0] < row[1] < len(weights) or {row[0], row[1]} & seen:
            raise Rejected("an entry of tied is not two layers, in no other entry, and bytes")
        if row[2] > min(weights[row[0]], weights[row[1]]):
            raise Rejected("an entry of tied has more bytes than its layers")
        seen |= {row[0], row[1]}
        found[row[0]] = (row[1], row[2])
    return found


def _one_of(document: dict[str, Any], name: str, known: tuple[str, ...]) -> str:
    value = document[name]
    if type(value) is not str or value not in known:
        raise Rejected(f"{name} of the instance is not {' or '.join(known)}, but {quoted(value)}")
    return value


def _rows(
    document: dict[str, Any], name: str, count: int | None, length: int, high: int
) -> list[list[int]]:
    rows = document[name]
    if type(rows) is not list or not rows or (count is not None and len(rows) != count):
        raise Rejected(f"{name} of the instance is not a list of as many lists as there should be")
    read = [numbers(row, f"an entry of {name} of the instance", 0, high) for row in rows]
    if any(len(row) != length for row in read):
        raise Rejected(f"a row of {name} of the instance is not of length {length}")
    return read
