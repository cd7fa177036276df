from layouts import shape

from boundmark.problems.microbatch import Block, BlockLayout
from boundmark.problems.microbatch.layout import backward_partners, forward_partners


def test_dependencies_tell_partners() -> None:
    """Opposite pipelines share devices, but no blocks."""
    layout = shape("x-4-train").layout
    names = [block.name for block in layout.blocks]
    pairs = {names[i]: names[p] for i, p in forward_partners(layout).items()}
    assert pairs == {f"B{stage}": f"F{stage}" for stage in [n[1:] for n in names if n[0] == "B"]}


def test_the_rest_pairs_up_from_the_outside_in() -> None:
    """Blocks on all devices that do not depend on each other directly are mirror images."""
    layout = shape("nn-4-train").layout
    names = [block.name for block in layout.blocks]
    pairs = {names[i]: names[p] for i, p in forward_partners(layout).items()}
    assert pairs["SB"] == "SF"
    assert pairs["TB"] == "TF"


def test_weight_blocks_follow_their_backward_blocks() -> None:
    """Each block of kind weight has the backward block of its stage."""
    layout = shape("split-3-train").layout
    names = [block.name for block in layout.blocks]
    pairs = {names[i]: names[p] for i, p in backward_partners(layout).items()}
    assert pairs == {"W0": "B0", "W1": "B1", "W2": "B2"}


def test_what_has_no_partner_is_left_out() -> None:
    """A backward block elsewhere, and a weight block without a backward one, stay alone."""
    blocks = [
        Block("F", "forward", 1, 0, (0,)),
        Block("B", "backward", 1, 0, (1,)),
        Block("W", "weight", 1, 0, (0,)),
    ]
    layout = BlockLayout.from_blocks(blocks, [(0, 1), (0, 2)], 2)
    assert forward_partners(layout) == {}
    assert backward_partners(layout) == {}
