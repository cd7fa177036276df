import numpy as np
import pytest

from boundmark.benchmarks.microbatch.network import (
    Array,
    Shard,
    backward_input,
    forward_input,
    shard,
)

SEED = 5


def loss(first: Array, second: Array, micro_batch: int) -> float:
    """Return half the squared distance from the target behind layers 0 and 1."""
    hidden = np.tanh(forward_input(0, micro_batch, SEED, []) @ first)
    # The gradient of the loss is what is missing to the target.
    missing = backward_input(1, micro_batch, SEED, [], np.tanh(hidden @ second))
    return float(np.sum(missing**2)) / 2


def backpropagated(first: Shard, second: Shard, micro_batch: int) -> None:
    """Run both layers forward and backward."""
    hidden = first.forward(micro_batch, forward_input(0, micro_batch, SEED, []))
    output = second.forward(micro_batch, forward_input(1, micro_batch, SEED, [hidden]))
    inner = second.backward(micro_batch, backward_input(1, micro_batch, SEED, [], output))
    first.backward(micro_batch, backward_input(0, micro_batch, SEED, [inner], hidden))
    for layer in (first, second):
        layer.add_weights_gradient(micro_batch)


@pytest.mark.parametrize("entry", [(0, 0), (3, 7), (11, 2)])
def test_gradients_are_slopes(entry: tuple[int, int]) -> None:
    """A little more weight changes the loss of two micro-batches by gradient times as much."""
    first, second = shard(0, SEED), shard(1, SEED)
    for number in (0, 1):
        backpropagated(first, second, number)
    step = np.zeros_like(first.weights)
    step[entry] = 1e-6
    for layer, (up, down) in (
        (first, ((step, 0), (-step, 0))),
        (second, ((0, step), (0, -step))),
    ):
        slope = (
            sum(
                loss(first.weights + up[0], second.weights + up[1], number)
                - loss(first.weights + down[0], second.weights + down[1], number)
                for number in (0, 1)
            )
            / 2e-6
        )
        assert layer.gradient[entry] == pytest.approx(slope, rel=1e-5)


def test_shards_are_columns() -> None:
    """The shards of all ranks make up the whole layer, also if they differ in width."""
    parts = [shard(3, SEED, rank, 5).weights for rank in range(5)]
    assert np.array_equal(np.concatenate(parts, axis=1), shard(3, SEED).weights)


def test_nothing_is_kept_after_the_backward_pass() -> None:
    """What a micro-batch needed is forgotten with it."""
    first, second = shard(0, SEED), shard(1, SEED)
    backpropagated(first, second, 0)
    assert not first.kept
    assert not second.kept
