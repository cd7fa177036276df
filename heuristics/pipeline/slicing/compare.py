"""Comparison of slicing with the paper's algorithm, as a Markdown table of times and ratios.

Run ``python -m boundmark.heuristics.pipeline.slicing.compare``. Both sides are compiled, run in
this process in turn, single-threaded, and are called through the same kind of entry; each figure is
a median. The results are compared as well.
"""

import time
from collections.abc import Callable
from statistics import median

import numpy as np

from boundmark.heuristics.pipeline.kernels.graph import kernel_graph
from boundmark.heuristics.pipeline.kernels.reference import reference_slicing
from boundmark.heuristics.pipeline.slicing.best_slicing import beats, slice_order
from boundmark.problems.arrays import IntArray
from boundmark.problems.dag import Dag
from boundmark.problems.pipeline import PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph

FAMILIES = ("plain", "regal-style", "chain", "transfer-bound", "dense")
NODES = (200, 1000, 2000)
STAGE_COUNTS = (2, 3, 4, 8, 16, 32, 64)
REPEATS = 7


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
    """Return the cost that `slice_order` finds, by the paper's algorithm."""
    return int(reference_slicing(order, kernel_graph(instance.graph), instance.k))


def _milliseconds(function: Callable[[], object]) -> float:
    begin = time.perf_counter()
    function()
    return 1000 * (time.perf_counter() - begin)


def _row(family: str, nodes: int, k: int) -> str:
    instance = PipelineInstance(random_graph(family, nodes, seed=1), k)
    order = instance.graph.dag.topological_order
    cost, _ = slice_order(instance, order)
    if reference_cost(instance, order) != cost or beats(instance, order, cost - 1):
        raise AssertionError(f"the algorithms disagree on {family}, n = {nodes}, k = {k}")
    # In turn, so that whatever else the machine does burdens all three alike.
    times = [
        (
            _milliseconds(lambda: reference_cost(instance, order)),
            _milliseconds(lambda: slice_order(instance, order)),
            _milliseconds(lambda: beats(instance, order, cost - 1)),
        )
        for _ in range(REPEATS)
    ]
    paper, ours, decision = (median(column) for column in zip(*times, strict=True))
    return (
        f"| {family} | {nodes} | {k} | {paper:.3f} | {ours:.3f} | {paper / ours:.1f} "
        f"| {decision:.3f} | {paper / decision:.1f} |"
    )


def main() -> None:
    """Print the table."""
    print("| graph | n | k | paper (ms) | ours (ms) | ratio | `beats` (ms) | ratio |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for family in FAMILIES:
        for nodes in NODES:
            for k in STAGE_COUNTS:
                print(_row(family, nodes, k), flush=True)


if __name__ == "__main__":
    main()
