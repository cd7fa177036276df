"""The paper's segmentation of an order ([MTPP24], Algorithms 1, 4 and 5, Appendix B.2).

Rectangle updates of a two-dimensional Fenwick tree at its four corners, one O(n^2) pass that turns
the tree into a table, and a dynamic program that treats all stage counts of a prefix at a time.
"""

import numpy as np
from numba import types

from boundmark.heuristics.pipeline.kernel_graph import GRAPH, Graph, kernel_graph
from boundmark.problems.arrays import IntArray
from boundmark.problems.compiling import INTEGERS, compiled, internal
from boundmark.problems.dag import Dag
from boundmark.problems.pipeline import PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph


@internal([types.void(types.int64[:, ::1], types.int64, types.int64, types.int64)])
def _add(tree: IntArray, last: int, first: int, amount: int) -> None:
    size = tree.shape[0] - 1
    row = last
    while row <= size:
        column = first
        while column <= size:
            tree[row, column] += amount
            column += column & -column
        row += row & -row


@internal([types.void(types.int64[:, ::1], *(types.int64,) * 5)])
def _add_to_rectangle(
    tree: IntArray, last_from: int, last_to: int, first_from: int, first_to: int, amount: int
) -> None:
    if last_from > last_to or first_from > first_to:
        return
    _add(tree, last_from, first_from, amount)
    _add(tree, last_to + 1, first_from, -amount)
    _add(tree, last_from, first_to + 1, -amount)
    _add(tree, last_to + 1, first_to + 1, amount)


@compiled([types.int64[:, ::1](INTEGERS, GRAPH)])
def segment_transfer(order: IntArray, graph: Graph) -> IntArray:
    """Return the table of tensor costs, entry [r, l] for positions l .. r counted from 1.

    Shape (n + 1, n + 1); entries with l > r mean nothing. Time O(n^2 + m log^2 n).
    """
    nodes = len(order)
    position = np.empty(nodes, np.int64)
    for index in range(nodes):
        position[order[index]] = index + 1
    # Fenwick tree over a table's differences: an entry of the table is a prefix sum.
    tree = np.zeros((nodes + 1, nodes + 1), np.int64)
    for producer in range(nodes):
        start = graph.consumer_start[producer]
        degree = graph.consumer_start[producer + 1] - start
        members = np.empty(degree + 1, np.int64)
        members[0] = position[producer]
        for index in range(degree):
            members[index + 1] = position[graph.consumers[start + index]]
        members.sort()
        amount = -graph.transfer[producer]
        _add_to_rectangle(tree, 1, members[0] - 1, 1, members[0] - 1, amount)
        for index in range(degree):
            inner, outer = members[index] + 1, members[index + 1] - 1
            _add_to_rectangle(tree, inner, outer, inner, outer, amount)
        _add_to_rectangle(tree, members[degree] + 1, nodes, members[degree] + 1, nodes, amount)
        _add_to_rectangle(tree, members[degree], nodes, 1, members[0], amount)
    for row in range(1, nodes + 1):
        below = row - (row & -row)
        if below > 0:
            for column in range(1, nodes + 1):
                tree[row, column] += tree[below, column]
    total = graph.transfer.sum()
    for row in range(1, nodes + 1):
        for column in range(1, nodes + 1):
            tree[row, column] += tree[row, column - (column & -column)]
    for row in range(1, nodes + 1):
        for column in range(1, nodes + 1):
            tree[row, column] += total
    return tree


@compiled([types.int64(INTEGERS, GRAPH, types.int64)])
def reference_segmentation(order: IntArray, graph: Graph, k: int) -> int:
    """Return the least cost of cutting a topological order into at most k stages.

    Time O(n^2 k + m log^2 n), memory O(n^2).
    """
    nodes = len(order)
    stages = min(k, nodes)
    table = segment_transfer(order, graph)
    work_before = np.zeros(nodes + 1, np.int64)
    load_before = np.zeros(nodes + 1, np.int64)
    for index in range(nodes):
        work_before[index + 1] = work_before[index] + graph.work[order[index]]
        load_before[index + 1] = load_before[index] + graph.param_load[order[index]]
    # least[b, r]: least cost of the first r nodes in at most b stages.
    least = np.zeros((stages + 1, nodes + 1), np.int64)
    costs = np.empty(nodes, np.int64)
    for end in range(1, nodes + 1):
        row = table[end, 1 : end + 1]
        for first in range(row.size):
            overflow = max(0, load_before[end] - load_before[first] - graph.cache)
            costs[first] = row[first] + work_before[end] - work_before[first] + overflow
        least[1, end] = costs[0]
        first_stage, last_stage = (stages, stages) if end == nodes else (2, stages - 1)
        for stage in range(max(2, first_stage), last_stage + 1):
            before = least[stage - 1, :end]
            best = costs[0]
            for first in range(before.size):
                best = min(best, max(before[first], costs[first]))
            least[stage, end] = best
    return int(least[stages, nodes])


FAMILIES = ("plain", "regal-style", "chain", "transfer-bound", "dense")


def random_graph(family: str, nodes: int, seed: int) -> PipelineGraph:
    """Return a graph of average degree 4 (chains: about 2.5, dense: 40).

    Parameters
    ----------
    family
        ``"plain"``: all costs N(50, 10). ``"regal-style"``: work is a node's tensors plus |N(0,
        0.1)| of all tensors. ``"chain"``: a chain with short skips and log-normal costs, like real
        models. ``"transfer-bound"``: as plain, with work a hundredth. ``"dense"``: as plain.
    """
    generator = np.random.default_rng(seed)
    if family == "chain":
        skips = [(v, v + 3 + int(generator.integers(4))) for v in range(0, nodes - 8, 4)]
        dag = Dag.from_edges(nodes, [*((v, v + 1) for v in range(nodes - 1)), *skips])
        work = generator.lognormal(10, 1.5, nodes).astype(np.int64)
        transfer = generator.lognormal(9, 1, nodes).astype(np.int64)
    else:
        edges = (20 if family == "dense" else 2) * nodes
        pairs = np.sort(generator.integers(nodes, size=(edges, 2)), axis=1)
        dag = Dag.from_edges(nodes, pairs[pairs[:, 0] < pairs[:, 1]].tolist())
        transfer = _normal(generator, nodes)
        work = _normal(generator, nodes)
        if family == "transfer-bound":
            work //= 100
        elif family == "regal-style":
            work = transfer.copy()
            np.add.at(work, dag.targets, transfer[dag.sources])
            shares = np.abs(generator.normal(0, 0.1, nodes))
            work += (shares * transfer.sum()).astype(np.int64)
    names = tuple(str(node) for node in range(nodes))
    return PipelineGraph.without_parameters(dag, work, transfer, names)


def _normal(generator: np.random.Generator, nodes: int) -> IntArray:
    costs: IntArray = (1000 * np.maximum(1, generator.normal(50, 10, nodes))).astype(np.int64)
    return costs


def reference_cost(instance: PipelineInstance, order: IntArray) -> int:
    """Return the cost that `segment_order` finds, by the paper's algorithm."""
    return int(reference_segmentation(order, kernel_graph(instance.graph), instance.k))
