"""Checks solutions of `layers`, and computes what they cost."""

import itertools
from typing import Any, NamedTuple

from ..budget import spend
from ..values import Rejected, integers
from .instance import INTERLEAVED, ONE_F_ONE_B, STAGES, Instance, memory


class Stage(NamedTuple):
    """Layers ``first .. end - 1`` on a device."""

    device: int
    first: int
    end: int


def objective(instance: Instance, solution: dict[str, Any]) -> int:
    """Return the largest load, the sum of loads, the makespan, or the time of a round."""
    n = len(instance.weights)
    given = integers(solution["devices"], "devices", 0, len(instance.devices) - 1)
    if len(given) != n:
        raise Rejected("the solution does not have one device for each layer")
    spend(8 * n + len(instance.devices))
    runs = [(device, len(list(group))) for device, group in itertools.groupby(given)]
    stages, first = [], 0
    for device, length in runs:
        stages.append(Stage(device, first, first + length))
        first += length
    if any(not instance.apart[stage.first] for stage in stages):
        raise Rejected("layers that are joined are on two devices")
    loads = [_load(instance, stages, number) for number in range(len(stages))]
    if instance.virtual_stages > 1:
        return _round(instance, stages, loads)
    order = [device for device, _ in runs]
    if len(set(order)) < len(order):
        raise Rejected("the layers of a device are not contiguous")
    if not instance.is_free and order != sorted(order):
        raise Rejected("stages do not follow the order of the devices")
    if any(instance.devices[device] in instance.first for device in order[1:]):
        raise Rejected("a device that can only have the first stage has a later one")
    for number, stage in enumerate(stages):
        taken = memory(instance, stage.first, stage.end, _in_flight(instance, number, len(stages)))
        if taken > instance.capacity[instance.devices[stage.device]]:
            raise Rejected("a device holds more than its capacity")
    most = max(loads)
    return max(instance.adds * sum(loads) + instance.rounds * most, instance.turns * most)


def _load(instance: Instance, stages: list[Stage], number: int) -> int:
    """Return the ticks of a stage: its layers, and what it sends."""
    stage = stages[number]
    kind = instance.devices[stage.device]
    load = sum(instance.time[kind][stage.first : stage.end])
    if number + 1 < len(stages):
        receiver = instance.devices[stages[number + 1].device]
        load += instance.transfer[instance.link[kind][receiver]][stage.end - 1]
    return load


def _in_flight(instance: Instance, stage: int, stages: int) -> int:
    """Return how many micro-batches a stage holds."""
    rule, batches = instance.in_flight, instance.micro_batches
    if type(rule) is int:
        return rule
    left = stages - stage
    return min(batches, {STAGES: stages, ONE_F_ONE_B: left}.get(str(rule), 2 * left - 1))


def _round(instance: Instance, stages: list[Stage], loads: list[int]) -> int:
    """Return the largest load of a device with all its virtual stages, which go round in turn."""
    virtual, batches = instance.virtual_stages, instance.micro_batches
    order = [stage.device for stage in stages[: len(stages) // virtual]]
    ranks = len(order)
    if ranks < 2 or len(set(order)) < ranks or len(stages) != virtual * ranks:
        raise Rejected(
            "the stages are not as many as there should be on each of two devices or more"
        )
    if any(stage.device != order[at % ranks] for at, stage in enumerate(stages)):
        raise Rejected("the stages do not go round the devices in one order")
    if not instance.is_free and order != sorted(order):
        raise Rejected("stages do not follow the order of the devices")
    if instance.in_flight == INTERLEAVED and batches % ranks:
        raise Rejected("the micro-batches are no multiple of the devices that are used")
    spend(ranks * (len(instance.partner) + virtual))
    for rank, device in enumerate(order):
        own = stages[rank::ranks]
        layers = {at for stage in own for at in range(stage.first, stage.end)}
        taken = sum(instance.weights[at] for at in layers)
        taken -= sum(
            shared for at, (j, shared) in instance.partner.items() if at in layers and j in layers
        )
        held = [sum(instance.held[stage.first : stage.end]) for stage in own]
        if instance.in_flight == INTERLEAVED:
            taken += _peak(held, rank, ranks, batches)
        else:
            taken += _in_flight(instance, 0, len(stages)) * sum(held)
        if taken > instance.capacity[instance.devices[device]]:
            raise Rejected("a device holds more than its capacity")
    return max(sum(loads[rank::ranks]) for rank in range(ranks))


def _peak(held: list[int], rank: int, ranks: int, batches: int) -> int:
    """Return the most that a device holds at a time, by running Megatron's interleaved schedule.

    Forward and backward steps go through the virtual stages in groups of as many micro-batches as
    there are devices, backward ones from the last; those before the first backward step are
    ``2 (p - rank - 1) + (v - 1) p``. After p v steps of each kind all is as before.
    """
    virtual = len(held)
    steps = virtual * batches
    ahead = min(steps, 2 * (ranks - rank - 1) + (virtual - 1) * ranks)
    turns = min(steps - ahead, virtual * ranks)
    spend(ahead + turns)
    now = sum(held[step // ranks % virtual] for step in range(ahead))
    found = now
    for turn in range(turns):
        now += held[(ahead + turn) // ranks % virtual]
        found = max(found, now)
        now -= held[virtual - 1 - turn // ranks % virtual]
    return found
