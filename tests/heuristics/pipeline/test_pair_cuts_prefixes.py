"""Prefixes combined: against all partitions that they allow."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import examples

from boundmark.heuristics.effort import Effort
from boundmark.heuristics.pipeline.kernel_graph import kernel_graph
from boundmark.heuristics.pipeline.pair_cuts import DEFAULTS, PairCutSettings, PrefixPool
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import Partition, PipelineInstance

MORE_THAN_ALL = 2**40


def pool_of(
    sample: PipelineInstance,
    partitions: list[IntArray],
    chosen: PairCutSettings = DEFAULTS,
) -> PrefixPool:
    """Return a pool with the prefixes of some partitions."""
    pool = PrefixPool(sample, kernel_graph(sample.graph), chosen)
    for stages in partitions:
        pool.add(stages)
    return pool


def plenty() -> Effort:
    """Return more effort than any test needs."""
    return Effort(Budget(60), None)


def cost_of(sample: PipelineInstance, stages: IntArray) -> int:
    """Return what a partition costs."""
    return sample.objective(Partition(frozen(stages)))


def prefixes_of(stages: IntArray, k: int) -> set[frozenset[int]]:
    """Return the sets of nodes before each boundary."""
    return {frozenset(np.flatnonzero(stages < stage).tolist()) for stage in range(1, k)}


def all_chains(sample: PipelineInstance, partitions: list[IntArray]) -> list[IntArray]:
    """Return all partitions whose prefixes are prefixes of the given ones."""
    everything = frozenset(range(sample.nodes))
    known = {frozenset(), everything}
    for stages in partitions:
        known |= prefixes_of(stages, min(sample.k, sample.nodes))
    found = []
    for boundaries in itertools.product(known, repeat=min(sample.k, sample.nodes) - 1):
        chain = [frozenset(), *boundaries, everything]
        if all(inner <= outer for inner, outer in itertools.pairwise(chain)):
            stages = np.zeros(sample.nodes, np.int64)
            for prefix in boundaries:
                stages[sorted(everything - prefix)] += 1
            found.append(stages)
    return found


def draw_stages(data: st.DataObject, sample: PipelineInstance) -> IntArray:
    """Draw a partition along some topological order, stages may be empty."""
    count = min(sample.k, sample.nodes)
    drawn = st.lists(st.integers(0, count - 1), min_size=sample.nodes, max_size=sample.nodes)
    priority = data.draw(st.permutations(range(sample.nodes)))
    missing = np.diff(sample.graph.dag.producer_start)
    order: list[int] = []
    while len(order) < sample.nodes:
        node = min((v for v in range(sample.nodes) if missing[v] == 0), key=priority.__getitem__)
        order.append(node)
        missing[node] = -1
        missing[sample.graph.dag.consumers_of(node)] -= 1
    stages = np.empty(sample.nodes, np.int64)
    stages[order] = sorted(data.draw(drawn))
    return stages


@given(data=st.data())
@settings(max_examples=examples(150))
def test_the_best_of_all_chains_is_found(instances, data) -> None:
    """It costs as little as the best one of all; if that is not below the limit, there is none."""
    sample = data.draw(instances(max_nodes=7).filter(lambda sample: sample.k <= 4))
    partitions = [draw_stages(data, sample) for _ in range(data.draw(st.integers(1, 4)))]
    least = min(cost_of(sample, stages) for stages in all_chains(sample, partitions))
    found = pool_of(sample, partitions).best_partition(least + 1, plenty())
    assert found is not None
    assert cost_of(sample, found) == least
    assert pool_of(sample, partitions).best_partition(least, plenty()) is None


def from_costs(sample: PipelineInstance, partitions: list[IntArray]) -> list[int]:
    """Return what the partitions cost."""
    return [cost_of(sample, stages) for stages in partitions]


def random_partitions(sample: PipelineInstance, count: int) -> list[IntArray]:
    """Return segmentations of the graph's own order with random ends."""
    generator, order = np.random.default_rng(1), sample.graph.dag.topological_order
    partitions = []
    for _ in range(count):
        stages = np.empty(sample.nodes, np.int64)
        stages[order] = np.sort(generator.integers(sample.k, size=sample.nodes))
        partitions.append(stages)
    return partitions


def test_good_stages_of_several_partitions_are_combined(random_instance) -> None:
    """A partition of 150 nodes, more than a word has bits, is better than those combined."""
    sample = random_instance(150, 8, 1)
    partitions = random_partitions(sample, 60)
    best = min(from_costs(sample, partitions))
    found = pool_of(sample, partitions).best_partition(best, plenty())
    assert found is not None
    assert cost_of(sample, found) < best
    known = set().union(*(prefixes_of(stages, sample.k) for stages in partitions))
    assert prefixes_of(found, sample.k) <= known | {frozenset(), frozenset(range(150))}


def test_a_full_pool_forgets_what_was_met_long_ago(random_instance) -> None:
    """What was met again stays."""
    sample = random_instance(60, 2, 1)
    first, *others = random_partitions(sample, 200)
    chosen = PairCutSettings(most_prefixes=10)
    pool = pool_of(sample, [], chosen)
    for stages in others:
        pool.add(first)
        pool.add(stages)
        assert 1 <= len(pool) <= 10
    found = pool.best_partition(cost_of(sample, first) + 1, plenty())
    assert found is not None


def test_bits_limit_a_pool_of_large_graphs(random_instance) -> None:
    """Memory is what counts."""
    sample = random_instance(64, 8, 1)
    pool = pool_of(sample, random_partitions(sample, 50), PairCutSettings(most_bits=64 * 20))
    assert len(pool) <= 20


def test_a_pool_grows_before_it_is_combined_again(random_instance) -> None:
    """Right after a search for the best chain, another one would find the same."""
    sample = random_instance(60, 4, 1)
    first, *others = random_partitions(sample, 20)
    pool = pool_of(sample, [first])
    assert pool.has_grown()
    pool.best_partition(MORE_THAN_ALL, plenty())
    pool.add(first)
    assert not pool.has_grown()
    for stages in others:
        pool.add(stages)
    assert pool.has_grown()


@pytest.mark.parametrize("evaluations", [0, 1])
def test_a_search_ends_with_its_effort(random_instance, evaluations: int) -> None:
    """An answer from a part of the prefixes would not be the best one."""
    sample = random_instance(150, 8, 1)
    pool = pool_of(sample, random_partitions(sample, 60))
    effort = Effort(Budget(60), evaluations)
    assert pool.best_partition(MORE_THAN_ALL, effort) is None
    assert effort.done == evaluations
    assert pool.best_partition(MORE_THAN_ALL, Effort(Budget(0), None)) is None
