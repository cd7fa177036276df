from brute_force_placement import instance

from boundmark.bounds.placement.programs.windows import (
    best_durations,
    heads_and_tails,
    longest_schedule,
)

SAMPLE = instance(
    [[4, 3], [2, -1], [9, 5], [1, 1]], [(0, 1), (0, 2), (1, 3), (2, 3)],
    times=[[0, 2, 7, 0]], memory=[1, 1, 5, 1], capacity=[9, 4],
)  # fmt: skip


def test_windows_by_hand() -> None:
    """Best durations on devices with room, before and after each operator."""
    assert best_durations(SAMPLE.graph).tolist() == [3, 2, 9, 1]
    head, tail = heads_and_tails(SAMPLE.graph)
    assert head.tolist() == [0, 3, 3, 12]
    assert tail.tolist() == [10, 1, 1, 0]


def test_longest_schedule() -> None:
    """All on the worst devices, and every consumer's transfer on the worst way."""
    assert longest_schedule(SAMPLE.graph) == 4 + 2 + 9 + 1 + 4 * 7
