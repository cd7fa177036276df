"""Topological orders near a partition, and orders that keep the transfers of open tensors low.

A tensor is open from its producer to its last consumer. Wherever an order is cut, the open tensors
are those that one stage hands to later ones. In graphs of inference, almost any order keeps them
low. In those of training, where activations wait for the backward pass, orders differ by multiples.
"""

import heapq

import numpy as np

from boundmark.heuristics.priority_order import topological_order
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.pipeline import PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph

# Numbers of stages that the noise of an order near a partition spans; local searches draw one of
# them for each order.
NOISES = (1.0, 1.5, 2.0, 3.0)


def noisy_order(
    instance: PipelineInstance, stages: IntArray, noise: float, generator: np.random.Generator
) -> IntArray:
    """Return a topological order of the nodes by stage plus noise from U(0, noise).

    An order in which the nodes of each stage come before those of later stages can be cut into the
    same stages again, so its best segmentation is at least as good ([MTPP24], Theorem 4.3). Noise
    up to 1 decides how the nodes of one stage follow one another; more noise lets nodes of
    neighbouring stages change places.
    """
    return topological_order(instance.graph.dag, noise * generator.random(instance.nodes) - stages)


def fewest_open_order(graph: PipelineGraph, transfers: IntArray | None = None) -> IntArray:
    """Return the order that always takes the node whose execution leaves the least transfer open.

    Of several such nodes, it takes the one that became executable last, so that a chain once begun
    goes on.
    """
    dag = graph.dag
    nodes, transfer = dag.nodes, (graph.transfer if transfers is None else transfers).tolist()
    producers = [dag.producers_of(v).tolist() for v in range(nodes)]
    consumers = [dag.consumers_of(v).tolist() for v in range(nodes)]
    missing, unread = [len(p) for p in producers], [len(c) for c in consumers]
    opens = [amount if consumers[v] else 0 for v, amount in enumerate(transfer)]
    for u in range(nodes):
        if unread[u] == 1:
            opens[consumers[u][0]] -= transfer[u]
    age, is_taken = [0] * nodes, [False] * nodes
    available = [(opens[v], 0, v) for v in range(nodes) if not missing[v]]
    heapq.heapify(available)
    order: list[int] = []
    while available:
        opened, _, node = heapq.heappop(available)
        if is_taken[node] or opened != opens[node]:
            # The node has been pushed again since, with less.
            continue
        is_taken[node] = True
        order.append(node)
        for u in producers[node]:
            unread[u] -= 1
            if unread[u] == 1:
                last = next(w for w in consumers[u] if not is_taken[w])
                opens[last] -= transfer[u]
                if not missing[last]:
                    heapq.heappush(available, (opens[last], age[last], last))
        for w in consumers[node]:
            missing[w] -= 1
            if not missing[w]:
                age[w] = -len(order)
                heapq.heappush(available, (opens[w], age[w], w))
    return frozen(order)


def noisy_fewest_open_order(
    graph: PipelineGraph, noise: float, generator: np.random.Generator
) -> IntArray:
    """Return `fewest_open_order` for transfers that are random multiples of the graph's.

    The logarithms of the multiples come from N(0, noise^2).
    """
    multiples = np.exp(noise * generator.standard_normal(graph.dag.nodes))
    return fewest_open_order(graph, (graph.transfer * multiples).astype(np.int64))
