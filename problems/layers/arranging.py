"""Choose, of assignments with the same cost, one that is easy to use: in the order of the devices.

Equal devices can be exchanged, and a stage that is cut in two where that costs nothing is on two
devices. So a proven optimum stays one.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate, islice

from boundmark.problems.errors import InvalidInputError
from boundmark.problems.layers.flights import held
from boundmark.problems.layers.instance import BOTTLENECK, LayerAssignment, LayersInstance, Stage

# Stages that are looked at, so that long chains take no longer than a second or two.
MOST_STEPS = 2_000_000
MOST_TRIALS = 4_000


def in_order(
    instance: LayersInstance, solution: LayerAssignment, use_fewer: bool = False
) -> LayerAssignment:
    """Return an assignment that costs no more, and is always the same.

    If there is one on all devices in their given order, that is it. Otherwise, equal devices are
    used from the first on, and empty ones where that is free, unless fewer may be used.
    """
    most, chain = instance.objective(solution), instance.chain
    # Where a host has layers, or parts of them, the devices of others stay as they are.
    is_fixed = bool(use_fewer or instance.virtual_stages > 1 or chain.first or chain.split)
    if instance.goal == BOTTLENECK and not is_fixed:
        found = _in_turn(instance, most)
        if found is not None:
            return found
    stages = _from_the_first(instance, solution.stages)
    if not is_fixed:
        stages = _filled(instance, stages, most)
    found = replace(solution, devices=LayerAssignment.of_stages(stages).devices)
    return found if _cost(instance, found) <= most else solution


def _cost(instance: LayersInstance, solution: LayerAssignment) -> int:
    """Return the cost of an assignment; more than any other if it is none."""
    try:
        return instance.objective(solution)
    except InvalidInputError:
        return instance.most() + 1


def _from_the_first(instance: LayersInstance, stages: tuple[Stage, ...]) -> tuple[Stage, ...]:
    """Return stages with equal devices exchanged: the first one comes first in the pipeline."""
    kinds = instance.chain.devices
    unused = [[at for at, kind in enumerate(kinds) if kind == one] for one in range(max(kinds) + 1)]
    instead: dict[int, int] = {}
    for stage in stages:
        if stage.device not in instead:
            instead[stage.device] = unused[kinds[stage.device]].pop(0)
    return tuple(stage._replace(device=instead[stage.device]) for stage in stages)


def _in_turn(instance: LayersInstance, most: int) -> LayerAssignment | None:
    """Return the split over all devices in their order whose loads differ least in squares.

    None if none has loads of at most so much and fits, or there are too many.
    """
    chain, count = instance.chain, len(instance.chain.devices)
    joined, n = set(chain.joined), chain.layers
    times = [list(accumulate(row, initial=0)) for row in chain.time.tolist()]
    transfer, steps = chain.transfer.tolist(), 0
    reached: dict[int, tuple[int, tuple[int, ...]]] = {0: (0, ())}
    for at, kind in enumerate(chain.devices):
        flight = held(instance.in_flight, instance.micro_batches, at, count)
        room, is_last = int(chain.capacity[kind]), at == count - 1
        over = 0 if is_last else int(chain.link[kind, chain.devices[at + 1]])
        found: dict[int, tuple[int, tuple[int, ...]]] = {}
        for first, (squares, ends) in sorted(reached.items()):
            for end in range(first + 1, n + 1):
                time = times[kind][end] - times[kind][first]
                steps += 1
                if time > most or chain.memory(first, end, flight) > room:
                    break
                load = time + (0 if is_last or end == n else transfer[over][end - 1])
                if end in joined or load > most or (end == n) != is_last:
                    continue
                value = (squares + load * load, (*ends, end))
                found[end] = min(found.get(end, value), value)
            if steps > MOST_STEPS:
                return None
        reached = found
    if n not in reached:
        return None
    ends = (0, *reached[n][1])
    stages = (Stage(at, ends[at], ends[at + 1]) for at in range(count))
    found_split = LayerAssignment.of_stages(stages)
    return found_split if _cost(instance, found_split) <= most else None


def _filled(instance: LayersInstance, stages: tuple[Stage, ...], most: int) -> tuple[Stage, ...]:
    """Return stages of which some are cut in two, for devices that are empty, if that is free."""
    for _ in instance.chain.devices:
        trials = islice(_cut_in_two(instance, stages), MOST_TRIALS)
        found = next(
            (one for one in trials if _cost(instance, LayerAssignment.of_stages(one)) <= most), None
        )
        if found is None:
            return stages
        stages = _from_the_first(instance, found)
    return stages


def _cut_in_two(instance: LayersInstance, stages: tuple[Stage, ...]) -> Iterator[tuple[Stage, ...]]:
    """Yield stages of which one is cut, long ones first, near the middle first."""
    kinds, used = instance.chain.devices, {stage.device for stage in stages}
    empty = [at for at in range(len(kinds)) if at not in used]
    spare = {kinds[at]: at for at in reversed(empty)}
    for at in sorted(range(len(stages)), key=lambda at: stages[at].first - stages[at].end):
        device, first, end = stages[at]
        for cut in sorted(range(first + 1, end), key=lambda cut: abs(2 * cut - first - end)):
            for kind, other in sorted(spare.items()):
                for a, b in ((device, other), (other, device))[: 1 + (kind != kinds[device])]:
                    parts = (Stage(a, first, cut), Stage(b, cut, end))
                    yield (*stages[:at], *parts, *stages[at + 1 :])
