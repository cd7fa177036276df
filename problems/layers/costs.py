"""Times and memory of a model's layers on devices, by the roofline model."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.devices import Device, Link, canonical_device_name
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.layers.chain import LayerChain, Origin, Split
from boundmark.problems.layers.collectives import Ranks, all_reduce
from boundmark.problems.layers.fleet import Fleet
from boundmark.problems.layers.host import (
    EXPERTS,
    MOVED,
    WORDS,
    Card,
    Host,
    check_workload,
    host_seconds,
    split_seconds,
)
from boundmark.problems.layers.model import LayerFacts, LayerModel, Workload
from boundmark.problems.ticks import NANOSECONDS

ROOFLINE, MEASURED = "roofline", "measured"


def chain_of(
    model: LayerModel,
    workload: Workload,
    fleet: Fleet,
    memory_percent: int,
    host: Host | None = None,
) -> LayerChain:
    """Return a model's layers with their times in nanoseconds, each rounded once.

    A layer takes the longer of arithmetic and memory traffic of each operation, and the time to
    launch it ([ROOFLINE09]); a tensor the latency of the link, and its bytes at the link's
    bandwidth. A group of t devices has t times the rate, bandwidth and memory of one, and takes
    the time of the all-reduces besides. What each of its devices does or keeps whole counts t
    times; among groups of several sizes, parameters count as in the largest.

    Parameters
    ----------
    memory_percent
        Percentage of each device's memory that layers may take.
    host
        The computer whose memory layers may be in, as `with_host` returns it with the fleet.

    Raises
    ------
    InvalidInputError
        If something is missing; of layers with measured times, a device's; or if caches take more
        in groups of one size than in those of another.
    """
    split = {
        degree: model.layers(replace(workload, tensor_parallel=degree))
        for degree in sorted(set(fleet.degrees))
    }
    layers = split[max(split)]
    if max(fleet.degrees) > 1 and not any(layer.reductions for layer in layers):
        raise InvalidInputError(
            "devices are in groups that split layers, and the model does not say what its layers "
            "send within a group; expected a language model's configuration, or single devices."
        )
    operators = {name for layer in layers for name in layer.operators}
    for device in fleet.kinds:
        _check_times(device, operators)
    stages = [
        StageDevice(*one) for one in zip(fleet.kinds, fleet.degrees, fleet.inner, strict=True)
    ]
    kinds = sorted({(link.bandwidth, link.latency) for link in fleet.links.values()})
    number = {kind: at for at, kind in enumerate(kinds)}
    # A type of one device has no link to itself.
    links = [
        [
            number[fleet.links[a, b].bandwidth, fleet.links[a, b].latency]
            if (a, b) in fleet.links
            else 0
            for b in range(len(fleet.kinds))
        ]
        for a in range(len(fleet.kinds))
    ]
    moved = [layer.output for layer in layers[:-1]]
    times = [
        frozen(
            [_ticks(layer_seconds(layer, on, model.dtype)) for layer in split[on.degree]],
            f"the times of layers in nanoseconds on {on.device.name!r}",
        )
        for on in stages
    ]
    capacity = [on.degree * usable(on.device, memory_percent) for on in stages]
    outer, parted = model.outer_in(workload), None
    if host is not None:
        check_workload(workload, layers)
        cards = {kind: Card(stages[kind].device, stages[kind].degree, link)
                 for kind, link in host.links.items()}  # fmt: skip
        parted = _split(model, workload, split, cards, times, host, memory_percent)
        largest = max(layer.weights for layer in layers)
        for kind in cards if host.way == MOVED else ():
            capacity[kind] = max(0, capacity[kind] - largest)
        if host.kind is not None:
            card = cards[min(cards)]
            times[host.kind] = frozen(
                [_ticks(host_seconds(layer, card, host, workload, model.dtype)) for layer in layers]
            )
    return LayerChain(
        time=frozen(times),
        weights=frozen([layer.weights for layer in layers]),
        held=frozen([layer.held for layer in layers]),
        tied=model.tied(workload),
        joined=model.joined(),
        transfer=frozen(
            [[_ticks(latency + size / rate) for size in moved] for rate, latency in kinds]
            or [[0] * len(moved)],
            "the times of transfers in nanoseconds",
        ),
        link=frozen(links),
        devices=fleet.types,
        capacity=frozen(capacity),
        sizes=frozen([layer.parameters for layer in layers]),
        outer=outer,
        names=tuple(layer.name for layer in layers),
        device_names=fleet.names,
        tick="ns",
        origin=Origin(notes=_on_sizes(split)),
        first=() if host is None or host.kind is None else (host.kind,),
        split=parted,
    )


def _split(
    model: LayerModel, workload: Workload, layers: Mapping[int, Sequence[LayerFacts]],
    cards: Mapping[int, Card], times: Sequence[IntArray], host: Host, memory_percent: int,
) -> Split | None:  # fmt: skip
    """Return what changes for split layers; None if no layer has a part for the host."""
    facts, (before, behind) = layers[max(layers)], model.outer_in(workload)
    repeated = range(before, len(facts) - behind)
    on_host = [
        (one.expert_weights if host.way == EXPERTS else one.weights) if at in repeated else 0
        for at, one in enumerate(facts)
    ]
    if not any(on_host):
        return None
    for i, j, _ in model.tied(workload):
        if {i, j} & set(repeated) and (on_host[i] or on_host[j]):
            raise InvalidInputError(
                f"layers {quoted(facts[i].name)} and {quoted(facts[j].name)} share parameters; "
                "expected none that do where layers are on the host."
            )
    return Split(
        () if host.kind is None else (host.kind,),
        usable(host.device, memory_percent),
        frozen(
            [
                [
                    _ticks(split_seconds(layer, ticks / NANOSECONDS, cards[kind], host, workload,
                                         model.dtype))
                    if kind in cards else ticks
                    for layer, ticks in zip(
                        layers[cards[kind].degree if kind in cards else max(layers)],
                        row.tolist(), strict=True)
                ]
                for kind, row in enumerate(times)
            ]
        ),
        frozen(on_host),
        len(repeated),
        host.way == MOVED,
    )  # fmt: skip


def usable(device: Device, memory_percent: int) -> int:
    """Return the bytes that layers may take: a part of the memory, or all that is left of it."""
    return device.memory_bytes * (100 if device.memory_is_left else memory_percent) // 100


def cost_words(fleet: Fleet, costs: str, model: LayerModel, host: Host | None = None) -> str:
    """Return what the times of a model on some devices rest on, in words.

    Examples
    --------
    ``"the roofline model of 4 nvidia-a100, 300 GB/s links"``.
    """
    names = [
        f"{kind.name}*{degree}" if degree > 1 else kind.name
        for kind, degree in zip(fleet.kinds, fleet.degrees, strict=True)
    ]
    counted = Counter(names[kind] for kind in fleet.types)
    devices = " and ".join(
        f"{count} {name}" if count > 1 else name for name, count in counted.items()
    )
    if host is not None and host.kind is None:
        devices += f" with the memory of {host.device.name}"
    basis = "the roofline model of"
    if costs == MEASURED:
        basis = "measured times of kernels on"
    elif any(kind.measured is not None for kind in fleet.kinds):
        basis = "measured times of operators on"
    elif model.has_times:
        basis = "the times of the table, for"
    joined = [*fleet.links.values(), *(host.links.values() if host else ())]
    rates = sorted({link.bandwidth / 1e9 for link in joined})
    between = (
        " to ".join(f"{rate:.3g}" for rate in dict.fromkeys((rates[0], rates[-1]))) if rates else ""
    )
    found = f"{basis} {devices}" + (f", {between} GB/s links" if between else "")
    return found + (f", {WORDS[host.way]}" if host else "")


def _on_sizes(split: Mapping[int, Sequence[LayerFacts]]) -> tuple[str, ...]:
    """Return a note if groups keep more than others; refuse caches that they do."""
    smallest, largest = min(split), max(split)
    for one, other in zip(split[smallest], split[largest], strict=True):
        if one.held != other.held:
            raise InvalidInputError(
                f"tensor_parallel is {smallest} on some devices and {largest} on others, which "
                f"have to keep keys and values of layer {quoted(one.name)} several times; expected "
                "one number for all."
            )
    kept, counted = (sum(one.weights for one in split[degree]) for degree in (smallest, largest))
    if kept == counted:
        return ()
    return (
        f"parameters take {counted / kept - 1:.2%} more memory in groups of {largest} than with "
        f"{smallest}, and count for all as in the larger groups",
    )


def _check_times(device: Device, operators: set[str]) -> None:
    """Refuse measured times of operators that are of another model, or of none with operators."""
    if device.measured is None:
        return
    differing = operators ^ device.measured.keys()
    if differing:
        raise InvalidInputError(
            f"device {device.name!r} has times of {len(device.measured)} operators, and the model "
            f"has {len(operators)}; {quoted(min(differing))} is not in both; expected times that "
            "were measured on this model, and a graph."
        )


def _ticks(seconds: float) -> int:
    return round(seconds * NANOSECONDS)


class StageDevice(NamedTuple):
    """A device, or a group of equal ones with the link that joins each to the next."""

    device: Device
    degree: int
    link: Link | None


def layer_seconds(layer: LayerFacts, on: StageDevice, dtype: str) -> float:
    """Return the seconds of a layer on a device or group, all-reduces included."""
    device = on.device
    if on.degree > 1 and (device.measured is not None or layer.seconds):
        raise InvalidInputError(
            f"layer {quoted(layer.name)} has measured times, and {on.degree} {device.name!r} "
            "split it; expected single devices, or costs by the roofline."
        )
    if device.measured is not None:
        return math.fsum(device.measured[name] for name in layer.operators)
    if layer.seconds:
        return _measured(layer, device)
    rate, bandwidth = on.degree * device.rate(dtype), on.degree * device.memory_bandwidth
    computing = math.fsum(
        max(one.flops / rate, one.moved / bandwidth) + device.op_overhead
        for one in layer.operations
    )
    return computing + reducing_seconds(layer, on)


def _measured(layer: LayerFacts, device: Device) -> float:
    """Return the time that a table has for a device, under any name that the device has."""
    name = device.model if device.model in layer.seconds else canonical_device_name(device.model)
    if name not in layer.seconds:
        raise InvalidInputError(
            f"layer {quoted(layer.name)} has no time on {device.name!r}; it has times on "
            f"{', '.join(map(repr, layer.seconds))}."
        )
    return layer.seconds[name]


def reducing_seconds(layer: LayerFacts, on: StageDevice) -> float:
    """Return the seconds of a layer's all-reduces within a group."""
    if on.link is None or not layer.reductions:
        return 0.0
    one = all_reduce(layer.reduced / layer.reductions, Ranks(on.degree, 1, on.link))
    return layer.reductions * one
