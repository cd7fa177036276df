"""What the first stages of pipelines weigh, by enumeration, written from the definitions alone."""

import itertools
from collections.abc import Iterator, Sequence

import brute_force

from boundmark.problems.pipeline import PipelineInstance


def pipelines(instance: PipelineInstance, threshold: int) -> Iterator[tuple[int, ...]]:
    """Yield all partitions into k numbered stages, empty ones among them, of limited cost."""
    edges = list(zip(instance.graph.dag.sources, instance.graph.dag.targets, strict=True))
    for assignment in itertools.product(range(instance.k), repeat=instance.nodes):
        flows = all(assignment[u] <= assignment[v] for u, v in edges)
        if flows and brute_force.cost(instance, assignment) <= threshold:
            yield assignment


def prefix_weights(weights: Sequence[int], assignment: Sequence[int], k: int) -> list[int]:
    """Return what the first s stages weigh, for s from 0 to k."""
    return [
        sum(weight for weight, stage in zip(weights, assignment, strict=True) if stage < s)
        for s in range(k + 1)
    ]


def down_sets(instance: PipelineInstance) -> list[frozenset[int]]:
    """Return all sets of nodes with all their producers."""
    edges = list(zip(instance.graph.dag.sources, instance.graph.dag.targets, strict=True))
    subsets = itertools.chain.from_iterable(
        itertools.combinations(range(instance.nodes), size) for size in range(instance.nodes + 1)
    )
    return [
        frozenset(members)
        for members in subsets
        if all(u in members for u, v in edges if v in members)
    ]


def stages(
    instance: PipelineInstance, threshold: int
) -> Iterator[tuple[frozenset[int], frozenset[int]]]:
    """Yield pairs of down-sets, I in K, such that the stage K - I costs at most the threshold."""
    sets = down_sets(instance)
    for before, after in itertools.product(sets, repeat=2):
        if before <= after and brute_force.stage_cost(instance, set(after - before)) <= threshold:
            yield before, after
