from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boundmark.heuristics.pipeline.undirected import LARGEST_SUM, _scaled, repairs
from boundmark.problems.catalog import methods
from boundmark.problems.dag import Dag
from boundmark.problems.pipeline import Partition, PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph

NAMES = ("metis", "mt-kahypar")


@given(st.data())
def test_repaired_partitions_are_acyclic(
    instances: Callable[..., st.SearchStrategy[PipelineInstance]], data: st.DataObject
) -> None:
    """Moved on or back, no tensor flows to an earlier stage, and no other node has moved."""
    instance = data.draw(instances())
    dag, k = instance.dag, min(instance.k, instance.nodes)
    parts = data.draw(st.lists(st.integers(0, k - 1), min_size=dag.nodes, max_size=dag.nodes))
    ordered, forward, back = repairs(dag, np.array(parts))
    # Only the parts' names change.
    assert len(set(zip(parts, ordered.tolist(), strict=True))) == len(set(parts))
    for repaired in (forward, back):
        assert (repaired[dag.sources] <= repaired[dag.targets]).all()
        assert instance.objective(Partition(repaired)) >= 0
    assert (forward >= ordered).all()
    assert (back <= ordered).all()


@given(st.data())
def test_acyclic_partitions_into_runs_are_kept(
    instances: Callable[..., st.SearchStrategy[PipelineInstance]], data: st.DataObject
) -> None:
    """What a topological order is cut into needs no repair, whatever its parts are called."""
    instance = data.draw(instances())
    dag = instance.dag
    stages = np.empty(dag.nodes, np.int64)
    stages[dag.topological_order] = np.sort(
        data.draw(st.lists(st.integers(0, 3), min_size=dag.nodes, max_size=dag.nodes))
    )
    names = np.array(data.draw(st.permutations(range(4))))
    for repaired in repairs(dag, names[stages]):
        assert (np.unique(repaired, return_inverse=True)[1] == _dense(stages)).all()


def _dense(stages: np.ndarray) -> np.ndarray:
    return np.unique(stages, return_inverse=True)[1]


@pytest.mark.parametrize("total", [1, LARGEST_SUM, 2**53])
def test_weights_fit_into_32_bits(total: int) -> None:
    """However large costs are, and none of them is 0, which METIS refuses for edges."""
    weights = _scaled(np.array([0, total // 2, total - total // 2]))
    assert weights.min() == 1
    assert weights.sum() < 2**31
    assert abs(int(weights[1]) - int(weights[2])) <= 1


@pytest.mark.parametrize("name", NAMES)
def test_partitions_of_random_graphs(
    name: str, run: Callable[..., object], random_instance: Callable[..., PipelineInstance]
) -> None:
    """They are valid, the same for the same seed, and improved by the search near them."""
    for seed, k in ((1, 2), (2, 7), (3, 30)):
        instance = random_instance(60, k, seed)
        alone, whole, again = (
            run(methods()[name], instance, improve=improve) for improve in (False, True, True)
        )
        repaired = run(methods()[name], instance, improve=False, recut=False)
        assert min(repaired.objectives) >= min(alone.objectives)
        assert whole.objectives == again.objectives
        assert min(whole.objectives) <= min(alone.objectives)
        assert whole.objectives[: len(alone.objectives)] == alone.objectives


@pytest.mark.parametrize("name", NAMES)
def test_two_chains_become_two_stages(name: str, run: Callable[..., object]) -> None:
    """Two chains without an edge between them are the two parts, and optimal."""
    edges = [(v, v + 2) for v in range(18)]
    graph = PipelineGraph.without_parameters(
        Dag.from_edges(20, edges), np.full(20, 10), np.full(20, 3), tuple(map(str, range(20)))
    )
    found = run(methods()[name], PipelineInstance(graph, 2), improve=False)
    assert min(found.objectives) == 100


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("k", [1, 2, 5, 6])
def test_more_stages_than_nodes(name: str, k: int, run: Callable[..., object]) -> None:
    """A chain of two nodes, whatever k is."""
    graph = PipelineGraph.without_parameters(
        Dag.from_edges(2, [(0, 1)]), np.array([5, 5]), np.array([1, 0]), ("a", "b")
    )
    found = run(methods()[name], PipelineInstance(graph, k))
    assert min(found.objectives) == (10 if k == 1 else 6)
