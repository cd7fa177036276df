"""Tiny instances of each problem, with their optimum, for all methods of the problem."""

import itertools
from collections.abc import Iterator
from functools import cache

import brute_force
import brute_force_microbatch
from brute_force_microbatch import layout, v_shape

from boundmark.problems.microbatch import BlockLayout, MicrobatchInstance
from boundmark.problems.pipeline import PipelineInstance
from boundmark.problems.problem import Instance

# On these, methods have something to improve.
LARGER: dict[str, Instance] = {
    "pipeline": brute_force.instance(
        [3, 1, 4, 1, 5, 9, 2, 6], [(0, 3), (1, 3), (2, 4), (3, 5), (4, 6)], 3
    ),
    "microbatch": MicrobatchInstance.of(v_shape(3), memory=2),
}


@cache
def tiny(problem: str) -> list[tuple[Instance, int]]:
    """Return instances of a problem and their optimum."""
    if problem == "pipeline":
        return [(sample, brute_force.optimum(sample)) for sample in _pipeline()]
    return [(sample, brute_force_microbatch.optimum(sample)) for sample in _microbatch()]


def _pipeline() -> Iterator[PipelineInstance]:
    """Yield every DAG of up to five nodes with mixed weights, with and without overflow."""
    weights = [3, 1, 4, 1, 5]
    tensors = [2, 7, 1, 3, 2]
    params = [0, 6, 2, 0, 5]
    for nodes in range(1, 6):
        for number, edges in enumerate(brute_force.all_dags(nodes)):
            yield brute_force.instance(
                weights[:nodes],
                edges,
                k=1 + number % 4,
                transfer=tensors[:nodes],
                param_load=params[:nodes],
                cache=(100, 6)[number // 4 % 2],
            )


def _microbatch() -> Iterator[MicrobatchInstance]:
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

    Then two rounds of stages, opposite pipelines, and a split backward block.
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
