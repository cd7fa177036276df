"""Tiny instances of `microbatch`."""

import itertools
from collections.abc import Iterator

from brute_force_microbatch import instances, layout, optimum, v_shape
from hypothesis import strategies as st
from large_numbers import multiplied

from boundmark.problems.microbatch import BlockLayout, MicrobatchInstance

# The methods use ortools, which the process of the tests cannot load beside highspy.
ELSEWHERE = True

# A schedule with the same period may be better in what the period leaves open.
REPEATS_OBJECTIVES = True

LARGER = MicrobatchInstance.of(v_shape(3), memory=2)


def tiny() -> list[tuple[MicrobatchInstance, int]]:
    """Return instances and their optimum, by trying all schedules."""
    return [(sample, optimum(sample)) for sample in _instances()]


def random_instances() -> st.SearchStrategy[MicrobatchInstance]:
    """Return random instances for `optimum`."""
    return instances((0, 1, 2, 3))


def _instances() -> Iterator[MicrobatchInstance]:
    """Yield layouts with much and little memory, for the period and 1 to 3 micro-batches."""
    for drawn, (memory, micro_batches) in itertools.product(
        _layouts(), itertools.product((1, 2), (0, 1, 2, 3))
    ):
        least = max(
            sum(max(0, block.memory) for block in drawn.blocks if device in block.devices)
            for device in range(drawn.devices)
        )
        yield MicrobatchInstance.of(
            drawn, memory=max(1, memory * least), micro_batches=micro_batches
        )


def _layouts() -> Iterator[BlockLayout]:
    """Yield shapes on two devices: V, M, two V's, a sharded block in the middle, inference.

    Then two rounds of stages, opposite pipelines, a split backward block, and two on one device.
    """
    yield v_shape()
    yield layout(
        [("S", 1, 0, (0, 1)), ("F", 1, 1, (0,)), ("F", 2, 1, (1,)), ("B", 2, -1, (1,)),
         ("B", 1, -1, (0,))],
        [(0, 1), (1, 2), (2, 3), (3, 4)],
        2,
    )  # fmt: skip
    yield layout(
        [("F", 1, 1, (0,)), ("B", 2, -1, (0,)), ("F", 1, 2, (1,)), ("B", 3, -2, (1,))],
        [(0, 1), (2, 3)],
        2,
    )
    yield layout(
        [("F", 1, 1, (0,)), ("F", 2, 1, (1,)), ("S", 1, 0, (0, 1)), ("B", 1, -1, (0,)),
         ("B", 1, -1, (1,))],
        [(0, 2), (1, 2), (2, 3), (2, 4)],
        2,
    )  # fmt: skip
    yield layout([("F", 2, 0, (0,)), ("F", 3, 0, (1,)), ("F", 1, 0, (0,))], [(0, 1), (1, 2)], 2)
    yield layout(
        [("F", 1, 0, (0,)), ("F", 2, 0, (1,)), ("F", 1, 0, (0,)), ("F", 1, 0, (1,))],
        [(0, 1), (1, 2), (2, 3)],
        2,
    )
    yield layout(
        [("F", 1, 0, (0,)), ("F", 2, 0, (1,)), ("F", 2, 0, (1,)), ("F", 1, 0, (0,))],
        [(0, 1), (2, 3)],
        2,
    )
    yield layout([("F", 1, 1, (0,)), ("B", 1, 0, (0,)), ("W", 2, -1, (0,))], [(0, 1), (1, 2)], 2)
    yield layout(
        [("F", 1, 1, (0,)), ("F", 1, 1, (0,)), ("B", 1, 0, (0,)), ("W", 1, -1, (0,)),
         ("B", 2, 0, (0,)), ("W", 1, -1, (0,))],
        [(0, 1), (1, 2), (2, 3), (0, 4), (2, 4), (4, 5)],
        1,
    )  # fmt: skip


def scaled(sample: MicrobatchInstance, best: int, factor: int) -> tuple[MicrobatchInstance, int]:
    """Return an instance with all ticks and all memory multiplied, and its optimum."""
    amounts = ("duration", "memory", "capacity")
    document = multiplied(sample.to_json(), amounts, factor)
    return MicrobatchInstance.from_json(document), best * factor
