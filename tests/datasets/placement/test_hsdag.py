"""The three models of HSDAG's paper: its numbers of nodes and edges, and its latencies."""

import numpy as np
import pytest

from boundmark.datasets.placement.hsdag import DATASET, PRINTED
from boundmark.problems.errors import UnknownNameError
from boundmark.problems.placement import PlacementGraph


@pytest.mark.parametrize(
    ("member", "nodes", "edges", "run"),
    [("inception-v3", 726, 762, 323), ("resnet-50", 396, 411, 176), ("bert-base", 975, 1024, 407)],
)
def test_one_device_alone_takes_what_the_paper_measured(
    member: str, nodes: int, edges: int, run: int
) -> None:
    """Up to what nodes are rounded by; constants, inputs and results take no time."""
    graph: PlacementGraph = DATASET.load(member)
    assert (graph.nodes, graph.dag.edges, graph.device_names) == (nodes, edges, ("CPU", "GPU.1"))
    printed = 1e9 * np.array(PRINTED[member])
    assert (np.abs(graph.duration.sum(axis=0) - printed) <= graph.nodes / 2).all()
    free = {
        at for at, kind in enumerate(graph.op_types) if kind in ("Const", "Parameter", "Result")
    }
    assert len(free) < nodes - run
    assert not graph.duration[sorted(free)].any()
    is_timed = graph.duration.any(axis=1)
    assert 0.7 * run < is_timed.sum() <= run


def test_what_is_computed_is_moved_and_constants_are_not() -> None:
    """A tensor of 32 x 149 x 149 numbers takes its bytes over 24 GB/s; weights take nothing."""
    graph: PlacementGraph = DATASET.load("inception-v3")
    between = graph.times[graph.size, 0, 1]
    by_shape = {}
    for producer, ticks in zip(graph.producer.tolist(), between.tolist(), strict=True):
        by_shape.setdefault(graph.output_shapes[producer], set()).add(ticks)
    assert by_shape[1, 32, 149, 149] == {round(4 * 32 * 149 * 149 / 24)}
    kinds = [graph.op_types[producer] for producer in graph.producer]
    assert not between[[kind == "Const" for kind in kinds]].any()


def test_there_are_no_others() -> None:
    """The error says which there are."""
    with pytest.raises(UnknownNameError, match="there is no graph 'vgg16' in hsdag; known are"):
        DATASET.load("vgg16")
