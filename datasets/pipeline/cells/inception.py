"""Inception-v3: modules of four branches whose outputs are stacked.

[INCEPTION16], Table 1 for the order of modules, Figures 5 to 7 and 10 for their form. The paper
gives no numbers of filters; these are the ones of the published implementations.
"""

from boundmark.datasets.pipeline.cells.network import Images, Network

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
