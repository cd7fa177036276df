"""Tiny instances of `placement`."""

import math
from collections.abc import Iterator

import brute_force
from brute_force_placement import instance, live_instance, optimum
from hypothesis import strategies as st
from large_numbers import multiplied
from placement_strategies import instances

from boundmark.problems.placement import PlacementInstance

# They start threads, which tests that fork could not have.
ELSEWHERE = frozenset({"hsdag", "placeto", "rnn-seq2seq"})

LARGER = instance(
    [[4, 7, 9], [6, 3, 5], [8, 8, -1], [2, 9, 4], [5, 5, 5], [0, 0, 0], [7, 2, 6], [3, 3, 3]],
    [(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 5), (5, 6), (4, 7), (6, 7)],
    times=[[0, 1, 2, 2, 0, 1, 1, 1, 0], [0, 3, 1, 1, 0, 4, 2, 2, 0]],
    memory=[2, 1, 3, 1, 2, 0, 2, 1],
    capacity=[7, 7, 7],
)


# Tensors take memory while they are live, and without that the optimum would be less: 4, 4, 4, 4
# and 5.
LIVE = (
    live_instance([[2, 2], [1, 1], [1, 2]], [(0, 1), (0, 2)], tensors=[2], results=[1, 0, 0],
                  memory=[1, 1, 1], capacity=[4, 4], times=[[0, 2, 1, 0]]),
    live_instance([[1, 2], [2, 3], [1, 3]], [(0, 1), (1, 2)], tensors=[1, 2], results=[1, 1, 1],
                  memory=[0, 1, 1], capacity=[5, 4], times=[[0, 1, 1, 0]]),
    live_instance([[2, 3], [1, 3], [2, 3]], [(0, 2)], tensors=[3], results=[1, 0, 0],
                  memory=[1, 0, 0], capacity=[4, 6], times=[[0, 2, 2, 0]]),
    live_instance([[1, 3], [2, 3], [1, 1], [2, 1]], [(0, 3), (1, 3), (2, 3)], tensors=[2, 2, 1],
                  results=[1, 0, 1, 0], memory=[0, 0, 1, 0], capacity=[6, 4], times=[[0, 1, 2, 0]],
                  transfers="per-edge"),
    live_instance([[2, 3], [2, 3], [1, 3], [1, 3]], [(0, 1), (0, 2)], tensors=[3],
                  results=[0, 1, 0, 0], memory=[1, 0, 1, 0], capacity=[3, 6],
                  times=[[0, 1, 1, 0]]),
)  # fmt: skip


def tiny() -> list[tuple[PlacementInstance, int]]:
    """Return instances and their optimum, by trying all placements and all orders."""
    found = [(sample, optimum(sample)) for sample in _instances()]
    return [(sample, int(best)) for sample, best in found if best < math.inf]


def random_instances() -> st.SearchStrategy[PlacementInstance]:
    """Return random instances for `optimum`."""
    return instances(most_nodes=5, is_scarce=True)


def _instances() -> Iterator[PlacementInstance]:
    """Yield every DAG of up to four operators, with all kinds of costs in turn.

    Cheap, expensive and no transfers, scarce memory, operators that take no time or are not
    supported everywhere, three devices, and transfers for each edge.
    """
    slow = [[4, 2], [3, 5], [2, 2], [6, 1]]
    mixed = [[2, -1], [0, 0], [-1, 3], [4, 4]]
    wide = [[3, 4, 5], [2, 2, 2], [5, 1, 3], [4, 6, 2]]
    for nodes in range(1, 5):
        for number, edges in enumerate(brute_force.all_dags(nodes)):
            transfers = ("per-tensor", "per-edge")[number // 2 % 2]
            yield instance(
                (slow, mixed)[number % 2][:nodes],
                edges,
                times=([[0, 1, 2, 0]], [[0, 9, 7, 0], [0, 1, 1, 0]], [[0, 0, 3, 0]])[number % 3],
                memory=[2, 1, 1, 2][:nodes],
                capacity=((9, 9), (3, 4))[number // 5 % 2],
                transfers=transfers,
            )
            if nodes == 3:
                yield instance(wide[:nodes], edges, transfers=transfers)
    yield from LIVE


def scaled(sample: PlacementInstance, best: int, factor: int) -> tuple[PlacementInstance, int]:
    """Return an instance with all ticks and all memory multiplied, and its optimum.

    Durations of -1 remain: the device does not support the operator.
    """
    amounts = ("duration", "times", "memory", "capacity", "tensor_memory", "result_memory")
    document = multiplied(sample.to_json(), amounts, factor)
    return PlacementInstance.from_json(document), best * factor
