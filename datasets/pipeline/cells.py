"""`cells`: large image classifiers made of repeated cells, with costs that look measured.

The graphs are those of published networks, operator by operator: wide enough to have far too many
down-sets to list, and long. Costs are drawn, with a seed; so numbers on these graphs are about
methods and not about the networks.

A profiler finds an operator's time near what a roofline predicts, off by a factor that hardly
changes among operators of one type and shape, plus a little noise. Both are drawn here.

Members are called ``NETWORK-SEED``, e.g. ``nasnet-mobile-1``.

Inception-v3 is made of modules of four branches whose outputs are stacked: [INCEPTION16], Table 1
for the order of modules, Figures 5 to 7 and 10 for their form. The paper gives no numbers of
filters; these are the ones of the published implementations. NASNet-A is made of cells found by
architecture search, each reading the two cells before it: [NASNET18], Figure 2 (right) for the
order of cells, Figure 4 for what is inside.
"""

import hashlib
import math
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import NormalDist

from boundmark.problems.arrays import frozen
from boundmark.problems.dag import Dag
from boundmark.problems.dataset import Dataset
from boundmark.problems.errors import UnknownNameError, find
from boundmark.problems.pipeline.graph import PipelineGraph

BYTES_PER_VALUE = 4


@dataclass(frozen=True)
class Images:
    """The output of an operator: square images, one for each channel.

    Attributes
    ----------
    producer
        Number of the operator; -1 for what the network is given.
    """

    producer: int
    channels: int
    size: int

    @property
    def values(self) -> int:
        """Number of values."""
        return self.channels * self.size**2


@dataclass(frozen=True)
class Operator:
    """An operator, with its arithmetic for one input of the network, batch size 1.

    Attributes
    ----------
    producers
        Numbers of the operators that it reads from.
    flops
        Arithmetic operations; a multiply-add counts as two.
    read_bytes, written_bytes, param_bytes
        Bytes of its inputs, of its output, and of its parameters.
    """

    op_type: str
    producers: tuple[int, ...]
    flops: int
    read_bytes: int
    written_bytes: int
    param_bytes: int


class Network:
    """The operators so far, in the order in which they were added, which is a topological one."""

    def __init__(self) -> None:
        self.operators: list[Operator] = []

    def convolution(
        self,
        x: Images,
        channels: int,
        kernel: int | tuple[int, int],
        stride: int = 1,
        *,
        padded: bool = True,
    ) -> Images:
        """Add a convolution; without padding, the images shrink by its kernel."""
        height, width = kernel if isinstance(kernel, tuple) else (kernel, kernel)
        size = _size_after(x.size, max(height, width), stride, padded)
        weights = x.channels * channels * height * width
        return self._add("conv", (x,), channels, size, 2 * weights * size**2, weights)

    def depthwise(self, x: Images, kernel: int, stride: int = 1) -> Images:
        """Add a convolution of each channel by itself."""
        size = _size_after(x.size, kernel, stride, padded=True)
        weights = x.channels * kernel**2
        return self._add("depthwise", (x,), x.channels, size, 2 * weights * size**2, weights)

    def pool(self, x: Images, kernel: int, stride: int = 1, *, padded: bool = True) -> Images:
        """Add a maximum or mean over small squares."""
        size = _size_after(x.size, kernel, stride, padded)
        return self._add("pool", (x,), x.channels, size, x.channels * (kernel * size) ** 2, 0)

    def global_pool(self, x: Images) -> Images:
        """Add a mean over each channel."""
        return self._add("global_pool", (x,), x.channels, 1, x.values, 0)

    def normalization(self, x: Images) -> Images:
        """Add a batch normalisation: mean, variance, scale and shift for each channel."""
        return self._add("norm", (x,), x.channels, x.size, 2 * x.values, 4 * x.channels)

    def relu(self, x: Images) -> Images:
        """Add an activation."""
        return self._add("relu", (x,), x.channels, x.size, x.values, 0)

    def sum(self, x: Images, y: Images) -> Images:
        """Add a sum of two tensors of one shape."""
        return self._add("sum", (x, y), x.channels, x.size, x.values, 0)

    def concatenation(self, *parts: Images) -> Images:
        """Add an operator that stacks channels."""
        return self._add("concat", parts, sum(part.channels for part in parts), parts[0].size, 0, 0)

    def dense(self, x: Images, channels: int) -> Images:
        """Add a fully connected layer."""
        weights = x.values * channels
        return self._add("dense", (x,), channels, 1, 2 * weights, weights + channels)

    def _add(
        self,
        op_type: str,
        inputs: tuple[Images, ...],
        channels: int,
        size: int,
        flops: int,
        parameters: int,
    ) -> Images:
        output = Images(len(self.operators), channels, size)
        # What is read twice is one tensor.
        read = dict.fromkeys(inputs)
        self.operators.append(
            Operator(
                op_type,
                tuple(x.producer for x in read if x.producer >= 0),
                flops,
                BYTES_PER_VALUE * sum(x.values for x in read),
                BYTES_PER_VALUE * output.values,
                BYTES_PER_VALUE * parameters,
            )
        )
        return output


def _size_after(size: int, kernel: int, stride: int, padded: bool) -> int:
    return -(-size // stride) if padded else (size - kernel) // stride + 1


CLASSES = 1000
IMAGE = 299


def inception_v3() -> Network:
    """Build the network, without its auxiliary classifier."""
    network = Network()
    x = _unit(network, Images(-1, 3, IMAGE), 32, 3, 2, padded=False)
    x = _unit(network, x, 32, 3, padded=False)
    x = network.pool(_unit(network, x, 64, 3), 3, 2, padded=False)
    x = _unit(network, x, 80, 1)
    x = network.pool(_unit(network, x, 192, 3, padded=False), 3, 2, padded=False)
    for pooled in (32, 64, 64):
        x = _module_of_squares(network, x, pooled)
    x = _first_reduction(network, x)
    for filters in (128, 160, 160, 192):
        x = _module_of_strips(network, x, filters)
    x = _second_reduction(network, x)
    for _ in range(2):
        x = _widening_module(network, x)
    network.dense(network.global_pool(x), CLASSES)
    return network


def _unit(
    network: Network,
    x: Images,
    filters: int,
    kernel: int | tuple[int, int],
    stride: int = 1,
    *,
    padded: bool = True,
) -> Images:
    """Apply convolution, normalisation and activation."""
    x = network.convolution(x, filters, kernel, stride, padded=padded)
    return network.relu(network.normalization(x))


def _chain(network: Network, x: Images, *units: tuple[int, int | tuple[int, int]]) -> Images:
    for filters, kernel in units:
        x = _unit(network, x, filters, kernel)
    return x


def _module_of_squares(network: Network, x: Images, pooled: int) -> Images:
    return network.concatenation(
        _chain(network, x, (64, 1)),
        _chain(network, x, (48, 1), (64, 5)),
        _chain(network, x, (64, 1), (96, 3), (96, 3)),
        _unit(network, network.pool(x, 3), pooled, 1),
    )


def _first_reduction(network: Network, x: Images) -> Images:
    return network.concatenation(
        _unit(network, x, 384, 3, 2, padded=False),
        _unit(network, _chain(network, x, (64, 1), (96, 3)), 96, 3, 2, padded=False),
        network.pool(x, 3, 2, padded=False),
    )


def _module_of_strips(network: Network, x: Images, filters: int) -> Images:
    wide, tall = (1, 7), (7, 1)
    return network.concatenation(
        _chain(network, x, (192, 1)),
        _chain(network, x, (filters, 1), (filters, wide), (192, tall)),
        _chain(
            network, x, (filters, 1), (filters, tall), (filters, wide), (filters, tall), (192, wide)
        ),
        _unit(network, network.pool(x, 3), 192, 1),
    )


def _second_reduction(network: Network, x: Images) -> Images:
    strips = _chain(network, x, (192, 1), (192, (1, 7)), (192, (7, 1)))
    return network.concatenation(
        _unit(network, _chain(network, x, (192, 1)), 320, 3, 2, padded=False),
        _unit(network, strips, 192, 3, 2, padded=False),
        network.pool(x, 3, 2, padded=False),
    )


def _widening_module(network: Network, x: Images) -> Images:
    middle, deep = _chain(network, x, (384, 1)), _chain(network, x, (448, 1), (384, 3))
    return network.concatenation(
        _chain(network, x, (320, 1)),
        _unit(network, middle, 384, (1, 3)),
        _unit(network, middle, 384, (3, 1)),
        _unit(network, deep, 384, (1, 3)),
        _unit(network, deep, 384, (3, 1)),
        _unit(network, network.pool(x, 3), 192, 1),
    )


CLASSES = 1000
STACKS = 3


def nasnet(repeats: int, filters: int, stem_filters: int, image: int) -> Network:
    """Build the network for ImageNet.

    Parameters
    ----------
    repeats
        Normal cells in each of the three stacks: N of the paper.
    filters
        Of a normal cell's branches in the first stack; the last tensor has 24 times as many.
    stem_filters
        Of the first convolution.
    image
        Height and width of the input.
    """
    network = Network()
    x = network.convolution(Images(-1, 3, image), stem_filters, 3, 2, padded=False)
    before = x = network.normalization(x)
    for divisor in (4, 2):
        before, x = x, _reduction_cell(network, before, x, filters // divisor)
    for stack in range(STACKS):
        if stack:
            before, x = x, _reduction_cell(network, before, x, filters * 2**stack)
        for _ in range(repeats):
            before, x = x, _normal_cell(network, before, x, filters * 2**stack)
    network.dense(network.global_pool(network.relu(x)), CLASSES)
    return network


def _normal_cell(network: Network, before: Images, x: Images, filters: int) -> Images:
    left, right = _fitted(network, before, x, filters)
    parts = [
        network.sum(_separable(network, right, 3), right),
        network.sum(_separable(network, left, 3), _separable(network, right, 5)),
        network.sum(network.pool(right, 3), left),
        network.sum(network.pool(left, 3), network.pool(left, 3)),
        network.sum(_separable(network, left, 5), _separable(network, left, 3)),
    ]
    return network.concatenation(left, *parts)


def _reduction_cell(network: Network, before: Images, x: Images, filters: int) -> Images:
    left, right = _fitted(network, before, x, filters)
    first = network.sum(_separable(network, left, 7, 2), _separable(network, right, 5, 2))
    second = network.sum(network.pool(right, 3, 2), _separable(network, left, 7, 2))
    third = network.sum(network.pool(right, 3, 2), _separable(network, left, 5, 2))
    fourth = network.sum(network.pool(right, 3, 2), _separable(network, first, 3))
    fifth = network.sum(network.pool(first, 3), second)
    return network.concatenation(second, third, fourth, fifth)


def _fitted(network: Network, before: Images, x: Images, filters: int) -> tuple[Images, Images]:
    """Bring both inputs of a cell to its number of filters, and to the size of the later one."""
    right = network.normalization(network.convolution(network.relu(x), filters, 1))
    if before.producer == x.producer:
        return network.normalization(network.convolution(network.relu(x), filters, 1)), right
    if before.size == x.size:
        left = network.convolution(network.relu(before), filters, 1)
    else:
        active = network.relu(before)
        halves = (
            network.convolution(network.pool(active, 1, 2), filters // 2, 1),
            network.convolution(network.pool(active, 1, 2), filters - filters // 2, 1),
        )
        left = network.concatenation(*halves)
    return network.normalization(left), right


def _separable(network: Network, x: Images, kernel: int, stride: int = 1) -> Images:
    """Apply a depthwise and a pointwise convolution, twice; the first one may have a stride."""
    channels = x.channels
    for step in (stride, 1):
        x = network.depthwise(network.relu(x), kernel, step)
        x = network.normalization(network.convolution(x, channels, 1))
    return x


NETWORKS: Mapping[str, Callable[[], Network]] = {
    "inception-v3": inception_v3,
    "nasnet-small": lambda: nasnet(repeats=2, filters=44, stem_filters=32, image=224),
    "nasnet-mobile": lambda: nasnet(repeats=4, filters=44, stem_filters=32, image=224),
    "nasnet-large": lambda: nasnet(repeats=6, filters=168, stem_filters=96, image=331),
}

# Seeds that `members` lists; any other seed loads as well.
LISTED_SEEDS = range(1, 4)

# A seed has one spelling, so that an instance has one name.
_MEMBER = re.compile(r"(?P<network>.+)-(?P<seed>0|[1-9][0-9]*)", re.ASCII)


def members() -> tuple[str, ...]:
    """Return the names with the listed seeds."""
    return tuple(f"{network}-{seed}" for network in NETWORKS for seed in LISTED_SEEDS)


def load(member: str) -> PipelineGraph:
    """Build a network and draw its costs.

    Raises
    ------
    UnknownNameError
        If the name has another form, or there is no such network.
    """
    parsed = _MEMBER.fullmatch(member)
    if parsed is None:
        raise UnknownNameError(
            f"there is no graph {member!r} in cells; expected NETWORK-SEED, e.g. nasnet-mobile-1."
        )
    build = find("network of cells", parsed["network"], NETWORKS)
    return measured(build(), f"cells/{member}")


# Operations and bytes a nanosecond, of the kind of an inference accelerator with 8 TFLOPS and
# 320 GB/s, behind a link of 12 GB/s; and nanoseconds to start an operator.
FLOPS_RATE = 8000
MEMORY_RATE = 320
LINK_RATE = 12
START = 5000

# Standard deviations of logarithms: what operators of one type and shape have in common, and what
# is each one's own.
KIND_DEVIATION = 0.3
OWN_DEVIATION = 0.05


def measured(network: Network, name: str) -> PipelineGraph:
    """Return a graph with work and transfer times in nanoseconds; all parameters fit.

    Parameters
    ----------
    name
        Seeds all draws. As in `regal_style`, they come from `random.Random.random` alone.
    """
    rng = random.Random(int.from_bytes(hashlib.sha256(name.encode()).digest()))
    factors: dict[tuple[str, int, int, int], float] = {}
    work = []
    for operator in network.operators:
        shape = (operator.op_type, operator.flops, operator.read_bytes, operator.written_bytes)
        if shape not in factors:
            factors[shape] = _factor(KIND_DEVIATION, rng)
        moved = operator.read_bytes + operator.written_bytes + operator.param_bytes
        roofline = max(operator.flops / FLOPS_RATE, moved / MEMORY_RATE)
        work.append(round((START + roofline) * factors[shape] * _factor(OWN_DEVIATION, rng)))
    edges = [
        (producer, node)
        for node, operator in enumerate(network.operators)
        for producer in operator.producers
    ]
    sizes = [operator.written_bytes for operator in network.operators]
    return PipelineGraph.without_parameters(
        Dag.from_edges(len(work), edges),
        frozen(work),
        frozen([round(size / LINK_RATE) for size in sizes]),
        tuple(f"{operator.op_type}_{node}" for node, operator in enumerate(network.operators)),
        tick="ns",
    )


def _factor(deviation: float, rng: random.Random) -> float:
    return math.exp(deviation * NormalDist().inv_cdf(max(rng.random(), 2.0**-60)))


DATASET = Dataset(
    name="cells",
    source=PipelineGraph,
    summary=(
        "NASNet-A (Zoph et al., CVPR 2018) and Inception-v3 (Szegedy et al., CVPR 2016), "
        "308 to 1,235 operators, with random costs; any seed works."
    ),
    members=members,
    load=load,
)
