"""Times and memory of a model's layers on devices, by the roofline model."""

import math

from boundmark.problems.arrays import frozen
from boundmark.problems.devices import Device
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.layers.chain import LayerChain
from boundmark.problems.layers.fleet import Fleet
from boundmark.problems.layers.model import TRAINING, LayerFacts, LayerModel, Workload
from boundmark.problems.ticks import NANOSECONDS

# Devices without it compute models in bfloat16 in float16, as servers of models make users choose.
_INSTEAD = {"bfloat16": "float16"}


def chain_of(
    model: LayerModel, workload: Workload, fleet: Fleet, memory_percent: int
) -> LayerChain:
    """Return a model's layers with their times in nanoseconds, each rounded once.

    A layer takes the longer of arithmetic and memory traffic of each operation, and the time to
    launch it ([ROOFLINE09]); a tensor the latency of the link, and its bytes at the link's
    bandwidth.

    Parameters
    ----------
    memory_percent
        Of each device's memory that layers may take.

    Raises
    ------
    InvalidInputError
        If something is missing; of layers with measured times, a device's.
    """
    layers = model.layers(workload)
    operators = {name for layer in layers for name in layer.operators}
    for device in fleet.kinds:
        _check_times(device, operators)
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
    return LayerChain(
        time=frozen([[_ticks(_seconds(x, d, model.dtype)) for x in layers] for d in fleet.kinds]),
        weights=frozen([layer.weights for layer in layers]),
        held=frozen([layer.held for layer in layers]),
        tied=model.tied(workload),
        joined=model.joined(),
        transfer=frozen(
            [[_ticks(latency + size / rate) for size in moved] for rate, latency in kinds]
            or [[0] * len(moved)]
        ),
        link=frozen(links),
        devices=fleet.types,
        capacity=frozen([d.memory_bytes * memory_percent // 100 for d in fleet.kinds]),
        sizes=frozen([layer.parameters for layer in layers]),
        outer=model.outer,
        training=workload.phase == TRAINING,
        names=tuple(layer.name for layer in layers),
        device_names=fleet.names,
        tick="ns",
    )


def _check_times(device: Device, operators: set[str]) -> None:
    """Refuse measured times of operators if they are of another model, or of none with operators.

    Raises
    ------
    InvalidInputError
        With an operator that is missing on one side.
    """
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


def _seconds(layer: LayerFacts, device: Device, dtype: str) -> float:
    if device.measured is not None:
        return math.fsum(device.measured[name] for name in layer.operators)
    if layer.seconds:
        if device.name not in layer.seconds:
            raise InvalidInputError(
                f"layer {quoted(layer.name)} has no time on {device.name!r}; it has times on "
                f"{', '.join(map(repr, layer.seconds))}."
            )
        return layer.seconds[device.name]
    if dtype not in device.peak_rate and dtype in _INSTEAD:
        dtype = _INSTEAD[dtype]
    rate = device.rate(dtype)
    return math.fsum(
        max(one.flops / rate, one.moved / device.memory_bandwidth) + device.op_overhead
        for one in layer.operations
    )
