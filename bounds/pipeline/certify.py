"""`certify`: the bounds that suit a graph, one after the other, each for a part of the time.

Only what is better than everything before is reported, and nothing is begun once the best bound is
the cost of the best partition, or of one that is known.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, partial
from typing import TypeAlias

from boundmark.bounds.best import Best
from boundmark.bounds.pipeline.downsets import ideal_dp, two_branch_dp
from boundmark.bounds.pipeline.flows import fractional_load
from boundmark.bounds.pipeline.flows.fractional_load import GrowingTable, ShareTable
from boundmark.bounds.pipeline.paper import work
from boundmark.bounds.pipeline.prefixes import mip_tree, prefix_bound
from boundmark.bounds.pipeline.quick_partition import start_from_quick_partition
from boundmark.bounds.pipeline.weights import cut_tree, packing
from boundmark.bounds.pipeline.weights.set_weights import SharedWeights
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.graph_statistics import depth
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import Partition, PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph

# Mean number of nodes of a stage below which `packing` proves more than `cut-tree`.
SMALL_STAGES = 16

# A bound, and the part that it gets of the time that is left.
Step: TypeAlias = tuple[Callable[..., None], float]


def run(
    instance: PipelineInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    *,
    ideals: int,
    known_cost: int,
) -> None:
    """Report certificates, and partitions where they are found on the way."""
    # This method reports certificates only.
    best = Best(instance, progress, passes_claims=False)
    if known_cost:
        best.objective = known_cost
    # These take hardly any time where they do not apply, and otherwise often have the optimum.
    narrow: list[Step] = [
        (work.run_mean_work, 1.0),
        (partial(ideal_dp.run, ideals=ideals), 0.5),
        (two_branch_dp.run, 0.8),
    ]
    _run_in_turn(narrow, instance, budget, seed, best)
    if not (best.is_proven or budget.is_spent()):
        start = start_from_quick_partition(instance, seed, budget, best)
        _run_in_turn(_steps(instance, start), instance, budget, seed, best)


def _steps(instance: PipelineInstance, start: Partition | None) -> list[Step]:
    """Return the bounds that suit a graph with many down-sets, in turn."""
    growing = cache(GrowingTable)

    def tables(graph: PipelineGraph, budget: Budget) -> ShareTable:
        return growing(graph).until(budget)

    shared = SharedWeights(start)
    shares = partial(fractional_load.run, tables=tables)
    packings = partial(packing.run, tables=tables, shared=shared)
    cuts = partial(cut_tree.run, tables=tables, shared=shared)
    tree = partial(mip_tree.run, tables=tables)
    # Models have 1 to 3 nodes for each node of a longest path, random graphs 5 and more.
    if instance.nodes <= 4 * depth(instance.graph.dag):
        return [(prefix_bound.run, 0.7), (shares, 0.3), (tree, 1.0)]
    if instance.k <= 3:
        return [(shares, 0.3), (tree, 0.6), (cuts, 1.0)]
    if instance.nodes < SMALL_STAGES * instance.k:
        return [(shares, 0.3), (packings, 0.6), (cuts, 1.0), (tree, 1.0)]
    return [(shares, 0.3), (cuts, 0.9), (tree, 1.0)]


def _run_in_turn(
    steps: Sequence[Step], instance: PipelineInstance, budget: Budget, seed: int, best: Best
) -> None:
    for bound, part in steps:
        if best.is_proven or budget.is_spent():
            return
        # A method may refuse the graph: too many down-sets, or beyond the checker's limits.
        with suppress(UnsupportedError):
            bound(instance, budget.part(part), seed, best)
