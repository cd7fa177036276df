"""The space `parallel`: how devices of hosts, and sequences, are divided.

The table: `hosts` are pairs of a kind of device and how many a host has; a device of each kind has
`room` bytes; within hosts and `between` those of two kinds there are kinds of links (`inside`).
A configuration is (t, d, e, m, b, r). In each host, every t devices are a group that splits layers,
for t in `tensor`. The groups make d replicas, d from one number of `data` to the other; each has a
pipeline of its own, with a group for each stage, and runs m micro-batches of b sequences. Of n
equal hosts with g groups, a replica has n // d hosts, or g // ceil(d / n) groups of one if d > n.
At most the second number that `stages` has for t of these count; replicas with less than the first
are none.
Stages follow the order of the hosts if all of them are equal. e divides d: every e replicas have
each expert once. e t is one of `experts`, or these are none and e = 1. They are on e hosts, or on
e / ceil(d / n), rounded up, if d > n, where one of e and ceil(d / n) divides the other. r is one of
`recomputes`. What layers take is in the one of `forms` for t, e, this number of hosts (`spread`),
b, r and, in training, d, else 0: time on each kind of device; weights, what they hold for each
micro-batch, what they share (`tied`), and bytes to `spare`, on a whole group; transfer over each
kind of link. b is one of `batches`, if there are any. The cost, by `goal`:

decode
    Every group has the caches of all sequences of its replica. Of `sequences` in all, that has a
    d-th, rounded up; m is up to the number of its groups, and b an m-th of it, rounded up, for the
    least m with that b. The cost is the time of a round. If `sequences` is 0, any of `batches` is
    b, and the cost is the time of `unit` rounds, divided by the d m b sequences. Rounds longer than
    `limit`, if it is not 0, do not count.
prefill
    The bottleneck for b prompts, times `unit`, divided by the d b prompts. m is the number of
    groups.
training
    The makespan of m micro-batches with one forward and one backward pass in turn, where d m b are
    `sequences`, and an even share for each group of the form's `sync`, the time to sum up the
    gradients of all layers.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ..budget import hold, spend
from ..values import LARGEST_COST, Rejected, fields, number, numbers, quoted
from .instance import read_instance
from .limits import MOST_DEVICES
from .questions import Configuration, Question

DECODE, PREFILL, TRAINING = GOALS = ("decode", "prefill", "training")

FIELDS = {
    "goal", "hosts", "room", "inside", "between", "tensor", "data", "stages", "sequences",
    "batches", "limit", "unit", "forms", "joined", "experts", "recomputes",
}  # fmt: skip

# What a form is for.
KEYS = ("tensor", "experts", "spread", "batch", "recomputes", "data")

FORM_FIELDS = {
    *KEYS, "tied", "time", "weights", "held", "spare",
    "transfer", "sync",
}  # fmt: skip

MOST_SEQUENCES = 2**20
MOST_UNIT = 2**40


class _Form(NamedTuple):
    """Costs of layers, and sums of them over all layers."""

    fields: dict[str, Any]
    # Ticks of all layers, and of the longest one, on the devices where they are fastest.
    fastest: int
    longest: int
    # Bytes that they keep, and hold for each micro-batch.
    kept: int
    flight: int
    # Bytes that each group keeps free, and ticks to sum up all gradients.
    spare: int
    sync: int


class Split(NamedTuple):
    """A configuration, with the most stages that a replica may have."""

    tensor: int
    data: int
    experts: int
    micro_batches: int
    batch: int
    recomputes: int
    # Its form's `KEYS`.
    form: tuple[int, ...]
    stages: int
    shares: list["Share"]

    @property
    def name(self) -> tuple[int, ...]:
        """The integers that documents call it by."""
        return self[:6]


class Share(NamedTuple):
    """A replica's share of equal hosts: how many of them, and how many groups of each."""

    kind: int
    hosts: int
    groups: int


def read(document: dict[str, Any]) -> Question:
    """Return the question of a table; raise `Rejected` if it is malformed."""
    table = fields(document, "the instance", FIELDS)
    goal = table["goal"]
    if type(goal) is not str or goal not in GOALS:
        raise Rejected(f"goal of the instance is not one of {', '.join(GOALS)}")
    room = numbers(table["room"], "room of the instance", 0, LARGEST_COST)
    hosts = _hosts(table, len(room))
    _check_ascending(table, "tensor", 1, MOST_DEVICES)
    _check_ascending(table, "batches", 1, MOST_SEQUENCES)
    _check_ascending(table, "experts", 1, MOST_SEQUENCES)
    _check_ascending(table, "recomputes", 0, 1)
    if table["experts"] and len(set(hosts)) > 1:
        raise Rejected("the instance divides experts among hosts that differ")
    if len(numbers(table["data"], "data of the instance", 1, MOST_DEVICES)) != 2:
        raise Rejected("data of the instance is not two numbers")
    stages = [numbers(row, "an entry of stages", 0, MOST_DEVICES) for row in _list(table, "stages")]
    if len(stages) != len(table["tensor"]) or any(len(row) != 2 or not row[0] for row in stages):
        raise Rejected("stages of the instance are not two numbers for each of tensor")
    number(table["sequences"], "sequences of the instance", 0, MOST_SEQUENCES)
    number(table["limit"], "limit of the instance", 0, LARGEST_COST)
    number(table["unit"], "unit of the instance", 1, MOST_UNIT)
    is_open = goal == PREFILL or (goal == DECODE and not table["sequences"])
    if (is_open or goal == TRAINING) and not table["batches"]:
        raise Rejected("batches of the instance are none, and nothing else says how many there are")
    if goal != DECODE and (table["limit"] or (goal == PREFILL) != (not table["sequences"])):
        raise Rejected("limit or sequences of the instance do not go with its goal")
    forms = _forms(table, len(room))
    links = len(next(iter(forms.values())).fields["transfer"])
    inside = numbers(table["inside"], "inside of the instance", 0, links - 1)
    between = [numbers(row, "an entry of between", 0, links - 1) for row in _list(table, "between")]
    if {len(inside), len(between), *map(len, between)} != {len(room)}:
        raise Rejected("inside or between of the instance is not as long as it should be")

    def configurations() -> Iterator[Configuration]:
        for split in splits(table, hosts):
            spend(32)
            form = forms.get(split.form)
            if form is None:
                raise Rejected(f"the instance has no form for {', '.join(map(str, split.form))}")
            yield _configuration(table, split, form)

    return Question(configurations)


def splits(table: Mapping[str, Any], hosts: list[tuple[int, int]]) -> Iterator[Split]:
    """Yield all configurations of a table, whatever its forms are."""
    is_training = table["goal"] == TRAINING
    for tensor, (least, most) in zip(table["tensor"], table["stages"], strict=True):
        groups = sum(count // tensor for _, count in hosts)
        for data in range(table["data"][0], min(groups, table["data"][1]) + 1):
            shares = _shares(hosts, tensor, data)
            stages = min(sum(one.hosts * one.groups for one in shares), most)
            if stages < least:
                continue
            in_each = -(-data // len(hosts))
            for experts in range(1, data + 1):
                allowed = tensor * experts if experts > 1 else 1
                if data % experts or allowed not in (table["experts"] or [1]):
                    continue
                if in_each % experts and experts % in_each:
                    continue
                spread = -(-experts // in_each)
                for count, batch in _batches(table, data, stages):
                    for again in table["recomputes"]:
                        form = (tensor, experts, spread, batch, again, data * is_training)
                        name = (tensor, data, experts, count, batch, again)
                        yield Split(*name, form, stages, shares)


def _shares(hosts: list[tuple[int, int]], tensor: int, data: int) -> list[Share]:
    """Return what each of `data` replicas has of the hosts of each kind and size."""
    found = []
    for kind, count in dict.fromkeys(hosts):
        alike, groups = hosts.count((kind, count)), count // tensor
        if data <= alike:
            found.append(Share(kind, alike // data, groups))
        else:
            found.append(Share(kind, 1, groups // -(-data // alike)))
    return [one for one in found if one.groups]


def _batches(table: Mapping[str, Any], data: int, stages: int) -> Iterator[tuple[int, int]]:
    """Yield how many micro-batches a replica may have, and of how many sequences."""
    total, allowed = table["sequences"], table["batches"]
    if table["goal"] == PREFILL:
        yield from ((stages, batch) for batch in allowed)
    elif table["goal"] == TRAINING:
        for batch in allowed:
            if total % (data * batch) == 0:
                yield total // (data * batch), batch
    elif total == 0:
        yield from ((count, batch) for count in range(1, stages + 1) for batch in allowed)
    elif data <= total:
        own, count, batch = -(-total // data), 1, 0
        while count <= stages and batch != 1:
            batch = -(-own // count)
            if not allowed or batch in allowed:
                yield count, batch
            # The least number of micro-batches that makes them smaller.
            count = -(-own // max(1, batch - 1))


def _configuration(table: dict[str, Any], split: Split, form: _Form) -> Configuration:
    """Return a configuration, with its instance if all memory together is enough."""
    goal, count, flights = table["goal"], split.micro_batches, 1
    scale, per = 1, 1
    if not table["sequences"]:
        scale, per = table["unit"], split.data * split.batch
    if goal == DECODE:
        flights, per = count, per if table["sequences"] else per * count
    mean = max(form.longest, -(-form.fastest // split.stages))
    least = {
        DECODE: max(form.fastest, count * mean),
        PREFILL: mean,
        TRAINING: form.fastest + (count - 1) * mean,
    }[goal]
    places = places_of(split)
    room = sum(max(0, split.tensor * table["room"][kind] - form.spare) for kind, _ in places)
    fits = form.kept + flights * form.flight <= room
    found = _instance(table, split, form, places) if fits else None
    limit, offset = table["limit"] or LARGEST_COST, 0
    if goal == TRAINING:
        offset = -(-form.sync // split.stages)
    return Configuration(split.name, found, scale, offset, per, least, limit)


def places_of(split: Split) -> list[tuple[int, Any]]:
    """Return the kind and host of each group; no host where each host has one group."""
    many = sum(one.hosts for one in split.shares) > 1
    return [
        (one.kind, (at, host) if many and one.groups > 1 else None)
        for at, one in enumerate(split.shares)
        for host in range(one.hosts)
        for _ in range(one.groups)
    ][: split.stages]


def _instance(
    table: dict[str, Any], split: Split, form: _Form, places: list[tuple[int, Any]]
) -> dict[str, Any]:
    """Return the fields of the instance of one replica."""
    goal, count = table["goal"], split.micro_batches
    many = sum(one.hosts for one in split.shares) > 1
    types = list(dict.fromkeys(places))
    inside, between = table["inside"], table["between"]
    link = [
        [inside[a[0]] if a == b and (a[1] or not many) else between[a[0]][b[0]] for b in types]
        for a in types
    ]
    goals = {DECODE: "round", PREFILL: "bottleneck", TRAINING: "makespan"}
    return {
        "goal": goals[goal],
        "device_order": "given" if len(split.shares) == 1 else "free",
        "micro_batches": count,
        "in_flight": {DECODE: count, PREFILL: "stages", TRAINING: "1f1b"}[goal],
        "virtual_stages": 1,
        "made_of": {},
        "time": [form.fields["time"][kind] for kind, _ in types],
        "weights": form.fields["weights"],
        "held": form.fields["held"],
        "tied": form.fields["tied"],
        "joined": table["joined"],
        "transfer": form.fields["transfer"],
        "link": link,
        "devices": [types.index(place) for place in places],
        "capacity": [max(0, split.tensor * table["room"][kind] - form.spare) for kind, _ in types],
        "sizes": form.fields["weights"],
        "outer": [0, 0],
    }


def _hosts(table: dict[str, Any], kinds: int) -> list[tuple[int, int]]:
    rows = [numbers(row, "an entry of hosts", 0, MOST_DEVICES) for row in _list(table, "hosts")]
    if not rows or not all(len(row) == 2 and row[0] < kinds and row[1] for row in rows):
        raise Rejected("hosts of the instance are none, or not each a kind and a number of devices")
    if sum(count for _, count in rows) > MOST_DEVICES:
        raise Rejected("the instance has too many devices")
    return [(kind, count) for kind, count in rows]


def _forms(table: dict[str, Any], kinds: int) -> dict[tuple[int, ...], _Form]:
    """Return the forms by what they are for; each makes an instance as it should be."""
    found: dict[tuple[int, ...], _Form] = {}
    shapes = set()
    for row in _list(table, "forms"):
        form = fields(row, "an entry of forms", FORM_FIELDS)
        key = tuple(number(form[name], f"{name} of a form", 0, MOST_SEQUENCES) for name in KEYS)
        if key in found:
            raise Rejected(f"the instance has two forms for {', '.join(map(str, key))}")
        whole = {
            "goal": "latency", "device_order": "free", "micro_batches": 1, "in_flight": 1,
            "virtual_stages": 1, "made_of": {}, "time": form["time"], "weights": form["weights"],
            "held": form["held"], "tied": form["tied"], "joined": table["joined"],
            "transfer": form["transfer"], "link": [[0] * kinds] * kinds,
            "devices": list(range(kinds)), "capacity": table["room"], "sizes": form["weights"],
            "outer": [0, 0],
        }  # fmt: skip
        # Nothing need fit yet; all else has to be as in an instance.
        one = read_instance(whole, is_room_enough=False)
        shapes.add((len(one.weights), len(one.transfer)))
        shared = sum(bytes_ for _, bytes_ in one.partner.values())
        fastest = list(map(min, zip(*one.time, strict=True)))
        kept, flight = sum(one.weights) - shared, sum(one.held)
        spare = number(form["spare"], "spare of a form", 0, LARGEST_COST)
        sync = number(form["sync"], "sync of a form", 0, LARGEST_COST)
        found[key] = _Form(form, sum(fastest), max(fastest), kept, flight, spare, sync)
        spend(4 * len(one.weights) * kinds)
        hold(8 * len(found) * len(one.weights) * (kinds + len(one.transfer) + 2))
    if len(shapes) != 1:
        raise Rejected("the forms of the instance are none, or differ in layers or links")
    return found


def _list(table: dict[str, Any], name: str) -> list[Any]:
    if type(table[name]) is not list:
        raise Rejected(f"{name} of the instance is not a list, but {quoted(table[name])}")
    return list(table[name])


def _check_ascending(table: dict[str, Any], name: str, low: int, high: int) -> None:
    values = numbers(table[name], f"{name} of the instance", low, high)
    if values != sorted(set(values)):
        raise Rejected(f"{name} of the instance is not ascending")
