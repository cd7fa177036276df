"""NASNet-A: cells found by architecture search, each reading the two cells before it.

[NASNET18], Figure 2 (right) for the order of cells, Figure 4 for what is inside.
"""

from boundmark.datasets.pipeline.cells.network import Images, Network

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
