"""The arrays of a graph of co-location sets, padded to a few sizes.

JAX compiles functions anew for each size of their arguments, which takes seconds. Sizes are
multiples of `STEP`, so that small graphs share what is compiled. Padding has no edges, no weight
and no part in any result.
"""

from typing import NamedTuple

import numpy as np

from boundmark.heuristics.placement.learned.colocation import ColocatedGraph
from boundmark.heuristics.placement.learned.features import FloatTable
from boundmark.problems.arrays import IntArray

STEP = 32


class GraphArrays(NamedTuple):
    """Arrays of a graph with N nodes and m edges, padded to P nodes, Q edges and W features.

    Attributes
    ----------
    features
        Shape (P, W).
    is_node
        1 for nodes, 0 for padding, shape (P,).
    readers, read, weight
        What graph convolution adds up: ``weight * row[read]`` to row `readers`, shape (Q + P,).
    edges
        Rows (source, target), shape (Q, 2).
    """

    features: FloatTable
    is_node: FloatTable
    readers: IntArray
    read: IntArray
    weight: FloatTable
    edges: IntArray


def padded(length: int) -> int:
    """Return a length rounded up to a multiple of `STEP`."""
    return max(1, -(-length // STEP)) * STEP


def graph_arrays(sets: ColocatedGraph, features: FloatTable) -> GraphArrays:
    """Return the arrays of a graph with features, shape (N, d).

    Convolution is that of Equation 6 as printed: with A + I, whose row v has the consumers of v,
    and the degrees that its rows add up to. So features of a node flow to its producers.
    """
    nodes, count = sets.nodes, sets.dag.edges
    high, wide = padded(nodes), padded(count)
    table = np.zeros((high, padded(features.shape[1])), dtype=np.float32)
    table[:nodes, : features.shape[1]] = features
    edges = np.zeros((wide, 2), dtype=np.int64)
    edges[:count] = sets.dag.edge_pairs()
    degree = 1 + np.bincount(sets.dag.sources, minlength=nodes)
    readers, read = np.zeros((2, wide + high), dtype=np.int64)
    weight = np.zeros(wide + high, dtype=np.float32)
    own = np.arange(nodes)
    readers[: count + nodes] = np.concatenate([sets.dag.sources, own])
    read[: count + nodes] = np.concatenate([sets.dag.targets, own])
    both = degree[readers[: count + nodes]] * degree[read[: count + nodes]]
    weight[: count + nodes] = 1 / np.sqrt(both)
    is_node = (np.arange(high) < nodes).astype(np.float32)
    return GraphArrays(table, is_node, readers, read, weight, edges)
