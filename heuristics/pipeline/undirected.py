"""`metis` and `mt-kahypar`: partitions that ignore the direction of edges, made acyclic.

A partitioner of undirected graphs minimises the transfers between k parts of balanced work. METIS
([METIS98]) counts a transfer for each pair of a producer and a consumer, Mt-KaHyPar
([MTKAHYPAR24]) a tensor's once for each further part that reads it. Neither knows that the
quotient graph has to be acyclic, nor that the slowest stage counts: what they find is no solution
yet.

The repair is that of the literature on acyclic partitions ([HERRMANN19], [MOREIRA17]): parts are
ordered, here by the mean position of their nodes in topological order, and nodes against that order
are moved, either on to the stage of what they read, or back to that of what reads them. Our own are
three additions. A third repair moves nothing, but sorts all nodes topologically, those of earlier
parts first. Each repaired partition is an order, too, which is cut exactly (`segment_order`). And
the best of several tries is improved under the true objective by annealed moves of nodes, which
begin too cold to go far.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeAlias

import numpy as np

from boundmark.heuristics.incumbent import Incumbent
from boundmark.heuristics.pipeline.annealing import (
    DEFAULTS,
    MOVES_PER_EVALUATION,
    RoundBest,
    anneal_from,
)
from boundmark.heuristics.pipeline.orders import noisy_order
from boundmark.heuristics.pipeline.slicegraph import segment_order
from boundmark.problems.arrays import IntArray
from boundmark.problems.dag import Dag
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import Partition, PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph

# Divides a graph into k parts, none of which has more than (1 + imbalance) times the mean work;
# arguments are the graph, k, the imbalance and a seed, and the result is the part of each node.
Partitioner: TypeAlias = Callable[[PipelineGraph, int, float, int], IntArray]

# Tried in turn: the usual default of these tools, and more, since even work means uneven cost where
# transfers are unevenly distributed.
IMBALANCES = (0.03, 0.1, 0.3)

# Annealed moves for each node.
MOVES_PER_NODE = 1_000

# Sums of weights stay below 2^31, in which Mt-KaHyPar computes.
LARGEST_SUM = 2**29


def run_metis(
    instance: PipelineInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    *,
    tries: int,
    recut: bool,
    improve: bool,
) -> None:
    """Repair and improve the partitions of METIS; see `_run`."""
    _run(_metis, instance, budget, seed, progress, tries, recut, improve)


def run_mt_kahypar(
    instance: PipelineInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    *,
    tries: int,
    recut: bool,
    improve: bool,
) -> None:
    """Repair and improve the partitions of Mt-KaHyPar; see `_run`."""
    _run(_mt_kahypar, instance, budget, seed, progress, tries, recut, improve)


def _run(
    partitioner: Partitioner,
    instance: PipelineInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    tries: int,
    recut: bool,
    improve: bool,
) -> None:
    """Report the best of several partitions, each repaired, and better ones near it."""
    best: Incumbent[Partition] = Incumbent(progress)
    generator = np.random.default_rng(seed)
    k = min(instance.k, instance.nodes)
    for number in range(tries):
        parts = np.zeros(instance.nodes, np.int64)
        if k > 1:
            imbalance = IMBALANCES[number % len(IMBALANCES)]
            parts = partitioner(instance.graph, k, imbalance, int(generator.integers(2**30)))
        first, *repaired = repairs(instance.graph.dag, parts)
        for stages in (first, *repaired) if recut else repaired:
            if not recut:
                cost = instance.objective(Partition(stages))
                best.offer(cost, partial(Partition, stages))
                continue
            order = noisy_order(instance, stages, 0.0, generator)
            cost, ends = segment_order(instance, order)
            best.offer(cost, partial(Partition.from_segments, order, ends))
            if budget.is_spent() or k == 1:
                return
        if budget.is_spent():
            break
    if not improve:
        return
    if DEFAULTS.suit(instance) and best.cost > 0:
        evaluations = -(-instance.nodes * MOVES_PER_NODE // MOVES_PER_EVALUATION)
        found = RoundBest(best.cost, best.solution.stages)
        anneal_from(
            *(instance, best, found, budget, evaluations, generator),
            hottest=DEFAULTS.reheated,
        )


def repairs(dag: Dag, parts: IntArray) -> Iterator[IntArray]:
    """Yield the stages of nodes after each repair.

    The parts are numbered by the mean position of their nodes in topological order. In the first
    of the results edges may lead back to earlier stages: it is for a topological order that keeps
    to it as far as it can. In the others, none does.

    Examples
    --------
    >>> chain = Dag.from_edges(4, [(0, 1), (1, 2), (2, 3)])
    >>> [one.tolist() for one in repairs(chain, np.array([1, 0, 1, 0]))]
    [[0, 1, 0, 1], [0, 1, 1, 1], [0, 0, 0, 1]]
    """
    position = np.empty(dag.nodes)
    position[dag.topological_order] = np.arange(dag.nodes)
    members = np.maximum(np.bincount(parts), 1)
    mean = np.bincount(parts, position) / members
    number = np.empty(len(mean), np.int64)
    number[np.argsort(mean, kind="stable")] = np.arange(len(mean))
    stages = number[parts]
    yield stages
    order = dag.topological_order.tolist()
    forward, back = stages.tolist(), stages.tolist()
    for v in order:
        forward[v] = max([forward[v], *(forward[u] for u in dag.producers_of(v).tolist())])
    yield np.array(forward)
    for v in reversed(order):
        back[v] = min([back[v], *(back[w] for w in dag.consumers_of(v).tolist())])
    yield np.array(back)


def _metis(graph: PipelineGraph, k: int, imbalance: float, seed: int) -> IntArray:
    """Partition by METIS; an edge weighs what its tensor takes to transfer."""
    import pymetis

    dag = graph.dag
    ends = np.concatenate([dag.sources, dag.targets])
    others = np.concatenate([dag.targets, dag.sources])
    weights = np.tile(_scaled(graph.transfer[dag.sources]), 2)
    by_node = np.lexsort((others, ends))
    starts = np.searchsorted(ends[by_node], np.arange(dag.nodes + 1))
    found = pymetis.part_graph(
        k,
        pymetis.CSRAdjacency(starts, others[by_node]),
        vweights=_scaled(graph.work),
        eweights=weights[by_node],
        # METIS counts in thousandths.
        options=pymetis.Options(seed=seed, ufactor=round(1000 * imbalance)),
    )
    return np.array(found.vertex_part, dtype=np.int64)


def _mt_kahypar(graph: PipelineGraph, k: int, imbalance: float, seed: int) -> IntArray:
    """Partition by Mt-KaHyPar; a hyperedge is a tensor's producer and its readers."""
    import mtkahypar

    # With the presets that are not deterministic, one seed has several results even on one thread.
    # This one has the same result for all seeds.
    initializer = mtkahypar.initialize(1, False)
    mtkahypar.set_seed(seed)
    context = initializer.context_from_preset(mtkahypar.PresetType.DETERMINISTIC_QUALITY)
    context.set_partitioning_parameters(k, imbalance, mtkahypar.Objective.KM1)
    context.logging = False
    dag = graph.dag
    tensors = [u for u in range(dag.nodes) if len(dag.consumers_of(u))]
    hypergraph = initializer.create_hypergraph(
        context,
        dag.nodes,
        len(tensors),
        [[u, *dag.consumers_of(u).tolist()] for u in tensors],
        _scaled(graph.work).tolist(),
        _scaled(graph.transfer)[tensors].tolist(),
    )
    return np.array(hypergraph.partition(context).get_partition(), dtype=np.int64)


def _scaled(weights: IntArray) -> IntArray:
    """Return positive weights in about the same proportions, the sum of which is small enough."""
    factor = min(1.0, LARGEST_SUM / max(1, int(weights.sum())))
    return 1 + (weights * factor).astype(np.int64)
