"""The smallest instances on which something can go wrong."""

from boundmark.problems.arrays import frozen
from boundmark.problems.dag import Dag
from boundmark.problems.pipeline import PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph


def chain(nodes: int, k: int) -> PipelineInstance:
    """Return a path with work 1, 2, 3, ... and transfers of 1."""
    dag = Dag.from_edges(nodes, [(v, v + 1) for v in range(nodes - 1)])
    names = tuple(map(str, range(nodes)))
    work, transfer = frozen(range(1, nodes + 1)), frozen([1] * nodes)
    return PipelineInstance(PipelineGraph.without_parameters(dag, work, transfer, names), k)
