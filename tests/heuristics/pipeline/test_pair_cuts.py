"""Pairs of stages divided anew: cuts against all divisions, and descents against their starts."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.sparse import csr_matrix
from selection import examples

from boundmark.heuristics.effort import Effort
from boundmark.heuristics.incumbent import Incumbent
from boundmark.heuristics.pipeline import pair_cuts
from boundmark.heuristics.pipeline.annealing import refine
from boundmark.heuristics.pipeline.kernel_graph import kernel_graph
from boundmark.heuristics.pipeline.orders import fewest_open_order, noisy_own_order
from boundmark.heuristics.pipeline.pair_cut_kernels import divide_pair
from boundmark.heuristics.pipeline.pair_cuts import CutSearch, PairCutSettings
from boundmark.heuristics.pipeline.slicegraph import segment_order
from boundmark.problems.arrays import IntArray
from boundmark.problems.catalog import datasets
from boundmark.problems.dag import Dag
from boundmark.problems.devices import default_device
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import Partition, PipelineInstance
from boundmark.problems.pipeline.costs import stage_hardware
from boundmark.problems.pipeline.graph import PipelineGraph
from boundmark.problems.pipeline.instance import stage_costs
from boundmark.problems.roofline import operation_seconds, transfer_seconds
from boundmark.problems.ticks import to_nanoseconds


class Silent:
    """A progress that nobody reads."""

    def solution(self, solution: Partition) -> None:
        """Ignore it."""

    def bound(self, bound: object) -> None:
        """Ignore it."""


def flows_forward(instance: PipelineInstance, stages: IntArray) -> bool:
    """Whether tensors only flow to later stages."""
    dag = instance.graph.dag
    return bool((stages[dag.sources] <= stages[dag.targets]).all())


def movable(
    instance: PipelineInstance,
    stages: IntArray,
    first: int,
    last: int,
    corridor: float,
    order: IntArray | None = None,
) -> set[int]:
    """Return the nodes of two stages that less than a corridor separates from the boundary."""
    weight, found = instance.graph.work + 1, set()
    order = instance.graph.dag.topological_order if order is None else order
    for stage, from_afar in ((first, order), (last, order[::-1])):
        members = [int(node) for node in from_afar if stages[node] == stage]
        whole = weight[members].sum()
        farther = np.cumsum([0, *weight[members]])[:-1]
        found |= {
            node
            for node, far in zip(members, farther.tolist(), strict=True)
            if far >= (1 - corridor) * whole
        }
    return found


def divisions(
    instance: PipelineInstance, stages: IntArray, first: int, last: int, corridor: float = 1.0
):
    """Yield all partitions that differ only in who of a corridor is in which of two stages."""
    nodes = sorted(movable(instance, stages, first, last, corridor))
    for choice in itertools.product((first, last), repeat=len(nodes)):
        other = stages.copy()
        other[nodes] = choice
        if flows_forward(instance, other):
            yield other


def draw_pair(data: st.DataObject, sample: PipelineInstance) -> tuple[IntArray, int, int]:
    """Draw stages, some of them empty, and two of them."""
    count = data.draw(st.integers(2, 5))
    drawn = data.draw(
        st.lists(st.integers(0, count - 1), min_size=sample.nodes, max_size=sample.nodes)
    )
    stages = np.empty(sample.nodes, np.int64)
    stages[sample.graph.dag.topological_order] = sorted(drawn)
    first = data.draw(st.integers(0, count - 2))
    return stages, first, data.draw(st.integers(first + 1, count - 1))


def without_overflow(sample: PipelineInstance) -> PipelineInstance:
    """Return an instance whose parameters fit everywhere."""
    graph = sample.graph
    return PipelineInstance(
        PipelineGraph(
            graph.dag,
            graph.work,
            graph.transfer,
            np.zeros(graph.dag.nodes, np.int64),
            0,
            graph.names,
        ),
        sample.k,
    )


@given(data=st.data(), corridor=st.sampled_from([1.0, 0.7, 0.4]))
@settings(max_examples=examples(200))
def test_a_cut_is_the_cheapest_division(instances, data, corridor: float) -> None:
    """At equal weights, no division of the corridor has a smaller sum of both stages' costs.

    If no node can move, there is no cut.
    """
    sample = without_overflow(data.draw(instances(max_nodes=8)))
    stages, first, last = draw_pair(data, sample)
    in_pair = (stages == first) | (stages == last)
    times_first = np.zeros(sample.nodes, np.int64)
    divide_pair(
        *(kernel_graph(sample.graph), stages.copy(), first, last),
        *(sample.graph.dag.topological_order, np.array([corridor]), 1, 1, times_first),
    )
    choices = list(divisions(sample, stages, first, last, corridor))
    if len(choices) == 1:
        assert not times_first.any()
        return
    cut = np.where(in_pair, np.where(times_first > 0, first, last), stages)
    assert flows_forward(sample, cut)

    def both(candidate: IntArray) -> int:
        return int(stage_costs(sample.graph, candidate, 5)[[first, last]].sum())

    assert both(cut) == min(map(both, choices))


def least_sum(instance: PipelineInstance, stages: IntArray, free: set[int]) -> float:
    """Return the least sum of the costs of two stages 0 and 1, by a linear program.

    There is no other stage, and no overflow. With 1 for nodes in stage 1, a tensor costs either
    stage its transfer times the largest less the least of its ends. The program is the dual of a
    flow, so its optimum is integral.
    """
    graph, n = instance.graph, instance.nodes
    dag = graph.dag
    # A column for each node, then the largest and the least of the ends of each node's tensor.
    cost = np.zeros(3 * n)
    rows, columns, values = [], [], []

    def at_least(greater: int, smaller: int) -> None:
        row = len(rows) // 2
        rows.extend((row, row))
        columns.extend((greater, smaller))
        values.extend((1.0, -1.0))

    for u in range(n):
        consumers = dag.consumers_of(u).tolist()
        if consumers:
            cost[n + u], cost[2 * n + u] = 2 * graph.transfer[u], -2 * graph.transfer[u]
        for end in (u, *consumers):
            at_least(n + u, end)
            at_least(end, 2 * n + u)
        for consumer in consumers:
            at_least(consumer, u)
    matrix = csr_matrix((values, (rows, columns)), shape=(len(rows) // 2, 3 * n))
    fixed = [(0, 1) if v in free else (stages[v], stages[v]) for v in range(n)]
    found = linprog(
        cost, A_ub=-matrix, b_ub=np.zeros(matrix.shape[0]), bounds=fixed + [(0, 1)] * (2 * n)
    )
    return float(found.fun + graph.work.sum())


@given(
    data=st.data(),
    cuts=st.integers(1, 8),
    unit=st.sampled_from([1, 3]),
    corridors=st.sampled_from([[1.0], [0.8], [0.4], [0.1], [0.1, 0.8]]),
)
@settings(max_examples=examples(200))
def test_a_pair_never_gets_worse(
    instances, data, cuts: int, unit: int, corridors: list[float]
) -> None:
    """The costlier stage costs no more than before, with overflow; other stages stay as they are.

    The number returned says how many nodes moved.
    """
    sample = data.draw(instances(max_nodes=9))
    stages, first, last = draw_pair(data, sample)
    before = stage_costs(sample.graph, stages, 5)
    divided = stages.copy()
    moved = divide_pair(
        *(kernel_graph(sample.graph), divided, first, last),
        *(sample.graph.dag.topological_order, np.array(corridors), cuts, unit),
        np.zeros_like(stages),
    )
    assert flows_forward(sample, divided)
    differ = np.flatnonzero(divided != stages).tolist()
    if len(corridors) == 1:
        assert set(differ) <= movable(sample, stages, first, last, corridors[0])
    assert moved == np.count_nonzero(divided != stages)
    after = stage_costs(sample.graph, divided, 5)
    assert after[[first, last]].max() <= before[[first, last]].max()
    others = [stage for stage in range(5) if stage not in (first, last)]
    assert after[others].tolist() == before[others].tolist()


def chain(transfer: list[int], k: int) -> PipelineInstance:
    """Return nodes in a row, each with ten ticks of work."""
    nodes = len(transfer)
    costs = np.full(nodes, 10), np.array(transfer), np.zeros(nodes, np.int64)
    dag = Dag.from_edges(nodes, [(node, node + 1) for node in range(nodes - 1)])
    return PipelineInstance(PipelineGraph(dag, *costs, 0, tuple("abcdefghijkl"[:nodes])), k)


def test_neighbouring_stages_are_divided_where_little_is_transferred() -> None:
    """The boundary moves by two nodes, past one that costs more; if all may move, nothing does."""
    sample = chain([50, 50, 50, 50, 8, 50, 1, 50, 50, 50, 50, 50], 2)
    before = np.repeat([0, 1], [5, 7])
    moved, cuts = {}, 6
    for corridor in (0.7, 1.0):
        stages = before.copy()
        moved[corridor] = divide_pair(
            *(kernel_graph(sample.graph), stages, 0, 1, np.arange(12)),
            *(np.array([corridor]), cuts, 1, np.zeros(12, np.int64)),
        )
        if corridor < 1:
            assert stages.tolist() == [0] * 7 + [1] * 5
    assert moved == {0.7: 2, 1.0: 0}


@pytest.fixture(scope="module")
def training() -> PipelineInstance:
    """Return a graph of 1,592 nodes in which many tensors wait for long, in four stages."""
    model = datasets()["zoo"].load("bert-base-training")
    device, link = stage_hardware(default_device())
    work = to_nanoseconds(operation_seconds(model, device))
    transfer = to_nanoseconds(transfer_seconds(model.output_bytes, link))
    graph = PipelineGraph.without_parameters(model.dag, work, transfer, model.names)
    return PipelineInstance(graph, 4)


@pytest.mark.parametrize("corridor", [0.9, 0.6, 0.3])
@pytest.mark.parametrize("noise", [0.1, 0.3, 0.6])
def test_a_cut_of_a_large_network_is_the_cheapest(training, noise: float, corridor: float) -> None:
    """The same on 1,592 nodes, where levels are set anew many times, by another algorithm."""
    sample = PipelineInstance(training.graph, 2)
    order = noisy_own_order(sample.graph.dag, noise, np.random.default_rng(1))
    stages = np.empty(sample.nodes, np.int64)
    stages[order] = np.arange(sample.nodes) > sample.nodes // 2
    times_first = np.zeros(sample.nodes, np.int64)
    divide_pair(
        *(kernel_graph(sample.graph), stages.copy(), 0, 1, order),
        *(np.array([corridor]), 1, 1, times_first),
    )
    cut = np.where(times_first > 0, 0, 1)
    assert flows_forward(sample, cut)
    least = least_sum(sample, stages, movable(sample, stages, 0, 1, corridor, order))
    assert int(stage_costs(sample.graph, cut, 2).sum()) == pytest.approx(least, rel=1e-9)


def starts(sample: PipelineInstance) -> tuple[IntArray, IntArray]:
    """Return the two orders that `memetic` begins with."""
    return sample.graph.dag.topological_order, fewest_open_order(sample.graph)


def test_cuts_find_what_moves_do_not(training) -> None:
    """On a graph of training, descents end far below annealing with as many evaluations."""
    sample, evaluations = training, 2000
    cut: Incumbent[Partition] = Incumbent(Silent())
    CutSearch(sample, cut, starts(sample), np.random.default_rng(1)).run(Budget(60), evaluations)
    moved: Incumbent[Partition] = Incumbent(Silent())
    for order in starts(sample):
        cost, ends = segment_order(sample, order)
        moved.offer(cost, lambda order=order, ends=ends: Partition.from_segments(order, ends))
    refine(sample, moved, Budget(60), evaluations, np.random.default_rng(1))
    assert cut.cost < 0.98 * moved.cost


def test_a_search_keeps_its_own_best_partition(random_instance) -> None:
    """What another search has found is not what descents start from; both are what they cost."""
    sample = random_instance(60, 4, 1, degree=2)
    best: Incumbent[Partition] = Incumbent(Silent())
    search = CutSearch(sample, best, starts(sample), np.random.default_rng(1))
    search.run(Budget(60), 300)
    assert search.found.cost == best.cost == sample.objective(Partition(search.found.stages))
    best.cost = 1
    search.run(Budget(60), 300)
    assert best.cost == 1 < search.found.cost


def test_a_search_goes_on_where_it_stopped(random_instance) -> None:
    """The starts given come once; more effort never ends with a worse partition."""
    sample = random_instance(60, 4, 1, degree=2)
    best: Incumbent[Partition] = Incumbent(Silent())
    search = CutSearch(sample, best, starts(sample), np.random.default_rng(1))
    costs = []
    for _ in range(5):
        search.run(Budget(60), 200)
        costs.append(search.found.cost)
    assert costs == sorted(costs, reverse=True)
    again: Incumbent[Partition] = Incumbent(Silent())
    CutSearch(sample, again, starts(sample), np.random.default_rng(1)).run(Budget(60), 200)
    assert again.cost == costs[0]


def test_a_descent_cut_short_goes_on(training) -> None:
    """The next run continues from its partition, not from the next start."""
    best: Incumbent[Partition] = Incumbent(Silent())
    search = CutSearch(training, best, starts(training), np.random.default_rng(1))
    search.run(Budget(60), 100)
    assert search.ended == 0
    before = search.found.cost
    search._orders = iter(())
    search.run(Budget(60), 100)
    assert search.ended == 0
    assert search.found.cost < before


@pytest.mark.parametrize("evaluations", [1, 2, 10, 57, 1000])
def test_evaluations_are_spent_and_no_more(monkeypatch, random_instance, evaluations: int) -> None:
    """What is taken adds up to the evaluations, wherever a descent is cut short."""
    taken, take = [], Effort.take

    def count(effort: Effort, most: int) -> int:
        taken.append(take(effort, most))
        return taken[-1]

    monkeypatch.setattr(Effort, "take", count)
    sample = random_instance(40, 5, 2, degree=2)
    best: Incumbent[Partition] = Incumbent(Silent())
    search = CutSearch(sample, best, starts(sample), np.random.default_rng(1))
    search.run(Budget(60), evaluations)
    assert sum(taken) == evaluations


def test_prefixes_of_descents_are_combined() -> None:
    """A search that never combines them finds less with as many evaluations, in many stages."""
    sample = PipelineInstance(datasets()["cells"].load("nasnet-small-1"), 16)
    costs = dict.fromkeys((1.3, math.inf), 0)
    for growth, seed in itertools.product(costs, (1, 2, 3)):
        best: Incumbent[Partition] = Incumbent(Silent())
        chosen = PairCutSettings(growth=growth)
        search = CutSearch(sample, best, starts(sample), np.random.default_rng(seed), chosen)
        search.run(Budget(60), 8000)
        costs[growth] += search.found.cost
    assert costs[1.3] < costs[math.inf]


def test_pairs_too_large_are_left_out(monkeypatch, random_instance) -> None:
    """Then orders are segmented only."""
    pairs: list[int] = []
    monkeypatch.setattr(pair_cuts, "divide_pair", lambda *_: pairs.append(1))
    sample = random_instance(40, 3, 1, degree=2)
    best: Incumbent[Partition] = Incumbent(Silent())
    chosen = PairCutSettings(largest_pair=5)
    CutSearch(sample, best, starts(sample), np.random.default_rng(1), chosen).run(Budget(60), 20)
    assert not pairs
    assert best.cost <= min(segment_order(sample, order)[0] for order in starts(sample))


def test_costs_of_many_ticks_do_not_overflow(random_instance) -> None:
    """A graph whose costs are 10^10 times as large is divided as well."""
    small = random_instance(60, 4, 1, degree=2)
    graph = small.graph
    large = PipelineInstance(
        PipelineGraph(
            graph.dag,
            graph.work * 10**10,
            graph.transfer * 10**10,
            graph.param_load * 10**10,
            graph.cache * 10**10,
            graph.names,
        ),
        small.k,
    )
    costs = []
    for sample in (small, large):
        best: Incumbent[Partition] = Incumbent(Silent())
        search = CutSearch(sample, best, starts(sample), np.random.default_rng(1))
        search.run(Budget(60), 500)
        costs.append(best.cost)
    assert costs[1] == pytest.approx(costs[0] * 10**10, rel=0.05)
