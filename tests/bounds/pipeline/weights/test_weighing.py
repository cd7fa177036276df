import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from brute_force_sets import connected_convex_sets, is_convex, tiny_graphs
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from recording import LooksBudget
from scipy.optimize import linprog
from selection import examples

from boundmark.bounds.pipeline.quick_partition import quick_partition
from boundmark.bounds.pipeline.weights.pool import Pool, unit_of
from boundmark.bounds.pipeline.weights.tensors import FloatArray, Tensors, bits_of
from boundmark.bounds.pipeline.weights.weighing import (
    LARGEST_SUM,
    PRECISION,
    Master,
    Packings,
    Weigher,
    whole_of,
)
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph


class Known(Weigher):
    """Weighs with the sets that it was told of alone, but for single nodes."""

    def grow(self, weights: FloatArray, limit: int, unit: int, budget: Budget) -> int:
        """Find none."""
        return 0


def all_packings(sample: PipelineInstance, limit: int) -> np.ndarray:
    """Return how often each node is in each packing that costs no more than a limit."""
    sets = [(members, cost) for members, cost in connected_convex_sets(sample).items() if cost]
    found: set[tuple[int, ...]] = set()

    def extend(first: int, left: int, times: tuple[int, ...]) -> None:
        found.add(times)
        for i in range(first, len(sets)):
            members, cost = sets[i]
            if cost <= left:
                more = tuple(count + (v in members) for v, count in enumerate(times))
                extend(i, left - cost, more)

    extend(0, limit, (0,) * sample.nodes)
    return np.array(sorted(found))


def free_nodes(sample: PipelineInstance) -> set[int]:
    """Return the nodes of sets that cost nothing."""
    free = [members for members, cost in connected_convex_sets(sample).items() if not cost]
    return set(itertools.chain.from_iterable(free))


@settings(max_examples=examples(40))
@given(tiny_graphs(largest=5), st.integers(1, 30), st.sampled_from([0.0, 0.01, 0.1, 1.0]))
def test_weights_are_the_best(sample: PipelineInstance, limit: int, first: float) -> None:
    """Growth knows all sets of tiny graphs, so the sum is the optimum over all packings.

    Whatever weights it begins with: those that could all be larger do not stand in the way.
    """
    packings = all_packings(sample, limit)
    assume(len(packings) < 3000)
    free = free_nodes(sample)
    bounds = [(0, 0 if v in free else 1) for v in range(sample.nodes)]
    best = linprog(-np.ones(sample.nodes), packings, np.ones(len(packings)), bounds=bounds)
    weigher = Weigher(Tensors.of(sample.graph), k=0, whole=2**30)
    found = weigher.at(limit, np.full(sample.nodes, first), LooksBudget(1000))
    assert found.upper >= -best.fun - 1e-6
    assert found.lower <= found.upper + 1e-6
    assert found.lower == pytest.approx(-best.fun, abs=5 * PRECISION + 0.1 * -best.fun)
    if found.lower <= -best.fun + 1e-6:
        assert (packings @ found.weights).max() <= 1 + 1e-6


def test_master_is_the_program_of_weights() -> None:
    """Its optimum is that of the primal program, rows added later included."""
    master = Master(3, 1, most_columns=10.0)
    pool, packings = Pool(), Packings()
    for members, cost in ((0b011, 3), (0b110, 4), (0b101, 5)):
        pool.add(members, cost)
    assert master.solve(20)[1] == pytest.approx(3)
    for number, optimum in ((0, 2.0), (1, 2.0), (2, 1.5)):
        assert master.add(packings.add(pool, [number]))
        weights, total = master.solve(20)
        assert total == pytest.approx(optimum) == pytest.approx(weights.sum())
    assert not master.add(packings.add(pool, [2]))
    master.forbid(0)
    weights, total = master.solve(20)
    assert total == pytest.approx(1.0)
    assert weights[0] == pytest.approx(0.0)


def test_idle_packings_are_dropped_and_can_come_back() -> None:
    """Those that constrain the solution stay; others are not known afterwards."""
    nodes = 6
    master = Master(nodes, 1, most_columns=2.0, growth=3.0)
    pairs, triples = (
        {tuple((v, 1) for v in row) for row in itertools.combinations(range(nodes), size)}
        for size in (2, 3)
    )
    assert all(master.add(row) for row in pairs | triples)
    assert master.solve(20)[1] == pytest.approx(2.0)
    assert set(master.drop_idle()) == pairs
    assert not any(master.add(row) for row in triples)
    assert master.solve(20)[1] == pytest.approx(2.0)
    # Six for each node now, which is enough.
    assert all(master.add(row) for row in pairs)
    assert master.solve(20)[1] == pytest.approx(2.0)
    assert not master.drop_idle()


@settings(max_examples=examples(20))
@given(tiny_graphs(largest=6), st.integers(5, 30))
def test_dropping_packings_changes_no_optimum(sample: PipelineInstance, limit: int) -> None:
    """Those that the solution breaks then are added again."""
    weigher = Weigher(Tensors.of(sample.graph), k=0, whole=2**30, looseness=0.0)
    found = [
        replace(one, pool=Pool(), packings=Packings()).at(
            limit, np.full(sample.nodes, 0.5), Budget(20), 1e-4
        )
        for one in (weigher, replace(weigher, most_columns=0.5))
    ]
    assert found[1].upper == pytest.approx(found[0].upper, abs=1e-3)
    assert found[1].lower == pytest.approx(found[0].lower, abs=1e-3)


@given(tiny_graphs(largest=6), st.integers(5, 40))
def test_sets_of_another_method_bound_weights(sample: PipelineInstance, limit: int) -> None:
    """A set counts as a packing of its connected parts; what is handed on is convex and sorted."""
    tensors = Tensors.of(sample.graph)
    convex = [s for s in range(1, 1 << sample.nodes) if tensors.is_convex(s)]
    assert convex == [
        s for s in range(1, 1 << sample.nodes) if is_convex(sample, frozenset(bits_of(s)))
    ]
    assume(not free_nodes(sample))
    weigher = Known(tensors, k=0, whole=2**30)
    weigher.learn_sets(convex)
    weights = np.random.default_rng(limit).random(sample.nodes)
    heaviest = weigher.heaviest_sets(weights, limit)
    assert set(heaviest) == {s for s in convex if sum(map(tensors.cost, tensors.parts(s))) <= limit}
    heavy = [weights[list(bits_of(s))].sum() for s in heaviest]
    assert heavy == sorted(heavy, reverse=True)
    found = weigher.at(limit, weights, Budget(20))
    for members in heaviest:
        assert found.weights[list(bits_of(members))].sum() <= 1 + 1e-6


def test_packings_remember_the_least_cost() -> None:
    """Two packings with the same nodes are one row, valid from the cheaper one's cost on."""
    pool, packings = Pool(), Packings()
    for members, cost in ((0b11, 9), (0b01, 3), (0b10, 4)):
        pool.add(members, cost)
    row = packings.add(pool, [0])
    assert packings.add(pool, [1, 2]) == row == ((0, 1), (1, 1))
    assert packings.costs == {row: 7}
    assert packings.add(pool, [1, 1, 0]) == ((0, 3), (1, 1))


@given(tiny_graphs(), st.integers(0, 2**50))
def test_prices_of_all_costs_stay_small(sample: PipelineInstance, limit: int) -> None:
    """Kernels add up 64-bit integers."""
    graph = sample.graph
    whole = whole_of(graph, limit)
    assert whole * graph.dag.nodes <= LARGEST_SUM
    price = whole / max(1, limit)
    consumers = np.diff(graph.dag.consumer_start)
    assert price * (graph.work.sum() + (graph.transfer * (1 + consumers)).sum()) <= 2 * LARGEST_SUM


@settings(max_examples=examples(40))
@given(tiny_graphs(), st.integers(1, 4))
def test_a_known_partition_limits_weights(sample: PipelineInstance, k: int) -> None:
    """With its stages known, no weights come to more than k at its cost, grown sets or not."""
    sample = replace(sample, k=k)
    partition = quick_partition(sample, 1, Budget(1), 0)
    limit = sample.objective(partition)
    assume(limit > 0)
    weigher = Known(Tensors.of(sample.graph), min(k, sample.nodes), whole=2**30)
    weigher.learn(partition)
    found = weigher.at(limit, np.ones(sample.nodes), Budget(20))
    assert found.lower <= k * (1 + 1e-6)


def test_growth_looks_at_the_clock(random_graph: Callable[..., PipelineGraph]) -> None:
    """Growing sets of hundreds of nodes takes milliseconds each; all are within the limit."""
    graph = random_graph(60, 1)
    tensors, limit = Tensors.of(graph), int(graph.work.sum()) // 4
    unit = unit_of(limit)
    few = 10 * 60**2

    def grown(looks: float) -> dict[int, int]:
        weigher = Weigher(tensors, 4, whole_of(graph, limit), effort_at_a_time=few)
        known = len(weigher.pool.members)
        added = weigher.grow(graph.work / limit, limit, unit, LooksBudget(looks))
        assert len(weigher.pool.members) == known + added
        return dict(zip(weigher.pool.members[known:], weigher.pool.costs[known:], strict=True))

    assert not grown(1)
    some, more = grown(3), grown(100)
    assert 0 < len(some) < len(more)
    assert some.items() <= more.items()
    for members, cost in more.items():
        assert tensors.is_convex(members)
        assert cost == tensors.cost(members) <= limit
