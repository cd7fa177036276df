"""Tiny instances of `slicing`."""

import math
from collections.abc import Iterator

from brute_force_slicing import HALO, SAME, instance, needs, needs_all, optimum
from hypothesis import strategies as st
from large_numbers import multiplied
from random_slicing import instances

from boundmark.problems.slicing import SlicingInstance

LARGER = instance(
    [12, 12, 16, 16, 6, 12, 5, 1],
    [[90] * 3, [40] * 3, [70] * 3, [5] * 3, [60] * 3, [30] * 3, [80] * 3, [2] * 3],
    [
        needs(0, 1, 12, HALO, 2),
        needs(1, 2, 16, SAME),
        needs_all(2, 3, 16),
        needs(1, 4, 12, (2, -1, 3, 1, 1)),
        needs(0, 5, 12),
        needs(1, 5, 12),
        needs_all(4, 6, 6, 2),
        needs(3, 6, 16, (4, 0, 3, 1, 1)),
        needs_all(6, 7, 5),
    ],
    axis=[1, 1, 0, 0, 1, 1, 0, 0],
    launch=[1, 1, 1],
    weights=[2, 3, 40, 10, 3, 0, 60, 0],
    output=[2, 2, 1, 1, 12, 1, 1, 1],
    capacity=[260, 210, 210],
)


def tiny() -> list[tuple[SlicingInstance, int]]:
    """Return instances and their optimum, by trying all partition vectors."""
    found = [(sample, optimum(sample)) for sample in _instances()]
    return [(sample, int(best)) for sample, best in found if best < math.inf]


def random_instances() -> st.SearchStrategy[SlicingInstance]:
    """Return random instances for `optimum`."""
    return instances(length=3, capacity=(30, 60, 1000))


def _instances() -> Iterator[SlicingInstance]:
    """Yield one to four operators with all kinds of edges and costs in turn.

    Slow and fast routers, a delay, halos, strides, groups of channels, dimensions that cross,
    broadcasts, lengths below the number of devices, devices of different speeds, scarce memory,
    operators without work, operators that read three tensors.
    """
    slow, fast, late = {"point_to_point": (3, 1)}, {"point_to_point": (1, 4)}, {"delay": 2}
    windows = (SAME, HALO, (1, 0, 2, 1, 1), (1, 0, 1, 2, 2))
    for number, router in enumerate((slow, fast, late, {"broadcast": (2, 1)})):
        window = windows[number]
        yield instance([4], [[9, 9]], **router)
        yield instance([4, 4], [[8, 8], [9, 9]], [needs(0, 1, 4, window)], **router)
        yield instance([5, 4], [[8, 5], [9, 6]], [needs_all(0, 1, 5)], launch=[1, 2], **router)
        yield instance(
            [4, 3, 4], [[8, 8], [7, 7], [9, 9]],
            [needs(0, 1, 3, window), needs(1, 2, 4)], axis=[0, 1, 0], **router,
        )  # fmt: skip
        yield instance(
            [3, 3, 3, 3], [[4, 4], [9, 9], [7, 7], [0, 0]],
            [needs(0, 1, 3, HALO), needs(0, 2, 3), needs(1, 3, 3), needs(2, 3, 3)], **router,
        )  # fmt: skip
        yield instance(
            [2, 4, 3], [[6, 3, 3], [12, 6, 6], [9, 5, 4]],
            [needs(0, 1, 2, (1, 0, 1, 2, 1)), needs_all(1, 2, 4, 2)], axis=[1, 1, 0], **router,
        )  # fmt: skip
        yield instance(
            [2, 2, 2, 3], [[5, 6], [6, 5], [7, 7], [9, 9]],
            [needs(0, 3, 2, (1, 0, 1, 1, 1)), needs(1, 3, 2), needs_all(2, 3, 2)], **router,
        )  # fmt: skip
        yield instance(
            [4, 4], [[20, 8], [20, 8]], [needs(0, 1, 4, HALO)],
            weights=[2, 3], output=[2, 1], capacity=[12, 11], **router,
        )  # fmt: skip
    yield instance([1, 4], [[3, 3, 3], [9, 9, 9]], [needs(0, 1, 1, (0, 0, 1, 1, 1))])
    yield instance([3, 3], [[0, 4], [7, 0]], [needs(0, 1, 3)], launch=[1, 1])
    yield instance([3, 2], [[5], [4]], [needs_all(0, 1, 3)])


def scaled(sample: SlicingInstance, best: int, factor: int) -> tuple[SlicingInstance, int]:
    """Return an instance with all ticks of devices and their memory multiplied, and its optimum.

    Tensors keep their sizes, so all vectors are tried again.
    """
    amounts = ("work", "launch", "delay", "weights", "output", "capacity")
    large = SlicingInstance.from_json(multiplied(sample.to_json(), amounts, factor))
    return large, int(optimum(large))
