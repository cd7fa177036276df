"""Certificates of `layers` that prove the optimum of a tiny instance."""

from dataclasses import replace

from tiny_layers import LARGER, SILENT

from boundmark.problems.arrays import frozen
from boundmark.problems.layers import LayerAssignment, LayersInstance
from boundmark.problems.layers.chain import Split


def _cut(sample: LayersInstance, layers: int, **changed: object) -> LayersInstance:
    """Return the first layers of an instance."""
    chain = sample.chain
    return replace(
        sample,
        chain=replace(
            chain, time=chain.time[:, :layers], weights=chain.weights[:layers],
            held=chain.held[:layers], sizes=chain.sizes[:layers], tied=((0, 3, 2),),
            transfer=chain.transfer[:, : layers - 1], joined=(2,), names=chain.names[:layers],
        ),
        **changed,
    )  # fmt: skip


def _hosted(sample: LayersInstance) -> LayersInstance:
    """Return the question how many layers keep a part of themselves on the last device, a host."""
    chain, n = sample.chain, sample.nodes
    split = Split(host=(2,), room=9, time=chain.time + 2, bytes=frozen([0, 2, 2, 1, 0][:n]), most=3)
    host = replace(chain, tied=(), outer=(1, 1), first=(2,), split=split)
    return replace(sample, chain=host)


TIGHT: dict[str, tuple[str, LayersInstance]] = {
    "layer-reach, bottleneck": ("layer-reach", _cut(LARGER, 6, goal="bottleneck")),
    "layer-reach, latency": ("layer-reach", _cut(LARGER, 5, goal="latency")),
    "layer-reach, makespan": ("layer-reach", _cut(LARGER, 6)),
    "layer-reach, stages": ("layer-reach", _cut(LARGER, 6, goal="bottleneck", in_flight="stages")),
    "layer-load, virtual stages": ("layer-load", SILENT),
    "layer-reach, given": ("layer-reach", _cut(LARGER, 6, device_order="given")),
    "layer-choices, latency": ("layer-choices", _hosted(_cut(LARGER, 5, goal="latency"))),
    "layer-choices, bottleneck": ("layer-choices", _hosted(_cut(LARGER, 5, goal="bottleneck"))),
}


def is_tiny(sample: LayersInstance) -> bool:
    """Whether all assignments are enumerated in a fraction of a second."""
    return sample.nodes <= 6 and len(sample.chain.devices) <= 5


def solution(sample: LayersInstance) -> LayerAssignment:
    """Return a solution in the right form."""
    name = () if sample.chain.split is None else (0,)
    return LayerAssignment(frozen([0] * sample.nodes), name)
