"""`certify`: a time-sharing portfolio of the bounds of this problem.

`mean-work`, `ideal-dp` and `two-branch-dp` come first: they take hardly any time where they do not
apply, and often have the optimum in seconds where they do. Then all methods that may suit the graph
take turns (see `boundmark.bounds.portfolio`): the one with the smallest extrapolated gap runs next.
Only what is better than everything before is reported, and nothing is begun once the best bound is
the cost of the best partition, or of one that is known.
"""

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial

from boundmark.bounds.best import Best
from boundmark.bounds.pipeline.downsets import ideal_dp, two_branch_dp
from boundmark.bounds.pipeline.flows import fractional_load
from boundmark.bounds.pipeline.flows.fractional_load import GrowingTable, ShareTable
from boundmark.bounds.pipeline.paper import work
from boundmark.bounds.pipeline.prefixes import mip_tree, prefix_bound
from boundmark.bounds.pipeline.quick_partition import start_from_quick_partition
from boundmark.bounds.pipeline.weights import cut_tree, packing
from boundmark.bounds.pipeline.weights.packing import PackingSettings
from boundmark.bounds.pipeline.weights.set_weights import SharedWeights
from boundmark.bounds.portfolio import PortfolioSettings, Run, run_by_turns
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.graph_statistics import depth
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph


@dataclass(frozen=True)
class CertifySettings:
    """Settings of `certify`: where `cut-tree` takes part early.

    Attributes
    ----------
    most_edges_far
        `cut-tree` begins on wide graphs where transfers outweigh work and that have more edges for
        each stage, unless there are few stages. It proves most there, and `packing` elsewhere.
    most_edges
        On other wide graphs with more edges for each stage, `cut-tree` comes second, after
        `packing`, up to four stages, and begins where there are more, or the graph is dense.
    dense
        A graph is dense if it has an edge for more than this part of the pairs of nodes.
    """

    most_edges_far: float = 12.0
    most_edges: float = 100.0
    dense: float = 0.065


# Here, `packing` proves something early, so that others can be compared with it, and computes
# weights again later.
EARLY_PACKING = PackingSettings(weighing_fraction=0.25, easy=0.03)

# Length of turns, and who gets them, on wide graphs.
TURNS = PortfolioSettings(alone_seconds=10.0, expected_gain=0.5)

# The same where `cut-tree` begins: in a long run, one of its trees may take half of its time,
# during which its bound stays the same though it does not stall.
TURNS_BY_CUTS = replace(TURNS, patience=0.75)

# The same on long graphs, where cuts and programs of the other methods take seconds.
TURNS_ON_LONG_GRAPHS = PortfolioSettings(others_part=0.0)


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
    # A method may refuse the graph: too many down-sets, or beyond the checker's limits. Where
    # `ideal-dp` applies, it usually takes far less than half of the time.
    with suppress(UnsupportedError):
        ideal_dp.run(instance, budget.part(0.5), seed, best, ideals=ideals)
    if best.is_proven or budget.is_spent():
        return
    # Where `two-branch-dp` applies, nothing else proves as much.
    with suppress(UnsupportedError):
        two_branch_dp.run(instance, budget.part(0.8), seed, best)
    if best.is_proven or budget.is_spent():
        return
    # Models have 1 to 3 nodes for each node of a longest path, random graphs 5 and more.
    is_long = instance.nodes <= 4 * depth(instance.graph.dag)
    growing = cache(GrowingTable)

    def tables(graph: PipelineGraph, budget: Budget) -> ShareTable:
        return growing(graph).until(budget)

    if not is_long:
        fractional_load.run(instance, budget, seed, best, tables=tables)
    start = start_from_quick_partition(instance, seed, budget, best)
    # Then transfers outweigh work.
    transfers_dominate = best.objective >= 1.3 * best.certified
    names = _names(instance, is_long, transfers_dominate, settings)
    shared = SharedWeights(start)
    methods = {name: _run(name, instance, seed, tables, shared) for name in names}
    turns = TURNS_ON_LONG_GRAPHS if is_long else TURNS
    if names[0] == "cut-tree":
        turns = TURNS_BY_CUTS
    run_by_turns(methods, instance, budget, best, turns)


def _names(
    instance: PipelineInstance, is_long: bool, transfers_dominate: bool, settings: CertifySettings
) -> tuple[str, ...]:
    """Return the methods that may suit a graph, those expected to prove most first."""
    if is_long:
        return ("prefix-bound", "fractional-load", "mip-tree", "packing")
    most_edges = settings.most_edges_far if transfers_dominate else settings.most_edges
    dag = instance.graph.dag
    has_many_edges = dag.edges > most_edges * instance.k
    is_dense = dag.edges > settings.dense * math.comb(dag.nodes, 2)
    if_many_edges = ("cut-tree",) if has_many_edges else ()
    if instance.k <= 3:
        most = "mip-tree", "packing", *if_many_edges
    elif transfers_dominate or is_dense or instance.k > 4:
        most = *if_many_edges, "packing", "mip-tree"
    else:
        most = "packing", *if_many_edges, "mip-tree"
    return (*most, "prefix-bound")


def _run(
    name: str,
    instance: PipelineInstance,
    seed: int,
    tables: fractional_load.Tables,
    shared: SharedWeights,
) -> Run:
    """Return a method with all but budget and progress."""
    runs: dict[str, Callable[..., None]] = {
        "fractional-load": partial(fractional_load.run, tables=tables),
        "packing": partial(packing.run, tables=tables, settings=EARLY_PACKING, shared=shared),
        "cut-tree": partial(cut_tree.run, tables=tables, shared=shared),
        "mip-tree": partial(mip_tree.run, tables=tables),
        "prefix-bound": prefix_bound.run,
    }
    return lambda budget, best: runs[name](instance, budget, seed, best)
