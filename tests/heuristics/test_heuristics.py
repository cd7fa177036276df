"""Kahn's algorithm with priorities against its definition, and the incumbent of every search."""

from functools import partial

import numpy as np
from brute_force import cost, numbered_instances, optimum, partitions
from hypothesis import given, settings
from hypothesis import strategies as st
from recording import Recorder
from selection import examples

from boundmark.heuristics.incumbent import NO_COST, Incumbent
from boundmark.heuristics.pipeline.slicegraph import segment_order
from boundmark.heuristics.priority_order import topological_order
from boundmark.problems.dag import Dag
from boundmark.problems.pipeline import Partition


def naive_order(dag: Dag, priorities: list[float]) -> list[int]:
    """Take the ready node of highest priority, then of smallest number, by looking at them all."""
    order: list[int] = []
    while len(order) < dag.nodes:
        ready = [
            node
            for node in range(dag.nodes)
            if node not in order and set(dag.producers_of(node).tolist()) <= set(order)
        ]
        order.append(min(ready, key=lambda node: (-priorities[node], node)))
    return order


@given(data=st.data())
@settings(max_examples=examples(150))
def test_order_follows_the_definition(data: st.DataObject) -> None:
    """The order is topological, respects priorities, and breaks ties by node number."""
    dag = data.draw(numbered_instances(max_nodes=12)).graph.dag
    keys = st.sampled_from([0.0, 0.25, 0.5, 1.0])
    priorities = data.draw(st.lists(keys, min_size=dag.nodes, max_size=dag.nodes))
    order = topological_order(dag, np.array(priorities))
    assert order.tolist() == naive_order(dag, priorities)
    position = np.argsort(order)
    assert (position[dag.sources] < position[dag.targets]).all()


@given(data=st.data())
@settings(max_examples=examples(60))
def test_every_order_has_priorities(data: st.DataObject) -> None:
    """Descending priorities along a topological order give that order back."""
    dag = data.draw(numbered_instances(max_nodes=12)).graph.dag
    priorities = data.draw(st.permutations(range(dag.nodes)))
    order = topological_order(dag, np.array(priorities, dtype=float))
    again = np.empty(dag.nodes)
    again[order] = np.linspace(1, 0, dag.nodes)
    assert topological_order(dag, again).tolist() == order.tolist()


@given(data=st.data())
@settings(max_examples=examples(60))
def test_priorities_of_an_optimal_partition_lead_to_the_optimum(data: st.DataObject) -> None:
    """Theorem 4.3 of [MTPP24]: sort by stage of an optimal partition, slice, and get OPT."""
    instance = data.draw(numbered_instances(max_nodes=5))
    best = optimum(instance)
    stages = next(s for s in partitions(instance) if cost(instance, s) == best)
    order = topological_order(instance.graph.dag, -np.array(stages, dtype=float))
    assert segment_order(instance, order)[0] == best


def test_large_graph_without_edges_is_sorted() -> None:
    """The heap keeps its order at size."""
    priorities = np.random.default_rng(1).random(5000)
    order = topological_order(Dag.from_edges(5000, []), priorities)
    assert order.tolist() == np.argsort(-priorities).tolist()


def test_only_improvements_are_made_kept_and_reported() -> None:
    """A solution that costs as much as the best one is not even made."""
    recorder = Recorder()
    best: Incumbent[Partition] = Incumbent(recorder)
    assert best.cost == NO_COST
    made = []

    def make(number: int) -> Partition:
        made.append(number)
        return Partition([number])

    offers = [best.offer(cost, partial(make, cost)) for cost in (5, 7, 5, 4)]
    assert offers == [True, False, False, True]
    assert made == [5, 4]
    assert best.cost == 4
    assert best.solution.stages.tolist() == [4]
    assert [solution.stages.tolist() for solution in recorder.solutions] == [[5], [4]]
