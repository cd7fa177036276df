"""Layers that keep a part of themselves in the memory of the host, as tools with one card do.

Ways in which tools do so, each for the first of the repeated layers:

experts
    llama.cpp's ``--n-cpu-moe N``: the host multiplies with the experts, the device does the rest,
    and each layer's tokens go there and back. From `BATCH` tokens on, llama.cpp copies experts to
    the device instead, and matrices of whole layers that are on the host as well
    (``ggml_backend_cuda_device_offload_op``). Whole layers may be on the host, the first ones.
read
    vLLM's ``--cpu-offload-gb``: the device reads parameters over its link as it needs them.
moved
    A device map with ``"cpu"``: accelerate copies each such layer, with all its experts, to the
    first device before it runs there, which keeps room for the largest one.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from boundmark.problems.devices import Device, Link
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.layers.fleet import Fleet
from boundmark.problems.layers.model import DECODE, TRAINING, LayerFacts, Operation, Workload

EXPERTS, READ, MOVED = "experts", "read", "moved"

# By tool.
WAYS = {"llama.cpp": EXPERTS, "vllm": READ, "accelerate": MOVED, "device-map": MOVED}

WORDS = {
    EXPERTS: "first layers or their experts on the host",
    READ: "parameters read from the host",
    MOVED: "layers copied from the host",
}

# Tokens from which on llama.cpp multiplies on the device whatever is on the host.
BATCH = 32


class Host(NamedTuple):
    """The computer that devices are in, and in which way they use its memory.

    Attributes
    ----------
    device
        Its processor and memory.
    links
        Between it and a device, by type of the fleet's devices.
    way
        One of the values of `WAYS`.
    kind
        Its type among those of the fleet if it can have layers of its own; else None.
    """

    device: Device
    links: dict[int, Link]
    way: str
    kind: int | None


def with_host(fleet: Fleet, tool: str) -> tuple[Fleet, Host | None]:
    """Return a fleet as a tool uses it, and its host; None if it has none or the tool uses none.

    A host that can have layers stands first; the memory of one that cannot is no device.

    Raises
    ------
    InvalidInputError
        If there are several hosts, or what the tool does with them is not modelled.
    """
    kinds = [at for at, kind in enumerate(fleet.kinds) if kind.is_computer]
    way = WAYS.get(tool)
    if way is None or not kinds or len(kinds) == len(fleet.kinds):
        return fleet, None
    at = kinds[0]
    if len(kinds) > 1 or fleet.types.count(at) > 1 or fleet.degrees[at] > 1:
        raise InvalidInputError(
            "devices have several hosts; expected one, whose memory layers may be in."
        )
    device = fleet.kinds[at]
    order = sorted(range(len(fleet.types)), key=lambda one: fleet.types[one] != at)
    if way == EXPERTS:
        links = {kind: fleet.links[at, kind] for kind in range(len(fleet.kinds)) if kind != at}
        moved = replace(
            fleet,
            types=tuple(fleet.types[one] for one in order),
            names=tuple(fleet.names[one] for one in order),
        )
        return moved, Host(device, links, way, at)
    if way == READ and len(fleet.types) > 2:
        raise InvalidInputError(
            f"there are {len(fleet.types) - 1} devices beside the host, and vLLM offloads the "
            "first layers of each stage, which is not modelled; expected one device, or one group "
            "such as '1x2x3090'."
        )
    kept = [kind for kind in range(len(fleet.kinds)) if kind != at]
    number = {kind: place for place, kind in enumerate(kept)}
    alone = Fleet(
        tuple(fleet.kinds[kind] for kind in kept),
        tuple(number[fleet.types[one]] for one in order[1:]),
        tuple(fleet.names[one] for one in order[1:]),
        {(number[a], number[b]): x for (a, b), x in fleet.links.items() if at not in (a, b)},
        tuple(fleet.degrees[kind] for kind in kept),
        tuple(fleet.inner[kind] for kind in kept),
        fleet.notes,
    )
    return alone, Host(device, {number[kind]: fleet.links[at, kind] for kind in kept}, way, None)


def check_goal(host: Host | None, goal: str) -> None:
    """Refuse goals of pipelines where the host's processor would be needed by several stages."""
    if host is not None and host.way == EXPERTS and goal != "latency":
        raise InvalidInputError(
            f"goal is {goal!r}, and a host is among the devices; expected latency, as with --goal "
            "latency, since llama.cpp's stages take turns where the host computes for them."
        )


def is_of_hosts(fleet: Fleet) -> bool:
    """Whether all devices are hosts."""
    return all(kind.is_computer for kind in fleet.kinds)


def unused(fleet: Fleet, tool: str) -> tuple[str, ...]:
    """Return a note if a host is among devices and is one like others."""
    if tool in WAYS or is_of_hosts(fleet) or not any(kind.is_computer for kind in fleet.kinds):
        return ()
    return (
        "the host is a device like others, with layers of its own; --rules llama.cpp, vllm or "
        "accelerate say what these tools keep in its memory",
    )


def check_workload(workload: Workload, layers: Sequence[LayerFacts]) -> None:
    """Refuse what the costs of layers on the host are not known for."""
    if workload.phase == TRAINING:
        raise InvalidInputError(
            "phase is 'training', and a host is among the devices; expected prefill or decode, "
            "since layers on the host are for inference."
        )
    timed = next((layer for layer in layers if layer.seconds), None)
    if timed:
        raise InvalidInputError(
            f"layer {quoted(timed.name)} has measured times, and a host is among the devices; "
            "expected costs by the roofline."
        )


def is_copied(workload: Workload) -> bool:
    """Whether llama.cpp copies matrices from the host to the device, for so many tokens."""
    tokens = workload.batch * (1 if workload.phase == DECODE else max(1, workload.context))
    return tokens >= BATCH


class Card(NamedTuple):
    """A device, or a group of equal ones, and its link to the host."""

    device: Device
    degree: int
    link: Link

    def computing(self, one: Operation, dtype: str) -> float:
        """Return the seconds of an operation, without the time to launch it."""
        rate = self.degree * self.device.rate(dtype)
        return max(one.flops / rate, one.moved / (self.degree * self.device.memory_bandwidth))

    def copying(self, size: float, host: Device) -> float:
        """Return the seconds in which it reads so many bytes of the host's memory."""
        return size / min(self.degree * self.link.bandwidth, host.memory_bandwidth)


def on_host(one: Operation, host: Device, dtype: str) -> float:
    """Return the seconds of an operation on the host."""
    seconds = max(one.flops / host.rate(dtype), one.moved / host.memory_bandwidth)
    return seconds + host.op_overhead


def split_seconds(
    layer: LayerFacts, whole: float, card: Card, host: Host, workload: Workload, dtype: str
) -> float:
    """Return the seconds of a layer that is split between a device and the host.

    `whole` is what it takes if it is not.
    """
    if host.way == MOVED:
        return whole + card.copying(layer.parameters, host.device) + card.link.latency
    if host.way == READ:
        return whole + math.fsum(
            max(
                one.flops / (card.degree * card.device.rate(dtype)),
                (one.moved - one.weights) / (card.degree * card.device.memory_bandwidth)
                + card.copying(one.weights, host.device),
            )
            - card.computing(one, dtype)
            for one in layer.operations
        )
    experts = layer.experts
    if experts is None:
        return whole
    if is_copied(workload):
        return whole + card.copying(experts.weights, host.device)
    last = layer.operations[-1]
    rest = Operation(last.flops - experts.flops, last.moved - experts.weights)
    there_and_back = 2 * (card.link.latency + layer.output / card.link.bandwidth)
    alone = whole - card.computing(last, dtype) + card.computing(rest, dtype)
    return alone + there_and_back + on_host(experts, host.device, dtype)


def host_seconds(
    layer: LayerFacts, card: Card, host: Host, workload: Workload, dtype: str
) -> float:
    """Return the seconds of a whole layer on the host, whose matrices a device may multiply."""
    if not is_copied(workload):
        return math.fsum(on_host(one, host.device, dtype) for one in layer.operations)
    return math.fsum(
        card.computing(one, dtype)
        + card.device.op_overhead
        + card.copying(one.weights, host.device)
        if one.weights
        else on_host(one, host.device, dtype)
        for one in layer.operations
    )
