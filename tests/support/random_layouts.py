"""Forges certificates and schedules of random tiny layouts, and compares them with exhaustion.

Certificates are made up, taken from another instance that differs in one field, or damaged, and
claim a tick more than the optimum more often than not. Schedules are made at random and damaged;
what the checker accepts is simulated tick by tick, and costs the optimum at least.
"""

import itertools
import json
import random
import time
from collections import Counter
from collections.abc import Iterator

from brute_force_microbatch import layout, steady_states
from certified import microbatch
from mutation import mutated
from random_mutations import WRONG, Document, optimum, verdict

from boundmark.bounds import checker
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.microbatch import MicrobatchInstance, Schedule
from boundmark.problems.microbatch.schedule import makespan

PROBLEM = "microbatch"


def run(
    dice: random.Random, seconds: float, sought: str | None = None
) -> Counter[tuple[str, str, str]]:
    """Return how often there was each outcome, by what was tried and kind; print what is wrong.

    Parameters
    ----------
    sought
        An outcome after which it ends early.
    """
    until = time.monotonic() + seconds
    counts: Counter[tuple[str, str, str]] = Counter()
    while time.monotonic() < until and not any(key[2] == sought for key in counts):
        instance = draw_instance(dice)
        if not microbatch.is_tiny(instance):
            continue
        for what, documents in itertools.chain(
            _certificates(instance, dice), _schedules(instance, dice)
        ):
            judge = solution_verdict if "starts" in documents[1] else _certificate_verdict
            outcome = judge(*documents)
            kind = str(documents[1].get("kind", "schedule"))
            counts[what, kind, outcome.partition(":")[0]] += 1
            if outcome.startswith(WRONG):
                print(f"{outcome}\n{json.dumps(documents)}", flush=True)
    return counts


def draw_instance(dice: random.Random) -> MicrobatchInstance:
    """Return an instance with up to four blocks on up to three devices, of any shape."""
    devices, size = dice.randint(1, 3), dice.randint(1, 4)
    pairs = list(itertools.permutations(range(size), 2))
    rank = dice.sample(range(size), size)
    while True:
        places = [
            tuple(sorted(dice.sample(range(devices), dice.choice([1, 1, min(2, devices)]))))
            for _ in range(size)
        ]
        memory = [dice.randint(-2, 2) for _ in range(size)]
        if all(sum(m for m, at in zip(memory, places, strict=True) if d in at) == 0
               for d in range(devices)):  # fmt: skip
            break
    drawn = layout(
        [(f"F{i}", dice.randint(1, 3), memory[i], places[i]) for i in range(size)],
        [(u, v) for u, v in pairs if rank[u] < rank[v] and dice.random() < 0.5],
        devices,
    )
    capacity = tuple(max(2, *memory) + dice.choice([-1, 0, 0, 1, 3]) for _ in range(devices))
    least = [max([0, *(drawn.blocks[i].memory for i in here)]) for here in drawn.on_device]
    room = tuple(map(max, capacity, least))
    return MicrobatchInstance(drawn, room, dice.choice([0, 0, 1, 2, 3]))


# Certificates.


def _certificates(
    instance: MicrobatchInstance, dice: random.Random
) -> Iterator[tuple[str, tuple[Document, Document]]]:
    """Yield documents of instances and certificates, with what was done to them."""
    document = instance.to_json()
    for forge in (_device_load, _memory_latency, _modulo_tree):
        certificate = forge(instance, dice)
        yield "forged", (document, certificate)
        payload = mutated(certificate["payload"], dice)
        yield "mutated", (document, {**certificate, "payload": payload})
        other = neighbour(document, dice)
        yield "transplanted", (other, certificate)
        try:
            certificate = {**certificate, "instance_sha256": checker.instance_sha256(other)}
            certificate["bound"] = max(0, certificate["bound"] + dice.choice([-2, -1, 0, 0, 1]))
            yield "transplanted, renamed", (other, certificate)
        except checker.Rejected:
            continue


def neighbour(document: Document, dice: random.Random) -> Document:
    """Return an instance that differs in one entry of one field."""
    changed: Document = json.loads(json.dumps(document))
    name = dice.choice(["micro_batches", "capacity", "duration", "memory", "edges", "device_sets"])
    if name == "micro_batches":
        return {**changed, name: dice.randrange(4)}
    values = changed[name]
    at = dice.randrange(max(1, len(values)))
    if name in ("capacity", "duration"):
        values[at] += dice.choice([-1, 1])
    elif name == "memory":
        # What one block allocates more, another one releases.
        values[at] += 1
        values[dice.randrange(len(values))] -= 1
    elif name == "edges" and values and dice.random() < 0.5:
        del values[at]
    elif name == "edges":
        size = len(changed["duration"])
        added = [dice.randrange(size), dice.randrange(size)]
        changed[name] = sorted([*values, *([added] if added not in values else [])])
    else:
        values[at] = [dice.randrange(len(changed["capacity"]))]
    return changed


def _device_load(instance: MicrobatchInstance, dice: random.Random) -> Document:
    device = dice.randrange(instance.layout.devices)
    here = list(instance.layout.on_device[device]) or [0]
    blocks = dice.sample(here, dice.randint(1, len(here)))
    return _claimed(instance, "device-load/1", {"device": device, "blocks": blocks}, dice)


def _memory_latency(instance: MicrobatchInstance, dice: random.Random) -> Document:
    devices = range(instance.layout.devices)
    pairs = {device: _pairs(instance, device, dice) for device in devices}
    device = dice.choice([d for d in devices if pairs[d]] or list(devices))
    payload = {"device": device, "pairs": pairs[device]}
    return _claimed(instance, "memory-latency/1", payload, dice)


def _modulo_tree(instance: MicrobatchInstance, dice: random.Random) -> Document:
    payload = {
        "bound": _bound(instance, dice),
        "order": dice.sample(range(instance.nodes), instance.nodes),
        "pairs": [
            _pairs(instance, device, dice) if dice.random() < 0.8 else []
            for device in range(instance.layout.devices)
        ],
    }
    certificate = _claimed(instance, "modulo-tree/1", payload, dice)
    return {**certificate, "bound": payload["bound"]}


def _pairs(instance: MicrobatchInstance, device: int, dice: random.Random) -> list[list[int]]:
    """Pair what blocks allocate with what others release, at random; they need not wait for it."""
    units = {
        sign: [
            block
            for block in instance.layout.on_device[device]
            for _ in range(sign * instance.layout.blocks[block].memory)
        ]
        for sign in (1, -1)
    }
    dice.shuffle(units[-1])
    amounts = Counter(zip(units[1], units[-1], strict=True))
    return [[first, last, amount] for (first, last), amount in amounts.items()]


def _bound(instance: MicrobatchInstance, dice: random.Random) -> int:
    best = optimum(PROBLEM, json.dumps(instance.to_json()))
    return dice.choice([0, 1, 2, 3]) + (0 if best in (None, float("inf")) else int(best or 0) - 1)


def _claimed(
    instance: MicrobatchInstance, kind: str, payload: Document, dice: random.Random
) -> Document:
    return {
        "format": checker.CERTIFICATE_FORMAT,
        "instance_sha256": instance.sha256,
        "problem": PROBLEM,
        "kind": kind,
        "bound": dice.choice([0, 0, _bound(instance, dice)]),
        "payload": payload,
        "producer": "forger",
    }


def _certificate_verdict(instance: Document, certificate: Document) -> str:
    return verdict(PROBLEM, instance, certificate)


# Schedules.


def _schedules(
    instance: MicrobatchInstance, dice: random.Random
) -> Iterator[tuple[str, tuple[Document, Document]]]:
    """Yield documents of instances and solutions, with what was done to them."""
    schedule = random_schedule(instance, dice)
    if schedule is None:
        return
    try:
        cost = instance.objective(Schedule.from_json(schedule))
    except InvalidInputError:
        # The ends of a steady state in which something is released ahead of time.
        cost = 1
    honest = {
        **schedule, "format": checker.SOLUTION_FORMAT, "instance_sha256": instance.sha256,
        "problem": PROBLEM, "objective": cost,
    }  # fmt: skip
    document = instance.to_json()
    yield "as found", (document, honest)
    for _ in range(6):
        changed = {**honest, **tightened(schedule, dice)}
        yield "tightened", (document, {**changed, "objective": _stated(instance, changed, dice)})
        name = dice.choice(["starts", "starts", "repetend"])
        changed = {**honest, name: mutated(honest[name], dice)}
        yield "mutated", (document, {**changed, "objective": _stated(instance, changed, dice)})
    other = neighbour(document, dice)
    yield "transplanted", (other, honest)
    yield "transplanted, renamed", (
        other, {**honest, "instance_sha256": checker.instance_sha256(other)},
    )  # fmt: skip


def random_schedule(instance: MicrobatchInstance, dice: random.Random) -> Document | None:
    """Return a schedule for the instance, of a random steady state if the period counts.

    Without an answer after some trials, None.
    """
    shortest, count = max(instance.layout.loads), instance.micro_batches
    period = shortest + dice.choice([0, 0, 0, 1, 2])
    found = list(itertools.islice(steady_states(instance, period), 20))
    if not found:
        return None
    sigma = dice.choice(found)
    stages = [start // period for start in sigma]
    count = count or max(stages) + 1 + dice.choice([0, 0, 1])
    starts = [[start + number * period for start in sigma] for number in range(count)]
    repetend = {"period": period, "members": [max(stages) - stage for stage in stages]}
    return {"starts": starts, "repetend": None if instance.micro_batches else repetend}


def tightened(schedule: Document, dice: random.Random) -> Document:
    """Return the schedule with a start, some starts, the period or a member a little smaller."""
    changed: Document = json.loads(json.dumps(schedule))
    starts, repetend = changed["starts"], changed["repetend"]
    way = dice.choice(["start", "block", "later", "period", "member"])
    row, block = dice.randrange(len(starts)), dice.randrange(len(starts[0]))
    if way == "period" and repetend:
        repetend["period"] -= 1
    elif way == "member" and repetend:
        repetend["members"][block] += dice.choice([-1, 1])
    elif way == "start":
        starts[row][block] = max(0, starts[row][block] - dice.randint(1, 3))
    elif way == "block":
        for one in starts:
            one[block] = max(0, one[block] - 1)
    else:
        moment = starts[row][block]
        starts[:] = [[max(0, s - (s >= moment)) for s in one] for one in starts]
    return changed


def _stated(instance: MicrobatchInstance, solution: Document, dice: random.Random) -> int:
    """Return what a schedule would cost if it kept all constraints, sometimes a tick less."""
    try:
        schedule = Schedule.from_json(solution)
        if schedule.starts.shape[1] != instance.nodes:
            return 1
        if instance.micro_batches:
            cost = makespan(instance.layout, schedule.starts_for(instance.micro_batches))
        else:
            cost = schedule.repetend.period if schedule.repetend else 1
    except InvalidInputError:
        return 1
    return cost - (dice.random() < 0.1)


def solution_verdict(instance: Document, solution: Document) -> str:
    """Return what comes of a check, as `random_mutations.verdict` does of a certificate's."""
    try:
        cost = checker.check_solution(instance, solution)
    except checker.Rejected:
        return "rejected"
    except Exception as error:
        return f"failed: {type(error).__name__}: {error}"
    best = optimum(PROBLEM, json.dumps(instance))
    if best is not None and cost < best:
        return f"accepted false: {cost} < {best}"
    try:
        read, schedule = MicrobatchInstance.from_json(instance), Schedule.from_json(solution)
    except InvalidInputError:
        # Integers that are written as texts.
        return "not compared"
    if schedule.starts.max() > 200:
        return "not compared"
    for starts in _grown(read, solution):
        fault = broken_constraint(read, starts)
        if fault:
            return f"accepted false: {fault} with {len(starts)} micro-batches"
    return "accepted true" if best is not None else "not compared"


def _grown(instance: MicrobatchInstance, solution: Document) -> Iterator[list[list[int]]]:
    """Yield the starts for all numbers of micro-batches that matter, and many more.

    One micro-batch more is one repetition more: what comes after the repetend's members is a
    period later, and about the micro-batch after.
    """
    starts, repetend = solution["starts"], solution["repetend"]
    wanted = instance.micro_batches
    if not wanted or len(starts) == wanted:
        yield starts
    if repetend is None:
        return
    period, members = repetend["period"], repetend["members"]
    ends = max(map(max, starts)) + max(block.duration for block in instance.layout.blocks)
    for count in range(len(starts) + 1, (wanted or len(starts) + 2 * (ends // period + 8)) + 1):
        before = starts
        starts = [
            [
                before[number][block]
                if number <= member
                else before[number - 1][block] + period
                for block, member in enumerate(members)
            ]
            for number in range(count)
        ]  # fmt: skip
        if not wanted or count == wanted:
            yield starts


def broken_constraint(instance: MicrobatchInstance, starts: list[list[int]]) -> str:
    """Return which constraint some micro-batches break, tick by tick; empty if none."""
    blocks, dag = instance.layout.blocks, instance.layout.dag
    for row in starts:
        for u, v in dag.edge_pairs().tolist():
            if row[u] + blocks[u].duration > row[v]:
                return "a block does not wait"
    for device, capacity in enumerate(instance.capacity):
        busy: set[int] = set()
        changes: Counter[int] = Counter()
        for row, (block, what) in itertools.product(starts, enumerate(blocks)):
            if device not in what.devices:
                continue
            ticks = range(row[block], row[block] + what.duration)
            if row[block] < 0 or not busy.isdisjoint(ticks):
                return "two blocks at once"
            busy.update(ticks)
            changes[row[block]] += what.memory
        if any(
            held > capacity for held in itertools.accumulate(changes[at] for at in sorted(changes))
        ):
            return "too much memory"
    return ""
