"""`certify`: the best certificate in the time given, by methods that take turns.

`mean-work`, `separation`, `ideal-dp` and `tower-dp` come first: they take hardly any time where
they do not apply, and often have the optimum in seconds where they do. Then all methods that may
suit the graph take turns (see `boundmark.bounds.portfolio`), and the one whose bound promises most
gets most of the time. Only what is better than everything before is reported, and nothing is begun
once the best bound is the cost of the best partition, or of one that is known.
"""

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial

import numpy as np

from boundmark.bounds.best import Best
from boundmark.bounds.pipeline import (
    ideal_dp,
    node_cut,
    pivot_tree,
    separation,
    share,
    tower_dp,
    work,
)
from boundmark.bounds.pipeline.cut_tree import method as cut_tree
from boundmark.bounds.pipeline.packing import method as packing
from boundmark.bounds.pipeline.packing.method import PackingSettings
from boundmark.bounds.pipeline.packing.shared import SharedWeights
from boundmark.bounds.pipeline.quick_partition import quick_partition
from boundmark.bounds.pipeline.reach import method as reach
from boundmark.bounds.pipeline.share import GrowingTable, ShareTable
from boundmark.bounds.pipeline.tree import methods as trees
from boundmark.bounds.portfolio import PortfolioSettings, Run, run_by_turns
from boundmark.problems.dag import Dag
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph


@dataclass(frozen=True)
class CertifySettings:
    """Settings of `certify`: which methods run, and in which order they begin.

    Attributes
    ----------
    ideals_fraction
        Part of the time for `ideal-dp`, at most: where it applies, it usually takes far less.
    towers_fraction
        Part of the time that is left then for `tower-dp`: where it applies, nothing else proves as
        much.
    start_fraction
        Part of the time for a quick partition, unless a cost is known.
    separated
        If `separation` proves more than this multiple of the mean work, tensors wait for long, as
        in training, and `pivot-tree` takes part.
    widest_long_graph
        A graph is long if it has at most so many nodes for each node of a longest path: models
        have 1 to 3, random graphs 5 and more.
    far_cost
        If a quick partition costs this multiple of the bound of `share`, transfers outweigh work.
    most_edges_far
        `cut-tree` begins on wide graphs where transfers outweigh work and that have more edges for
        each stage, unless there are few stages. It proves most there, and `packing` elsewhere.
    most_edges, packing_stages
        On other wide graphs with more edges for each stage, `cut-tree` comes second, after
        `packing`, up to so many stages, and begins where there are more, or the graph is dense.
    dense
        A graph is dense if it has an edge for more than this part of the pairs of nodes.
    few_stages
        Number of stages up to which `mip-tree` begins on wide graphs.
    packing
        Settings of `packing`: here it proves something early, so that others can be compared with
        it, and computes weights again later.
    portfolio
        Length of turns, and who gets them, on wide graphs.
    by_cuts
        The same where `cut-tree` begins: in a long run, one of its trees may take half of its time,
        during which its bound stays the same though it does not stall.
    long_graph
        The same on long ones, where cuts and programs of the other methods take seconds.
    """

    ideals_fraction: float = 0.5
    towers_fraction: float = 0.8
    start_fraction: float = 0.02
    separated: float = 1.05
    widest_long_graph: int = 4
    far_cost: float = 1.3
    most_edges_far: float = 12.0
    most_edges: float = 100.0
    packing_stages: int = 4
    dense: float = 0.065
    few_stages: int = 3
    packing: PackingSettings = field(
        default_factory=lambda: PackingSettings(weighing_fraction=0.25, easy=0.03)
    )
    portfolio: PortfolioSettings = field(
        default_factory=lambda: PortfolioSettings(alone_seconds=10.0, expected_gain=0.5)
    )
    by_cuts: PortfolioSettings = field(
        default_factory=lambda: PortfolioSettings(
            alone_seconds=10.0, expected_gain=0.5, patience=0.75
        )
    )
    long_graph: PortfolioSettings = field(
        default_factory=lambda: PortfolioSettings(others_part=0.0)
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
    if best.is_proven or budget.is_spent():
        return
    with suppress(UnsupportedError):
        tower_dp.run(instance, budget.part(settings.towers_fraction), seed, best)
    if best.is_proven or budget.is_spent():
        return
    is_long = _is_long(instance.graph.dag, settings)
    growing = cache(GrowingTable)

    def tables(graph: PipelineGraph, budget: Budget) -> ShareTable:
        return growing(graph).until(budget)

    if is_long and is_separated:
        # With many stages, the bound of one node may be the best, and takes hardly any time.
        node_cut.run(instance, budget, seed, best)
    if not is_long:
        share.run(instance, budget, seed, best, tables=tables)
    start = None
    if math.isinf(best.objective):
        floor = int(best.certified)
        part = budget.part(settings.start_fraction)
        start = quick_partition(instance, seed, part, floor)
        best.solution(start)
    is_far = best.objective >= settings.far_cost * best.certified
    names = _names(instance, is_long, is_separated, is_far, settings)
    shared = SharedWeights(start)
    methods = {name: _run(name, instance, seed, tables, shared, settings) for name in names}
    turns = settings.long_graph if is_long else settings.portfolio
    if names[0] == "cut-tree":
        turns = settings.by_cuts
    run_by_turns(methods, instance, budget, best, turns)


def _names(
    instance: PipelineInstance,
    is_long: bool,
    is_separated: bool,
    is_far: bool,
    settings: CertifySettings,
) -> tuple[str, ...]:
    """Return the methods that may suit a graph, those expected to prove most first."""
    if is_long:
        first = ("pivot-tree", "reach") if is_separated else ("reach",)
        return (*first, "share", "bottleneck-tree", "mip-tree", "packing", "bottleneck-guess-tree")
    most_edges = settings.most_edges_far if is_far else settings.most_edges
    dag = instance.graph.dag
    has_many_edges = dag.edges > most_edges * instance.k
    is_dense = dag.edges > settings.dense * math.comb(dag.nodes, 2)
    if_many_edges = ("cut-tree",) if has_many_edges else ()
    if instance.k <= settings.few_stages:
        most = "mip-tree", "packing", *if_many_edges
    elif is_far or is_dense or instance.k > settings.packing_stages:
        most = *if_many_edges, "packing", "mip-tree"
    else:
        most = "packing", *if_many_edges, "mip-tree"
    return (*most, "bottleneck-tree", "bottleneck-guess-tree", "reach")


def _run(
    name: str,
    instance: PipelineInstance,
    seed: int,
    tables: share.Tables,
    shared: SharedWeights,
    settings: CertifySettings,
) -> Run:
    """Return a method with all but budget and progress."""
    takes_tables: dict[str, Callable[..., None]] = {
        "share": share.run,
        "packing": partial(packing.run, settings=settings.packing, shared=shared),
        "cut-tree": partial(cut_tree.run, shared=shared),
        "mip-tree": trees.run_mip_tree,
        "bottleneck-tree": trees.run_bottleneck_tree,
        "bottleneck-guess-tree": trees.run_bottleneck_guess_tree,
    }
    others: dict[str, Callable[..., None]] = {"reach": reach.run, "pivot-tree": pivot_tree.run}

    def run(budget: Budget, best: Best) -> None:
        if name in takes_tables:
            takes_tables[name](instance, budget, seed, best, tables=tables)
        else:
            others[name](instance, budget, seed, best)

    return run


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
