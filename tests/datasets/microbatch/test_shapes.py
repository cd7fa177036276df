import pytest

from boundmark.datasets.microbatch import shapes
from boundmark.datasets.microbatch.shapes import SHAPES, Costs
from boundmark.problems.errors import InvalidInputError, UnknownNameError
from boundmark.problems.microbatch import MicrobatchInstance

# Ticks of one micro-batch on each of 4 devices: forward 1, backward 3, sharded blocks 1 each.
LOADS = {
    "v": (4, 1),
    "x": (8, 2),
    "m": (6, 2),
    "nn": (8, 3),
    "k": (6, 2),
    "nn_eager": (8, 3),
    "multi_modal": (6, 2),
    "interleaved": (8, 2),
    "split": (4, 1),
    "zb_v": (8, 2),
}


@pytest.mark.parametrize("member", shapes.members())
def test_members_load(member: str) -> None:
    """Every listed name loads, and fits into the default memory."""
    layout = shapes.load(member)
    assert layout.devices == int(member.split("-")[1])
    assert MicrobatchInstance.of(layout).capacity == (2 * layout.devices,) * layout.devices


@pytest.mark.parametrize("shape", SHAPES)
def test_every_device_has_the_same_load(shape: str) -> None:
    """Shapes are balanced, so that schedules without bubbles are possible."""
    train, infer = LOADS[shape]
    assert shapes.load(f"{shape}-4-train").loads == (train,) * 4
    assert shapes.load(f"{shape}-4-infer").loads == (infer,) * 4


def test_costs_are_part_of_the_name() -> None:
    """Forward, backward and activation are what the name says."""
    layout = shapes.load("v-3-train-f2-b5-a7")
    assert layout.loads == (7, 7, 7)
    assert [block.memory for block in layout.blocks] == [7] * 3 + [-7] * 3
    assert [block.name for block in layout.blocks] == ["F0", "F1", "F2", "B2", "B1", "B0"]


def test_inference_keeps_nothing() -> None:
    """No block allocates and nothing goes backward."""
    blocks = shapes.load("nn-4-infer").blocks
    assert all(block.memory == 0 and block.kind == "forward" for block in blocks)


@pytest.mark.parametrize(
    ("member", "error", "reason"),
    [
        ("v", UnknownNameError, "there is no layout 'v'; expected SHAPE-DEVICES-train"),
        ("v-4", UnknownNameError, "there is no layout"),
        ("v-0-train", UnknownNameError, "there is no layout"),
        ("v-4-both", UnknownNameError, "there is no layout"),
        ("v-4-train-b0", UnknownNameError, "there is no layout"),
        ("w-4-train", UnknownNameError, "no shape 'w'"),
        ("nn-1-train", InvalidInputError, "an NN-shape has 1 device; expected at least 2"),
        ("k-1-train", InvalidInputError, "2 branches are on 1 devices; expected a device for each"),
        ("multi_modal-2-train", InvalidInputError, "3 branches are on 2 devices"),
        ("split-4-train-f3", InvalidInputError, "backward blocks take 3; expected more than forwa"),
    ],
)
def test_bad_names(member: str, error: type[Exception], reason: str) -> None:
    """What cannot be drawn is refused, with what was expected."""
    with pytest.raises(error, match=reason):
        shapes.load(member)


def test_cost_defaults() -> None:
    """A backward block takes three forward ones, as with recomputation."""
    assert Costs() == Costs(forward=1, backward=3, activation=1, is_training=True)
