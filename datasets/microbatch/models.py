"""`tessel-models`: layouts of GPT, mT5 and Flava as [TESSEL24], Section VI, places them.

Times, weights and activations are those of the zoo's graphs, operator by operator on an NVIDIA V100
with 32 GB, scaled to the layers, hidden sizes and words of Table III. A tick is 100 microseconds,
a unit of memory is a MiB. Members are called e.g. ``tessel-models/gpt-m-4-train``: model, shape,
GPUs and mode, and perhaps ``-s8`` behind them for 8 samples in a micro-batch.

Following the paper's Figure 8, only looking up the words is distributed, and logits are left out:
with a million words they would be a third of the arithmetic, where the paper calls that of the
embedding small.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from boundmark.datasets import zoo
from boundmark.datasets.microbatch.piper import Degrees, LayerCosts, plan
from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.dataset import Dataset
from boundmark.problems.devices import Device, find_device
from boundmark.problems.errors import InvalidInputError, UnknownNameError
from boundmark.problems.microbatch import Block, BlockLayout
from boundmark.problems.microbatch.layout import Kind
from boundmark.problems.operator_types import FREE_OP_TYPES

MEBIBYTE = 2**20


# Assumptions about memory and time that the paper leaves open. Blocks are rounded up to ticks.
TICK_SECONDS = 1e-4

# In training: a weight, its gradient and the optimiser's state. With 8 bytes or less, GPT's
# embedding of 11B nearly fits on one GPU, and with more than 12 the model does not fit on four,
# both of which the paper contradicts.
TRAINED_WEIGHT_BYTES = 10

# Bytes of an activation, and of a weight in inference.
NUMBER_BYTES = 2

# Samples between updates of weights ([TESSEL24], Section VI-D).
BATCH = 128

# Duration of a backward block in those of its forward block, with recomputation.
BACKWARD = 3

# GPUs of a server, and bytes per second from one GPU to another one in it and outside.
SERVER_GPUS = 8
SERVER_BANDWIDTH = 150e9
NETWORK_BANDWIDTH = 12.5e9

# The paper's.
GPU = "nvidia-v100"


@dataclass(frozen=True)
class Size:
    """A line of Table III: layers, hidden size, and words of the vocabulary."""

    layers: int
    hidden: int
    words: int


# By number of GPUs ([TESSEL24], Table III; Flava as in Figure 15).
SIZES: Mapping[str, Mapping[int, Size]] = {
    "gpt": {
        4: Size(32, 4096, 10**6),
        8: Size(40, 6144, 10**6),
        16: Size(48, 8192, 10**6),
        32: Size(80, 8192, 1_500_000),
    },
    "mt5": {
        4: Size(48, 1024, 512_000),
        8: Size(48, 3072, 10**6),
        16: Size(64, 6144, 1_500_000),
        32: Size(80, 8192, 1_500_000),
    },
    "flava": {4: Size(24, 4096, 0)},
}

SHAPES: Mapping[str, tuple[str, ...]] = {
    "gpt": ("v", "x", "m", "tp", "piper"),
    "mt5": ("v", "x", "nn", "tp", "piper"),
    "flava": ("v", "k", "tp"),
}

MODES: Mapping[str, tuple[str, ...]] = {
    "gpt": ("train",),
    "mt5": ("train",),
    "flava": ("infer",),
}

NAME = re.compile(
    r"(?P<model>[a-z0-9]+)-(?P<shape>[a-z]+)-(?P<gpus>\d{1,3})-(?P<mode>train|infer)"
    r"(?:-s(?P<samples>[1-9]\d{0,3}))?"
)

EXPECTED = "MODEL-SHAPE-GPUS-MODE, e.g. gpt-m-4-train, and perhaps -s8 behind it for 8 samples"


def members() -> tuple[str, ...]:
    """Return the names of all layouts with one sample in a micro-batch."""
    return tuple(
        f"{model}-{shape}-{gpus}-{mode}"
        for model, sizes in SIZES.items()
        for gpus in sizes
        for shape in SHAPES[model]
        for mode in MODES[model]
    )


def load(member: str) -> BlockLayout:
    """Return the layout of a model, with the memory that its weights leave on each GPU.

    Raises
    ------
    UnknownNameError
        If the name has another form, or nothing of this name is in the paper.
    InvalidInputError
        If the weights do not fit, which the paper's figures mark with a cross.
    """
    match = _matched(member)
    if member.removesuffix(f"-s{match['samples']}") not in members():
        raise UnknownNameError(f"there is no layout {member!r}; expected {EXPECTED}.")
    return DRAW[match["shape"]](_costs(match), int(match["gpus"]))


DATASET = Dataset(
    name="tessel-models",
    source=BlockLayout,
    summary="Layouts of the zoo's GPT, mT5 and Flava, placed and sized as in [TESSEL24].",
    members=members,
    load=load,
)


@dataclass(frozen=True)
class Part:
    """Layers that follow one another: an encoder, a decoder.

    Attributes
    ----------
    layers
        Their number.
    seconds, weights, kept
        Time of each layer on one GPU, its number of weights, and bytes of the input that
        recomputation starts from.
    """

    layers: int
    seconds: float
    weights: float
    kept: float


@dataclass(frozen=True)
class Costs:
    """A model's costs on the paper's GPU.

    Attributes
    ----------
    parts
        In the order in which data passes them; Flava's are image, text, and both.
    lookup_seconds, words
        Looking up the words of a micro-batch on one GPU, and weights of the table.
    """

    name: str
    parts: tuple[Part, ...]
    lookup_seconds: float
    words: float
    is_training: bool

    def weight_bytes(self, weights: float) -> float:
        """Return the bytes of weights, in training with gradients and optimiser states."""
        return weights * (TRAINED_WEIGHT_BYTES if self.is_training else NUMBER_BYTES)

    def exchange_seconds(self, sent: float, gpus: int) -> float:
        """Return the seconds in which some GPUs add up or collect a tensor of a given size."""
        return 2 * (gpus - 1) / gpus * sent / _bandwidth(gpus)

    def shared_seconds(self, part: Part, gpus: int) -> float:
        """Return the time of a layer whose products GPUs share, with two exchanges."""
        exchanges = 2 * self.exchange_seconds(part.kept, gpus) if gpus > 1 else 0.0
        return part.seconds / gpus + exchanges

    def shared_lookup_seconds(self, gpus: int) -> float:
        """Return the time of a lookup in a table that GPUs share."""
        return self.lookup_seconds / gpus + self.exchange_seconds(self.parts[0].kept, gpus)


def _gpu() -> Device:
    found = find_device(GPU)
    assert isinstance(found, Device)
    return found


def _ticks(seconds: float) -> int:
    """Return a duration in ticks, at least 1."""
    return max(1, int(np.ceil(seconds / TICK_SECONDS - 1e-9)))


def _bandwidth(gpus: int) -> float:
    """Return the bandwidth between so many GPUs."""
    return SERVER_BANDWIDTH if gpus <= SERVER_GPUS else NETWORK_BANDWIDTH


def transfer_ticks(member: str) -> int:
    """Return the ticks to move a layer's result from one GPU to the next.

    Inside a server if the layout has one server, and over the network if it has several.
    """
    match = _matched(member)
    return _ticks(_costs(match).parts[0].kept / _bandwidth(int(match["gpus"])))


def costs_of(member: str) -> Costs:
    """Return the costs of the model, GPUs, mode and samples that a name says, in any shape."""
    return _costs(_matched(member))


def _matched(member: str) -> re.Match[str]:
    match = NAME.fullmatch(member)
    if match is None:
        raise UnknownNameError(f"there is no layout {member!r}; expected {EXPECTED}.")
    return match


def _costs(match: re.Match[str]) -> Costs:
    """Return the costs of the model, GPUs, mode and samples that a name says."""
    model, samples = match["model"], int(match["samples"] or 1)
    size = SIZES[model][int(match["gpus"])]
    name, patterns, share, lookup = _SOURCES[model]
    graph, wide = _graph(name), _HIDDEN[model]
    scale = size.hidden / wide
    parts = []
    for pattern, part_of in zip(patterns, share, strict=True):
        found, layers = _layers(graph, pattern)
        seconds, weights = (amount / layers for amount in _scaled(graph, found, scale, samples))
        kept = samples * _tokens(graph, found) * size.hidden * NUMBER_BYTES
        count = round(size.layers * part_of)
        parts.append(Part(count, seconds, weights, kept))
    lookups = [i for i, name in enumerate(graph.names) if re.match(lookup, name)] if lookup else []
    seconds = _scaled(graph, lookups, scale, samples)[0] if lookups else 0.0
    words = float(size.words * size.hidden)
    return Costs(model, tuple(parts), seconds, words, match["mode"] == "train")


# The zoo's graph, how names of each part's operators begin, what part of Table III's layers it
# has, and how those that look up words do. mT5's layers are half in either part; Flava's encoders
# have 24 each, and what joins them 12.
_SOURCES: Mapping[str, tuple[str, tuple[str, ...], tuple[float, ...], str]] = {
    "gpt": ("gpt-3-1.3b", (r"transformer\.h\.(\d+)\.?",), (1.0,), r"transformer\.wte/"),
    "mt5": (
        "mt5-1.8b",
        (r"encoder\.block\.(\d+)\.?", r"decoder\.block\.(\d+)\.?"),
        (0.5, 0.5),
        r"encoder\.embed_tokens/",
    ),
    "flava": (
        "flava-tessel",
        (
            r"image_model\.encoder\.layer\.(\d+)\.?",
            r"text_model\.encoder\.layer\.(\d+)\.?",
            r"multimodal_model\.encoder\.layer\.(\d+)\.?",
        ),
        (1.0, 1.0, 0.5),
        "",
    ),
}

# Left out of mT5, whose sizes in Table III are those of layers without it.
GATE = "DenseReluDense.wi_1"

_HIDDEN = {"gpt": 2048, "mt5": 1024, "flava": 4096}


@cache
def _graph(name: str) -> ComputationGraph:
    return zoo.load(name)


def _layers(graph: ComputationGraph, pattern: str) -> tuple[list[int], int]:
    """Return the operators of a part, and its number of layers."""
    found = {
        i: match[1]
        for i, name in enumerate(graph.names)
        if (match := re.match(pattern, name)) and GATE not in name
    }
    return list(found), len(set(found.values()))


def _tokens(graph: ComputationGraph, operators: Sequence[int]) -> int:
    """Return how many positions a part's first addition of a residual has."""
    for i in operators:
        operator = graph.operators[i]
        shape = graph.tensors[operator.writes[0]].shape
        if operator.op_type == "Add" and len(shape) == 3:
            return int(shape[1])
    raise InvalidInputError("no layer adds a residual; expected a transformer.")


def _scaled(
    graph: ComputationGraph, operators: Sequence[int], scale: float, samples: int
) -> tuple[float, float]:
    """Return seconds on one GPU, and weights, all scaled.

    What reads weights has `scale` times as many rows and columns, everything else as many times the
    elements; the zoo's graphs hold one sample in half precision.
    """
    gpu = _gpu()
    at = np.array(operators, dtype=np.int64)
    types = [graph.op_types[i] for i in operators]
    is_lookup = np.array([name == "Gather" for name in types])
    weights = np.where([name in PRODUCTS for name in types], graph.param_bytes[at], 0)
    weights = weights / NUMBER_BYTES * scale**2
    work = graph.flops[at] * samples * np.where(weights > 0, scale**2, scale)
    moved = (graph.read_bytes + graph.output_bytes)[at] * samples * scale
    # A lookup reads as much of the table as it writes.
    streamed = np.where(is_lookup, graph.output_bytes[at] * samples * scale, weights * NUMBER_BYTES)
    roof = np.maximum(work / gpu.rate("float16"), (moved + streamed) / gpu.memory_bandwidth)
    is_free = np.array([name in FREE_OP_TYPES for name in types])
    seconds = np.where(is_free, 0.0, roof + gpu.op_overhead)
    return float(seconds.sum()), float(weights.sum())


# What reads nearly all weights; their number grows with the square of the hidden size.
PRODUCTS = frozenset({"Conv", "Gemm", "MatMul"})


@dataclass
class _Drawing:
    """Collects blocks, dependencies, and what weights take on each GPU."""

    costs: Costs
    devices: int

    def __post_init__(self) -> None:
        self.blocks: list[Block] = []
        self.edges: list[tuple[int, int]] = []
        self.held = [0.0] * self.devices

    def hold(self, devices: Sequence[int], weights: float) -> None:
        """Divide weights among devices."""
        for device in devices:
            self.held[device] += self.costs.weight_bytes(weights) / len(devices)

    def forward(
        self, name: str, devices: Sequence[int], seconds: float, kept: float, after: Sequence[int]
    ) -> int:
        """Add a forward block that keeps a given number of bytes on each of its devices."""
        return self._add(f"F{name}", "forward", seconds, kept, devices, after)

    def turn(self) -> None:
        """Add the backward blocks of all forward blocks so far, the other way round."""
        if not self.costs.is_training:
            return
        count, edges = len(self.blocks), list(self.edges)
        partner: dict[int, int] = {}
        for i in reversed(range(count)):
            block = self.blocks[i]
            after = [partner[j] for tail, j in edges if tail == i] + [i]
            seconds = block.duration * BACKWARD * TICK_SECONDS
            partner[i] = self._add(
                block.name.replace("F", "B", 1), "backward", seconds,
                -block.memory * MEBIBYTE, block.devices, after,
            )  # fmt: skip

    def layout(self) -> BlockLayout:
        """Return the layout; raises `InvalidInputError` if weights do not fit."""
        memory = int(_gpu().memory_bytes // MEBIBYTE)
        held = tuple(int(np.ceil(amount / MEBIBYTE)) for amount in self.held)
        layout = BlockLayout.from_blocks(self.blocks, self.edges, self.devices)
        return layout.with_memory(memory, held)

    def _add(
        self, name: str, kind: Kind, seconds: float, kept: float, devices: Sequence[int],
        after: Sequence[int],
    ) -> int:  # fmt: skip
        number = len(self.blocks)
        unit = int(np.ceil(abs(kept) / MEBIBYTE - 1e-9)) * (-1 if kept < 0 else 1)
        memory = unit if self.costs.is_training else 0
        ticks = _ticks(seconds)
        self.blocks.append(Block(name, kind, ticks, memory, tuple(devices)))
        self.edges += [(earlier, number) for earlier in after]
        return number


def v_shape(costs: Costs, gpus: int) -> BlockLayout:
    """Place all layers one after another, and the words on as few GPUs as can hold them.

    These GPUs share the products of the first stage, and are one device of the layout, since they
    always run together. Their number, a power of two up to half, and the layers of the stages are
    such that the slowest stage takes the least time.
    """
    return _chains(costs, _around_the_first(costs, gpus, _gpu().memory_bytes))


def x_shape(costs: Costs, gpus: int) -> BlockLayout:
    """Place two V's in opposite directions; each GPU holds the weights of two stages."""
    stages = _around_the_first(costs, gpus, _gpu().memory_bytes / 2)
    if (group := stages[0].gpus) > 1:
        raise InvalidInputError(
            f"the words of {costs.name} are on {group} GPUs; expected one for an X-shape."
        )
    return _chains(costs, stages, stages)


def piper(costs: Costs, gpus: int) -> BlockLayout:
    """Place stages as Piper does: tensor and data parallelism of any degrees in each.

    The GPUs of a stage are one device of the layout. Its replicas take turns with micro-batches, so
    that a block takes the part of its time that each of them has on average.
    """
    powers = [2**n for n in range(gpus.bit_length())]
    ways = {
        degrees: _layer_costs(costs, degrees)
        for degrees in (Degrees(t, d) for t in powers for d in powers if t * d <= gpus)
    }
    return _chains(costs, _stages(costs, ways, ways, gpus, _gpu().memory_bytes))


def m_shape(costs: Costs, gpus: int) -> BlockLayout:
    """Place the words on all GPUs, and the layers on one after another."""
    return _around_words(costs, gpus, lookups=1)


def nn_shape(costs: Costs, gpus: int) -> BlockLayout:
    """Draw M with a second lookup, of the decoder's words, when the encoder is done (Figure 8)."""
    return _around_words(costs, gpus, lookups=2)


def _around_words(costs: Costs, gpus: int, lookups: int) -> BlockLayout:
    drawing = _Drawing(costs, gpus)
    everywhere = range(gpus)
    drawing.hold(everywhere, costs.words)
    room = _gpu().memory_bytes - costs.weight_bytes(costs.words) / gpus
    seconds = costs.shared_lookup_seconds(gpus)
    latest = drawing.forward("E", everywhere, seconds, 0.0, ())
    reached = 0
    alone = {Degrees(): _layer_costs(costs, Degrees(), has_words=False)}
    stages = _stages(costs, alone, alone, gpus, room, in_flight=1, is_all=True)
    for device, stage in enumerate(stages):
        encoder = costs.parts[0].layers
        if lookups == 2 and reached <= encoder < reached + stage.layers:
            latest = drawing.forward("D", everywhere, seconds, 0.0, (latest,))
        reached += stage.layers
        drawing.hold((device,), stage.weights)
        latest = drawing.forward(str(device), (device,), stage.seconds, stage.kept, (latest,))
    drawing.turn()
    return drawing.layout()


def k_shape(costs: Costs, gpus: int) -> BlockLayout:
    """Place each encoder on half of the GPUs, and the layers that join them on all."""
    drawing = _Drawing(costs, gpus)
    image, text, joint = costs.parts
    ends, half = [], gpus // 2
    for part, label, first in ((image, "a", 0), (text, "b", half)):
        after: tuple[int, ...] = ()
        for at, layers in enumerate(_divided(part.layers, half)):
            device = first + at
            drawing.hold((device,), layers * part.weights)
            block = drawing.forward(
                f"{label}{device}", (device,), layers * part.seconds, layers * part.kept, after
            )
            after = (block,)
        ends.append(after[0])
    drawing.hold(range(gpus), joint.layers * joint.weights)
    seconds = joint.layers * costs.shared_seconds(joint, gpus)
    drawing.forward("S", range(gpus), seconds, joint.layers * joint.kept, ends)
    drawing.turn()
    return drawing.layout()


def tensor_parallel(costs: Costs, gpus: int) -> BlockLayout:
    """Place every layer, and the words, on all GPUs: one block."""
    drawing = _Drawing(costs, gpus)
    seconds = sum(part.layers * costs.shared_seconds(part, gpus) for part in costs.parts)
    if costs.words:
        seconds += costs.shared_lookup_seconds(gpus)
    weights = sum(part.layers * part.weights for part in costs.parts)
    drawing.hold(range(gpus), weights + costs.words)
    kept = sum(part.layers * part.kept for part in costs.parts)
    drawing.forward("T", range(gpus), seconds, kept, ())
    drawing.turn()
    return drawing.layout()


DRAW: Mapping[str, Callable[[Costs, int], BlockLayout]] = {
    "v": v_shape,
    "x": x_shape,
    "m": m_shape,
    "nn": nn_shape,
    "k": k_shape,
    "tp": tensor_parallel,
    "piper": piper,
}


@dataclass(frozen=True)
class _Stage:
    """Layers in a row on some GPUs: the time of a forward block, and what each GPU holds.

    Attributes
    ----------
    layers
        Their number, with the words if these are placed like a layer.
    weights
        Bytes of weights on each GPU.
    kept
        Bytes on each GPU for a micro-batch in flight on the stage.
    """

    gpus: int
    layers: int
    seconds: float
    weights: float
    kept: float


def _chains(costs: Costs, *stages: Sequence[_Stage]) -> BlockLayout:
    """Return a V, or two in opposite directions; GPUs of a stage are one device."""
    drawing = _Drawing(costs, len(stages[0]))
    for label, chain in zip(("", "x"), stages, strict=False):
        order = range(len(chain)) if not label else reversed(range(len(chain)))
        after: tuple[int, ...] = ()
        for number, (stage, device) in enumerate(zip(chain, order, strict=True)):
            drawing.hold((device,), stage.weights)
            name = f"{label}{number}"
            after = (drawing.forward(name, (device,), stage.seconds, stage.kept, after),)
    drawing.turn()
    return drawing.layout()


def _divided(total: int, parts: int) -> list[int]:
    """Return parts that differ by one at most, the larger ones last."""
    return [total // parts + (at >= parts - total % parts) for at in range(parts)]


def _around_the_first(costs: Costs, gpus: int, memory: float) -> list[_Stage]:
    """Return stages on one GPU each, but the first, with the words, on a power of two up to half.

    Memory is for one micro-batch in flight; a schedule has as many as fit.
    """
    groups = [Degrees(2**n) for n in range(gpus.bit_length() - 1)]
    first = {group: _layer_costs(costs, group) for group in groups}
    alone = {Degrees(): first[Degrees()]}
    return _stages(costs, first, alone, gpus, memory, in_flight=1, is_all=True)


def _stages(
    costs: Costs, first: Mapping[Degrees, LayerCosts], others: Mapping[Degrees, LayerCosts],
    gpus: int, memory: float, *, in_flight: int = 0, is_all: bool = False,
) -> list[_Stage]:  # fmt: skip
    try:
        planned = plan(first, others, gpus, memory, in_flight=in_flight, is_all=is_all)
    except InvalidInputError as error:
        raise InvalidInputError(f"{costs.name} does not fit: {error}") from None
    stages = []
    for number, one in enumerate(planned):
        own = (others if number else first)[one.degrees]
        seconds, held, kept = (
            sum(column[one.start : one.end]) for column in (own.seconds, own.held, own.kept)
        )
        weights = held / costs.weight_bytes(1.0)
        kept /= one.degrees.replicas
        stages.append(_Stage(one.degrees.gpus, one.end - one.start, seconds, weights, kept))
    return stages


def _layer_costs(costs: Costs, degrees: Degrees, *, has_words: bool = True) -> LayerCosts:
    """Return what the words, unless they are elsewhere, and each layer take on a stage's GPUs.

    Replicas add up the gradients of a batch once, which is part of each micro-batch's time.
    """
    tensor, replicas = degrees.tensor, degrees.replicas
    layers = [
        (costs.shared_seconds(part, tensor), part.weights / tensor, part.kept)
        for part in costs.parts
        for _ in range(part.layers)
    ]
    if has_words:
        lookup = costs.shared_lookup_seconds(tensor) if costs.words else 0.0
        layers.insert(0, (lookup, costs.words / tensor, 0.0))
    share = NUMBER_BYTES / BATCH / (1 + BACKWARD) * 2 * (replicas - 1) / replicas
    bandwidth = _bandwidth(degrees.gpus)
    return LayerCosts(
        [seconds / replicas + share * weights / bandwidth for seconds, weights, _ in layers],
        [costs.weight_bytes(weights) for _, weights, _ in layers],
        [kept for *_, kept in layers],
    )
