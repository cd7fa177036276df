"""Worst orders: the paper's ratios hold, by enumeration and by our methods."""

import itertools
from fractions import Fraction

import pytest

from boundmark.datasets.pipeline.worst_orders import DATASET, load
from boundmark.heuristics.pipeline.slicegraph import segment_order
from boundmark.problems.arrays import frozen
from boundmark.problems.errors import UnknownNameError
from boundmark.problems.pipeline import Partition, PipelineInstance

RATIOS = {
    "lemma-b2": lambda k: Fraction(k),
    "remark-b3": lambda k: Fraction(2 * k, k + 1),
}


def least_cost(instance, assignments):
    """Return the least cost of assignments of stages to nodes that keep the edges' direction."""
    dag = instance.graph.dag
    return min(
        instance.objective(Partition(frozen(stages)))
        for stages in assignments
        if all(stages[u] <= stages[v] for u, v in zip(dag.sources, dag.targets, strict=True))
    )


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("where", RATIOS)
def test_the_optimum_is_the_mean_work(where, k):
    """No assignment of nodes to stages costs less than K + 1."""
    instance = PipelineInstance(load(f"{where}-{k}"), k)
    every = itertools.product(range(k), repeat=2 * k)
    assert least_cost(instance, every) == k + 1 == sum(instance.graph.work) / k


@pytest.mark.parametrize("k", [2, 3, 4, 5])
@pytest.mark.parametrize("where", RATIOS)
def test_every_segmentation_is_as_bad_as_proven(where, k):
    """The best division of the order, by enumeration, has the paper's ratio exactly."""
    instance = PipelineInstance(load(f"{where}-{k}"), k)
    sorted_stages = itertools.combinations_with_replacement(range(k), 2 * k)
    assert least_cost(instance, sorted_stages) == RATIOS[where](k) * (k + 1)


@pytest.mark.parametrize("member", DATASET.members())
def test_slicegraph_finds_what_is_proven(member):
    """Of every listed graph, in the order of its nodes; heavy and light pairs are optimal."""
    where, _, stages = member.rpartition("-")
    k = int(stages)
    instance = PipelineInstance(load(member), k)
    order = instance.graph.dag.topological_order
    assert order.tolist() == list(range(2 * k))
    cost, _ = segment_order(instance, order)
    assert cost == RATIOS[where](k) * (k + 1)
    pairs = Partition(frozen([*range(k), *reversed(range(k))]))
    assert instance.objective(pairs) == k + 1


@pytest.mark.parametrize("member", ["lemma-b2-1", "lemma-b2-02", "lemma-b2", "lemma-b3-4", ""])
def test_unknown_members_are_explained(member):
    """A name of another form is answered with the form that is expected."""
    with pytest.raises(UnknownNameError, match=r"in worst-orders; expected lemma-b2-K or remark"):
        load(member)
