import numpy as np
import pytest
from layouts import shape

from boundmark.benchmarks.microbatch.network import (
    Array,
    Role,
    Shard,
    backward_input,
    forward_input,
    roles_of,
    shard,
)
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.microbatch import Block, BlockLayout

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


def names(name: str) -> dict[str, tuple[str, set[str]]]:
    """Return for each block the block of its layer and its inputs, by name."""
    layout = shape(name).layout
    return {
        block.name: (
            layout.blocks[role.forward].name,
            {layout.blocks[i].name for i in role.inputs},
        )
        for block, role in zip(layout.blocks, roles_of(layout), strict=True)
    }


def test_backward_blocks_mirror_forward_blocks() -> None:
    """In an NN-shape, shared blocks pair up from the outside in."""
    found = names("nn-4-train")
    assert found["SF"] == ("SF", set())
    assert found["TF"] == ("TF", {"F1"})
    assert found["TB"] == ("TF", {"B2"})
    assert found["B3"] == ("F3", set())
    assert found["B1"] == ("F1", {"TB"})
    assert found["SB"] == ("SF", {"B0"})


def test_opposite_pipelines_stay_apart() -> None:
    """Where a device has two stages, dependencies tell which blocks belong together."""
    found = names("x-4-train")
    assert found["Ba1"] == ("Fa1", {"Ba2"})
    assert found["Bb1"] == ("Fb1", {"Bb2"})


def test_joined_branches_add_up() -> None:
    """The joint block of a K-shape reads both branches, and both get its gradient."""
    found = names("k-4-train")
    assert found["SF"] == ("SF", {"Fa1", "Fb3"})
    assert found["Ba1"] == ("Fa1", {"SB"})
    assert found["Bb3"] == ("Fb3", {"SB"})


def test_split_backward_blocks() -> None:
    """Blocks of kind weight take over the gradients of the weights."""
    layout = shape("split-2-train").layout
    kinds = [(block.name, role.computes_weights) for block, role in
             zip(layout.blocks, roles_of(layout), strict=True)]  # fmt: skip
    assert dict(kinds) == {"F0": False, "F1": False, "B1": False, "W1": True,
                           "B0": False, "W0": True}  # fmt: skip
    assert Role("weight", 0, (), True) in roles_of(layout)


def layout_of(*blocks: tuple[str, str, int], edges: list[tuple[int, int]]) -> BlockLayout:
    """Return a layout of blocks given by name, kind and device."""
    built = [Block(name, kind, 1, 0, (device,)) for name, kind, device in blocks]  # type: ignore[arg-type]
    return BlockLayout.from_blocks(built, edges, 2)


@pytest.mark.parametrize(
    ("layout", "text"),
    [
        (
            layout_of(("F", "forward", 0), ("B", "backward", 1), edges=[(0, 1)]),
            "'F' has no backward block on the same devices",
        ),
        (
            layout_of(
                ("F", "forward", 0), ("G", "forward", 0), ("B", "backward", 0),
                edges=[(0, 1), (0, 2)],
            ),
            "'G' has no backward block on the same devices",
        ),
        (
            layout_of(
                ("F", "forward", 0), ("B", "backward", 0), ("W", "weight", 0),
                edges=[(0, 1), (0, 2)],
            ),
            "'W' has no backward block of its own",
        ),
        (
            layout_of(
                ("F", "forward", 0), ("G", "forward", 1), ("C", "backward", 1),
                ("B", "backward", 0), edges=[(0, 1), (1, 2), (0, 3)],
            ),
            "'B' does not wait for 'C'",
        ),
    ],
)  # fmt: skip
def test_layouts_without_a_network(layout: BlockLayout, text: str) -> None:
    """What cannot be trained is refused in a sentence."""
    with pytest.raises(UnsupportedError, match=text):
        roles_of(layout)
