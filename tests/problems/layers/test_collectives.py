"""Times of collective operations, against the published formulas and step by step."""

import pytest

from boundmark.problems.devices import Link
from boundmark.problems.layers.collectives import Ranks, all_reduce, all_to_all, reduce_scatter

INNER, OUTER = Link(400e9, 3e-6, "made up"), Link(50e9, 9e-6, "made up")


@pytest.mark.parametrize("ranks", [1, 2, 8])
def test_rings_in_a_host(ranks: int) -> None:
    """As nccl-tests has them: 2 (n - 1) / n of the bytes in an all-reduce, half in its parts."""
    size = 1e9
    steps = ranks - 1
    whole = 2 * steps * 3e-6 + 2 * steps / ranks * size / 400e9
    assert all_reduce(size, Ranks(ranks, 1, INNER)) == pytest.approx(whole)
    assert reduce_scatter(size, ranks, INNER) == pytest.approx(whole / 2)
    assert all_to_all(size, Ranks(ranks, 1, INNER)) == pytest.approx(whole / 2)


def test_a_ring_step_by_step() -> None:
    """In each step every device sends one part to the next, until each part is summed up."""
    ranks, parts = 5, [[{rank} for _ in range(5)] for rank in range(5)]
    seconds = 0.0
    for step in range(ranks - 1):
        sent = [parts[rank][(rank - step) % ranks] for rank in range(ranks)]
        for rank in range(ranks):
            parts[(rank + 1) % ranks][(rank - step) % ranks] |= sent[rank]
        seconds += 3e-6 + 1e9 / ranks / 400e9
    assert all(len(parts[rank][(rank + 1) % ranks]) == ranks for rank in range(ranks))
    assert seconds == pytest.approx(reduce_scatter(1e9, ranks, INNER))


def test_several_hosts() -> None:
    """An all-reduce has three phases; an exchange uses both links at the same time."""
    ranks = Ranks(8, 4, INNER, OUTER)
    inside = 2 * (7 * 3e-6 + 7 / 8 * 1e9 / 400e9)
    between = 2 * (3 * 9e-6 + 3 / 4 * 1e9 / 8 / 50e9)
    assert all_reduce(1e9, ranks) == pytest.approx(inside + between)
    # 24 of 32 parts go to other hosts.
    assert all_to_all(1e9, ranks) == pytest.approx(24 * (9e-6 + 1e9 / 32 / 50e9))
    assert all_to_all(1e9, Ranks(31, 2, Link(1e9, 0, "slow"), OUTER)) == pytest.approx(
        30 * 1e9 / 62 / 1e9
    )
    assert all_reduce(1e9, Ranks(1, 4, None, OUTER)) == pytest.approx(2 * (3 * 9e-6 + 0.75 / 50))
