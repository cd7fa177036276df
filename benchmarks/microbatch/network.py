"""A network with a layer for each forward block: y = tanh(x W), with x the sum of the inputs.

Layers that nothing reads have a loss of half their squared distance from a target. A layer on
several devices is sharded by columns of W, as embeddings and wide layers are.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from boundmark.problems.errors import UnsupportedError
from boundmark.problems.microbatch import BlockLayout
from boundmark.problems.microbatch.layout import Kind, backward_partners, forward_partners

Array = npt.NDArray[np.float64]

# Samples in a micro-batch, and values of each.
SAMPLES, WIDTH = 4, 12


@dataclass
class Shard:
    """Some columns of a layer's weights, and the activations of the micro-batches in flight."""

    weights: Array
    columns: slice
    gradient: Array = field(init=False)
    kept: dict[int, tuple[Array, Array]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.gradient = np.zeros_like(self.weights)

    def forward(self, micro_batch: int, x: Array) -> Array:
        """Return these columns of the output; keep the activations for the backward pass."""
        y: Array = np.tanh(x @ self.weights)
        self.kept[micro_batch] = (x, y)
        return y

    def backward(self, micro_batch: int, gradient: Array) -> Array:
        """Return this shard's part of the gradient of x; keep the gradient of x W."""
        x, y = self.kept[micro_batch]
        inner = gradient[:, self.columns] * (1 - y**2)
        self.kept[micro_batch] = (x, inner)
        return inner @ self.weights.T

    def add_weights_gradient(self, micro_batch: int) -> None:
        """Add a micro-batch to the gradient of the weights, and forget it."""
        x, inner = self.kept.pop(micro_batch)
        self.gradient += x.T @ inner


def shard(layer: int, seed: int, rank: int = 0, ranks: int = 1) -> Shard:
    """Return the columns of a layer's weights that the device with some rank holds."""
    weights = _random(seed, 0, layer, 0).normal(0, 1 / np.sqrt(WIDTH), (WIDTH, WIDTH))
    columns = slice(WIDTH * rank // ranks, WIDTH * (rank + 1) // ranks)
    return Shard(weights[:, columns].copy(), columns)


def forward_input(layer: int, micro_batch: int, seed: int, inputs: Sequence[Array]) -> Array:
    """Return x: the sum of other layers' outputs, or the samples if it reads no layer."""
    if inputs:
        return _sum(inputs)
    return _random(seed, 1, layer, micro_batch).normal(size=(SAMPLES, WIDTH))


def backward_input(
    layer: int, micro_batch: int, seed: int, gradients: Sequence[Array], output: Array
) -> Array:
    """Return the gradient of the output: a sum, or the loss's if no layer reads it."""
    if gradients:
        return _sum(gradients)
    return output - _random(seed, 2, layer, micro_batch).normal(size=(SAMPLES, WIDTH))


def _sum(arrays: Sequence[Array]) -> Array:
    total = arrays[0]
    for array in arrays[1:]:
        total = total + array
    return total


def _random(*key: int) -> np.random.Generator:
    return np.random.default_rng(key)


@dataclass(frozen=True)
class Role:
    """The computation of a block.

    Attributes
    ----------
    forward
        The forward block whose layer it belongs to, itself if it is one.
    inputs
        Blocks whose results it adds up: outputs going forward, gradients going backward. None of
        them means that it reads the micro-batch, or the loss.
    computes_weights
        Whether it computes the gradient of the layer's weights.
    """

    kind: Kind
    forward: int
    inputs: tuple[int, ...]
    computes_weights: bool


def roles_of(layout: BlockLayout) -> tuple[Role, ...]:
    """Return the role of each block.

    Raises
    ------
    UnsupportedError
        If blocks do not pair up, or a backward block does not wait for a gradient that it needs.
    """
    forward_of, weight_of = forward_partners(layout), backward_partners(layout)
    _check_that_all_pair_up(layout, forward_of, weight_of)
    backward_of = {forward: backward for backward, forward in forward_of.items()}
    roles = []
    for i, block in enumerate(layout.blocks):
        producers = layout.dag.producers_of(i).tolist()
        if block.kind == "forward":
            inputs = [p for p in producers if layout.blocks[p].kind == "forward"]
            roles.append(Role("forward", i, tuple(inputs), False))
        elif block.kind == "backward":
            forward = forward_of[i]
            readers = layout.dag.consumers_of(forward).tolist()
            gradients = [backward_of[r] for r in readers if layout.blocks[r].kind == "forward"]
            for gradient in gradients:
                if gradient not in producers:
                    raise UnsupportedError(
                        f"block {block.name!r} does not wait for "
                        f"{layout.blocks[gradient].name!r}; expected that a backward block "
                        "waits for the gradients of all that read its forward block's result."
                    )
            roles.append(Role("backward", forward, tuple(gradients), i not in weight_of.values()))
        else:
            roles.append(Role("weight", forward_of[weight_of[i]], (), True))
    return tuple(roles)


def _check_that_all_pair_up(
    layout: BlockLayout, forward_of: dict[int, int], weight_of: dict[int, int]
) -> None:
    is_training = any(block.kind != "forward" for block in layout.blocks)
    paired = {*forward_of, *weight_of, *forward_of.values()}
    for i, block in enumerate(layout.blocks):
        if i not in paired and (is_training or block.kind != "forward"):
            wanted = {
                "forward": "backward block",
                "backward": "forward block",
                "weight": "backward block of its own",
            }
            raise UnsupportedError(
                f"block {block.name!r} has no {wanted[block.kind]} on the same devices; "
                "expected one."
            )
