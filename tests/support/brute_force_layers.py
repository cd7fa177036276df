"""The optimum of tiny instances of `layers`: all cuts, and all devices for the stages."""

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

from boundmark.problems.layers import LayerAssignment, LayerChain, LayersInstance, Stage
from boundmark.problems.layers.chain import Split


def assignments(sample: LayersInstance) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the ends of stages and their devices, fitting or not."""
    chain = sample.chain
    n, devices = chain.layers, len(chain.devices)
    for stages in range(1, min(n, devices) + 1):
        for cuts in itertools.combinations(range(1, n), stages - 1):
            if set(cuts) & set(chain.joined):
                continue
            for used in itertools.permutations(range(devices), stages):
                if sample.device_order == "free" or list(used) == sorted(used):
                    yield [*cuts, n], list(used)


def cost(sample: LayersInstance, ends: list[int], used: list[int]) -> int | None:
    """Return what an assignment costs, from the definition; None if it does not fit."""
    chain, loads = sample.chain, []
    for s, (end, device) in enumerate(zip(ends, used, strict=True)):
        first, kind = ends[s - 1] if s else 0, chain.devices[device]
        k, m = len(ends), sample.micro_batches
        rules = {"stages": min(m, k), "1f1b": min(m, k - s), "zb-h2": min(m, 2 * (k - s) - 1)}
        flights = rules.get(str(sample.in_flight)) or int(sample.in_flight)
        taken = sum(int(chain.weights[i]) + flights * int(chain.held[i]) for i in range(first, end))
        for i, j, shared in chain.tied:
            if first <= i < end and first <= j < end:
                taken -= shared
        if taken > chain.capacity[kind]:
            return None
        load = sum(int(chain.time[kind, i]) for i in range(first, end))
        if s + 1 < len(ends):
            over = chain.link[kind, chain.devices[used[s + 1]]]
            load += int(chain.transfer[over, end - 1])
        loads.append(load)
    if sample.goal == "bottleneck":
        return max(loads)
    if sample.goal == "round":
        return max(sum(loads), sample.micro_batches * max(loads))
    more = sample.micro_batches - 1 if sample.goal == "makespan" else 0
    return sum(loads) + more * max(loads)


def rounds(sample: LayersInstance) -> Iterator[tuple[LayerAssignment, int | None]]:
    """Yield all assignments with virtual stages, and what they cost; None if they do not fit."""
    for assignment, largest, fits in all_rounds(sample):
        yield assignment, largest if fits else None


def all_rounds(sample: LayersInstance) -> Iterator[tuple[LayerAssignment, int, bool]]:
    """Yield all assignments with virtual stages, their largest load, and whether they fit."""
    chain, v, m = sample.chain, sample.virtual_stages, sample.micro_batches
    n, devices = chain.layers, len(chain.devices)
    for p in range(2, min(devices, n // v) + 1):
        for cuts in itertools.combinations(range(1, n), p * v - 1):
            if set(cuts) & set(chain.joined):
                continue
            starts, ends = [0, *cuts], [*cuts, n]
            for used in itertools.permutations(range(devices), p):
                if sample.device_order == "given" and list(used) != sorted(used):
                    continue
                order = [used[at % p] for at in range(p * v)]
                loads, fits = [0] * p, not (sample.in_flight == "interleaved" and m % p)
                for at, (first, end) in enumerate(zip(starts, ends, strict=True)):
                    kind = chain.devices[order[at]]
                    loads[at % p] += int(chain.time[kind, first:end].sum())
                    if end < n:
                        over = chain.link[kind, chain.devices[order[at + 1]]]
                        loads[at % p] += int(chain.transfer[over, end - 1])
                for rank, device in enumerate(used):
                    own = range(rank, p * v, p)
                    layers = {i for at in own for i in range(starts[at], ends[at])}
                    taken = sum(int(chain.weights[i]) for i in layers)
                    taken -= sum(size for i, j, size in chain.tied if {i, j} <= layers)
                    held = [int(chain.held[starts[at] : ends[at]].sum()) for at in own]
                    if sample.in_flight != "interleaved":
                        flights = {"stages": min(m, p * v)}.get(str(sample.in_flight))
                        taken += (flights or int(sample.in_flight)) * sum(held)
                    elif fits:
                        taken += interleaved_peak(held, rank, p, m)
                    fits &= taken <= chain.capacity[chain.devices[device]]
                stages = (Stage(order[at], starts[at], ends[at]) for at in range(p * v))
                yield LayerAssignment.of_stages(stages), max(loads), fits


def interleaved_peak(held: list[int], rank: int, ranks: int, micro_batches: int) -> int:
    """Return the most that a device holds, by running every step of Megatron's schedule."""
    v = len(held)
    steps = v * micro_batches
    ahead = min(steps, 2 * (ranks - rank - 1) + (v - 1) * ranks)
    forward = [(i // ranks % v, i // (ranks * v) * ranks + i % ranks) for i in range(steps)]
    backward = [(v - 1 - chunk, batch) for chunk, batch in forward]
    live: set[tuple[int, int]] = set()
    most = done = 0
    for step, one in enumerate(forward):
        live.add(one)
        most = max(most, sum(held[chunk] for chunk, _ in live))
        if step >= ahead:
            # A backward step needs its forward step.
            live.remove(backward[done])
            done += 1
    for one in backward[done:]:
        live.remove(one)
    assert not live
    return most


def optimum(sample: LayersInstance) -> float:
    """Return the least cost; infinity if nothing fits."""
    if sample.chain.split is not None:
        return min(host_costs(sample).values())
    if sample.virtual_stages > 1:
        return min((one for _, one in rounds(sample) if one is not None), default=float("inf"))
    costs = (cost(sample, ends, used) for ends, used in assignments(sample))
    return min((one for one in costs if one is not None), default=float("inf"))


def drawn(
    dice: random.Random, goal: str, order: str, most: int = 6, times: Sequence[int] = range(13)
) -> LayersInstance | None:
    """Return a random instance; None if a layer fits nowhere, or all together do not."""
    n, types = dice.randint(1, most), dice.randint(1, 3)
    devices = [*range(types), *(dice.randrange(types) for _ in range(dice.randint(0, 4 - types)))]
    dice.shuffle(devices)
    rule = dice.choice((1, 2, "stages", "stages", "1f1b", "zb-h2"))
    links = dice.randint(1, 3)
    weights = [dice.randint(0, 9) for _ in range(n)]
    tied = []
    if n > 2 and dice.random() < 0.3:
        i, j = sorted(dice.sample(range(n), 2))
        tied = [(i, j, dice.randint(0, min(weights[i], weights[j])))]
    try:
        chain = LayerChain(
            time=[[dice.choice(times) for _ in range(n)] for _ in range(types)],  # type: ignore[arg-type]
            weights=weights,  # type: ignore[arg-type]
            held=[dice.choice((0, 0, 1, 3)) for _ in range(n)],  # type: ignore[arg-type]
            tied=tuple(tied),
            joined=tuple(at for at in range(1, n) if dice.random() < 0.15),
            transfer=[[dice.choice((0, 1, 2, 9)) for _ in range(n - 1)] for _ in range(links)],  # type: ignore[arg-type]
            link=[[dice.randrange(links) for _ in range(types)] for _ in range(types)],  # type: ignore[arg-type]
            devices=tuple(devices),
            capacity=[dice.randint(6, 40) for _ in range(types)],  # type: ignore[arg-type]
            sizes=weights,  # type: ignore[arg-type]
            outer=(min(1, n // 3), min(1, n // 3)),
            names=tuple(f"l{at}" for at in range(n)),
            device_names=tuple(f"d{at}" for at in range(len(devices))),
        )
    except Exception as error:
        if "bytes" in str(error):
            return None
        raise
    return LayersInstance(chain, goal, order, dice.choice((1, 2, 4)), rule)


def assignment(ends: list[int], used: list[int]) -> LayerAssignment:
    """Return the solution with these ends of stages, on these devices."""
    starts = [0, *ends[:-1]]
    return LayerAssignment.of_stages(
        Stage(device, a, b) for device, a, b in zip(used, starts, ends, strict=True)
    )


def with_host(sample: LayersInstance, dice: random.Random) -> LayersInstance:
    """Return the question how many layers keep a part of themselves on the host."""
    chain = sample.chain
    n, types = chain.layers, len(chain.capacity)
    single = [kind for kind in range(types) if chain.devices.count(kind) == 1]
    host = (dice.choice(single),) if single and dice.random() < 0.6 else ()
    split = Split(
        host,
        dice.randint(0, 30),
        [[dice.randrange(25) for _ in range(n)] for _ in range(types)],  # type: ignore[arg-type]
        [dice.randint(0, one) for one in chain.weights.tolist()],  # type: ignore[arg-type]
        dice.randint(0, n - sum(chain.outer)),
        dice.random() < 0.5,
    )
    first = host if dice.random() < 0.5 else ()
    return replace(sample, chain=replace(chain, tied=(), first=first, split=split))


def host_costs(sample: LayersInstance) -> dict[int, float]:
    """Return the least cost for each number of split layers, from the definition."""
    found = {}
    for count in range(sample.chain.split.most + 1):  # type: ignore[union-attr]
        costs = (split_cost(sample, count, *one) for one in assignments(sample))
        found[count] = min((one for one in costs if one is not None), default=float("inf"))
    return found


def split_cost(
    sample: LayersInstance, count: int, ends: list[int], used: list[int]
) -> float | None:
    """Return what an assignment costs with so many split layers; None if it does not fit."""
    chain, question = sample.chain, sample.chain.split
    assert question is not None
    split = range(chain.outer[0], chain.outer[0] + count)
    room = question.room - sum(int(question.bytes[i]) for i in split)
    stage_of = [next(s for s, end in enumerate(ends) if i < end) for i in range(ends[-1])]
    kinds = [chain.devices[device] for device in used]
    if room < 0 or any(kind in chain.first for kind in kinds[1:]):
        return None
    if count and question.is_joined and stage_of[split[-1]] > 0:
        return None
    loads, (m, k) = [], (sample.micro_batches, len(ends))
    for s, kind in enumerate(kinds):
        own = [i for i in range(ends[-1]) if stage_of[i] == s]
        rules = {"stages": min(m, k), "1f1b": min(m, k - s), "zb-h2": min(m, 2 * (k - s) - 1)}
        flights = rules.get(str(sample.in_flight)) or int(sample.in_flight)
        taken = sum(int(chain.weights[i]) + flights * int(chain.held[i]) for i in own)
        taken -= sum(int(question.bytes[i]) for i in own if i in split)
        if taken > (room if kind in question.host else chain.capacity[kind]):
            return None
        rows = question.time[kind], chain.time[kind]
        loads.append(sum(int(rows[i not in split][i]) for i in own))
        if s + 1 < k:
            loads[s] += int(chain.transfer[chain.link[kind, kinds[s + 1]], own[-1]])
    if sample.goal == "bottleneck":
        return max(loads)
    return sum(loads) + (m - 1 if sample.goal == "makespan" else 0) * max(loads)
