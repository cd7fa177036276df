"""Oracles for packings of sets in tiny graphs, written from the definitions alone."""

import itertools
from collections.abc import Iterable, Iterator

from brute_force import instance, stage_cost
from hypothesis import strategies as st

from boundmark.problems.pipeline import PipelineInstance


@st.composite
def tiny_graphs(draw: st.DrawFn, *, largest: int = 7, params: bool = True) -> PipelineInstance:
    """Draw tiny instances of one stage, with every cost term or without parameters."""
    n = draw(st.integers(1, largest))
    pairs = [(u, v) for u in range(n) for v in range(u + 1, n)]
    weights = st.lists(st.integers(0, 9), min_size=n, max_size=n)
    return instance(
        draw(weights),
        draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else [],
        1,
        transfer=draw(weights),
        param_load=draw(weights) if params else None,
        cache=draw(st.integers(0, 12)),
    )


def subsets(nodes: Iterable[int]) -> Iterator[frozenset[int]]:
    """Yield every subset with a node."""
    members = list(nodes)
    for size in range(1, len(members) + 1):
        for chosen in itertools.combinations(members, size):
            yield frozenset(chosen)


def tensors(sample: PipelineInstance) -> list[set[int]]:
    """Return producer and consumers of each tensor that is read."""
    dag = sample.graph.dag
    return [
        {u, *dag.consumers_of(u).tolist()} for u in range(dag.nodes) if len(dag.consumers_of(u))
    ]


def is_connected(sample: PipelineInstance, members: frozenset[int]) -> bool:
    """Whether one can walk through a set from tensor to tensor, at each of them from end to end."""
    reached = {min(members)}
    while True:
        more = {v for ends in tensors(sample) if ends & reached for v in ends & members}
        if more <= reached:
            return reached == members
        reached |= more


def descendants(sample: PipelineInstance, node: int) -> set[int]:
    """Return what depends on a node, at any distance."""
    below: set[int] = set()
    for w in sample.graph.dag.consumers_of(node).tolist():
        below |= {w} | descendants(sample, w)
    return below


def is_convex(sample: PipelineInstance, members: frozenset[int]) -> bool:
    """Whether no path leaves a set and comes back."""
    outside = set(range(sample.nodes)) - members
    return not any(
        v in descendants(sample, u) and descendants(sample, v) & members
        for u in members
        for v in outside
    )


def connected_convex_sets(sample: PipelineInstance) -> dict[frozenset[int], int]:
    """Return all of them, with what they cost as stages."""
    return {
        members: stage_cost(sample, set(members))
        for members in subsets(range(sample.nodes))
        if is_connected(sample, members) and is_convex(sample, members)
    }


def heaviest_packing(sets: dict[frozenset[int], int], weights: list[int], limit: int) -> int:
    """Return what sets weigh at most that cost no more than a limit together, repeated at will."""
    items = [
        (cost, sum(weights[v] for v in members)) for members, cost in sets.items() if cost <= limit
    ]
    best = [0] * (limit + 1)
    for room in range(1, limit + 1):
        best[room] = max([best[room - 1], *(best[room - c] + w for c, w in items if 0 < c <= room)])
    return best[limit]


def as_bits(members: Iterable[int]) -> int:
    """Return a set as the bits of an integer."""
    return sum(1 << v for v in members)
