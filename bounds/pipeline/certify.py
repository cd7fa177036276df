"""`certify`: `separation`, then the exact method for narrow graphs, then what suits the graph.

That is `node-cut`, `pivot-tree` and then `reach` where tensors wait for long, as in training. It
is `reach` for long graphs in general, as models are; `share` comes after it, because its cuts take
seconds on a thousand nodes, where `ideal-dp` often has the optimum in a tenth of one. Wide graphs
begin with `share`. With few stages `mip-tree` follows: each of its programs has all stages in it.
With more stages it is `packing`. Trees get the time that these leave when they end by themselves.
Only what is better than everything before is reported, and nothing is begun once the best bound is
the cost of the best partition, or of one that is known.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import TypeAlias

import numpy as np

from boundmark.bounds.best import Best
from boundmark.bounds.pipeline import ideal_dp, node_cut, pivot_tree, separation, share, work
from boundmark.bounds.pipeline.packing import method as packing
from boundmark.bounds.pipeline.reach import method as reach
from boundmark.bounds.pipeline.tree import methods as trees
from boundmark.problems.dag import Dag
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import PipelineInstance

Run: TypeAlias = Callable[[PipelineInstance, Budget, int, Progress], None]

# Of the time, at most, for the dynamic program: where it applies, it usually takes far less.
IDEALS_FRACTION = 0.5

# In units of the mean work: with a bound of `separation` above this, tensors wait for long, and
# `pivot-tree` says what that costs at least, in so much of the time.
SEPARATED = 1.05
PIVOT_FRACTION = 0.85

# Nodes per node of a longest path: models have 1 to 4, random graphs ten and more.
WIDEST_LONG_GRAPH = 6

# Above this, a tree that looks at one stage proves more in half a minute than one with all stages.
MOST_STAGES_FOR_ALL = 3

LONG_GRAPH: tuple[Run, ...] = (
    reach.run,
    share.run,
    trees.run_bottleneck_tree,
    trees.run_mip_tree,
)
FEW_STAGES: tuple[Run, ...] = (share.run, trees.run_mip_tree)
MANY_STAGES: tuple[Run, ...] = (
    share.run,
    packing.run,
    trees.run_bottleneck_tree,
    trees.run_mip_tree,
)

# Of the time, at least, for another method: one that was stopped by the clock leaves less.
ANOTHER_FRACTION = 0.1


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
    # What is only claimed is not what this method is for.
    best = Best(instance, progress, passes_claims=False)
    if known_cost:
        best.objective = known_cost
    work.run_mean_work(instance, budget, seed, best)
    mean = best.certified
    with suppress(UnsupportedError):
        separation.run(instance, budget, seed, best)
    is_separated = best.certified > SEPARATED * mean
    # Too many down-sets, or a graph beyond the checker's limits: what came before stands.
    with suppress(UnsupportedError):
        ideal_dp.run(instance, budget.part(IDEALS_FRACTION), seed, best, ideals=ideals)
    if is_separated and not best.is_proven and _is_long(instance.graph.dag):
        # In many stages, the stage of one node may be all there is to say, and takes no time.
        node_cut.run(instance, budget, seed, best)
        with suppress(UnsupportedError):
            pivot_tree.run(instance, budget.part(PIVOT_FRACTION), seed, best)
    for position, method in enumerate(_methods(instance)):
        is_late = budget.remaining() < ANOTHER_FRACTION * budget.wall_seconds
        if best.is_proven or (position > 0 and is_late):
            break
        with suppress(UnsupportedError):
            method(instance, budget.part(1.0), seed, best)


def _methods(instance: PipelineInstance) -> tuple[Run, ...]:
    if _is_long(instance.graph.dag):
        return LONG_GRAPH
    return FEW_STAGES if instance.k <= MOST_STAGES_FOR_ALL else MANY_STAGES


def _is_long(dag: Dag) -> bool:
    """Whether a longest path has a good part of the nodes."""
    depth = np.ones(dag.nodes, dtype=np.int64)
    consumers: list[list[int]] = [[] for _ in range(dag.nodes)]
    for u, v in dag.edge_pairs().tolist():
        consumers[u].append(v)
    for u in dag.topological_order.tolist():
        for v in consumers[u]:
            depth[v] = max(depth[v], depth[u] + 1)
    return bool(dag.nodes <= WIDEST_LONG_GRAPH * depth.max())
