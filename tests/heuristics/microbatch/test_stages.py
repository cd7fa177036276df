import numpy as np
import pytest
from layouts import shape

from boundmark.heuristics.microbatch.pattern import find_earliest_starts
from boundmark.heuristics.microbatch.stages import has_chain, merge_orders
from boundmark.problems.errors import UnsupportedError

# Blocks of m-2-train.
SF, F0, F1, B1, B0, SB = range(6)
M2 = shape("m-2-train").layout


def test_shared_blocks_come_next_to_their_neighbours() -> None:
    """The first block comes when its reader is next; the last one as soon as it can."""
    own = [[(F0, 0), (F0, 1), (B0, 0), (B0, 1)], [(F1, 0), (B1, 0), (F1, 1), (B1, 1)]]
    orders, starts = merge_orders(M2, [own], 2)
    assert orders[0] == [
        (SF, 0), (F0, 0), (SF, 1), (F0, 1), (B0, 0), (SB, 0), (B0, 1), (SB, 1)
    ]  # fmt: skip
    assert orders[1][:4] == [(SF, 0), (SF, 1), (F1, 0), (B1, 0)]
    assert np.array_equal(starts, find_earliest_starts(M2, orders, 2))


def test_backward_blocks_go_first() -> None:
    """Where two pipelines meet on a device, backward blocks do not wait for forward ones."""
    layout = shape("x-2-train").layout
    first, second = range(4), range(4, 8)
    parts = [
        [[(block, number) for number in range(2) for block in part
          if device in layout.blocks[block].devices] for device in range(2)]
        for part in (first, second)
    ]  # fmt: skip
    orders, starts = merge_orders(layout, parts, 2)
    assert np.array_equal(starts, find_earliest_starts(layout, orders, 2))
    names = [layout.blocks[block].name for block, _ in orders[0]]
    assert names[:4] == ["Fa0", "Fb1", "Bb1", "Ba0"]


def test_deadlock_is_refused() -> None:
    """Orders that cannot be are not simulated for ever."""
    own = [[(B0, 0), (F0, 0)], [(F1, 0), (B1, 0)]]
    with pytest.raises(UnsupportedError, match="wait for each other"):
        merge_orders(M2, [own], 1)


def test_chains_lead_through_shared_blocks() -> None:
    """In an NN-shape, stages follow each other through shared blocks; in a K-shape they do not."""
    nn = shape("nn-4-train").layout
    stages = [i for i, block in enumerate(nn.blocks) if block.name in ("F0", "F1", "F2", "F3")]
    assert has_chain(nn, stages)
    k = shape("k-4-train").layout
    branches = [i for i, block in enumerate(k.blocks) if block.name.startswith("F")]
    assert not has_chain(k, branches)
