"""`certify`: the best certificate in the time given, by the methods that suit the graph and k.

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
from dataclasses import dataclass
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


@dataclass(frozen=True)
class CertifySettings:
    """Settings of `certify`: which methods run, and for how long.

    Attributes
    ----------
    ideals_fraction
        Part of the time for `ideal-dp`, at most: where it applies, it usually takes far less.
    separated, pivot_fraction
        If `separation` proves more than this multiple of the mean work, tensors wait for long, as
        in training, and `pivot-tree` gets a part of the remaining time.
    widest_long_graph
        A graph is long if it has at most so many nodes for each node of a longest path: models
        have 1 to 4, random graphs ten and more.
    most_stages_for_all
        Number of stages up to which `mip-tree` comes first; with more, a tree that looks at one
        stage proves more in half a minute.
    another_fraction
        Part of the time that has to be left for another method to begin.
    """

    ideals_fraction: float = 0.5
    separated: float = 1.05
    pivot_fraction: float = 0.85
    widest_long_graph: int = 6
    most_stages_for_all: int = 3
    another_fraction: float = 0.1


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


def run(
    instance: PipelineInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    *,
    ideals: int,
    known_cost: int,
    settings: CertifySettings = CertifySettings(),
) -> None:
    """Report certificates, and partitions where they are found on the way."""
    # This method reports certificates only.
    best = Best(instance, progress, passes_claims=False)
    if known_cost:
        best.objective = known_cost
    work.run_mean_work(instance, budget, seed, best)
    mean = best.certified
    with suppress(UnsupportedError):
        separation.run(instance, budget, seed, best)
    is_separated = best.certified > settings.separated * mean
    # A method may refuse the graph: too many down-sets, or beyond the checker's limits.
    with suppress(UnsupportedError):
        ideal_dp.run(instance, budget.part(settings.ideals_fraction), seed, best, ideals=ideals)
    if is_separated and not best.is_proven and _is_long(instance.graph.dag, settings):
        # With many stages, the bound of one node may be the best, and takes hardly any time.
        node_cut.run(instance, budget, seed, best)
        with suppress(UnsupportedError):
            pivot_tree.run(instance, budget.part(settings.pivot_fraction), seed, best)
    for position, method in enumerate(_methods(instance, settings)):
        is_late = budget.remaining() < settings.another_fraction * budget.wall_seconds
        if best.is_proven or (position > 0 and is_late):
            break
        with suppress(UnsupportedError):
            method(instance, budget.part(1.0), seed, best)


def _methods(instance: PipelineInstance, settings: CertifySettings) -> tuple[Run, ...]:
    if _is_long(instance.graph.dag, settings):
        return LONG_GRAPH
    return FEW_STAGES if instance.k <= settings.most_stages_for_all else MANY_STAGES


def _is_long(dag: Dag, settings: CertifySettings) -> bool:
    """Whether the graph is long: few nodes for each node of a longest path."""
    depth = np.ones(dag.nodes, dtype=np.int64)
    consumers: list[list[int]] = [[] for _ in range(dag.nodes)]
    for u, v in dag.edge_pairs().tolist():
        consumers[u].append(v)
    for u in dag.topological_order.tolist():
        for v in consumers[u]:
            depth[v] = max(depth[v], depth[u] + 1)
    return bool(dag.nodes <= settings.widest_long_graph * depth.max())
