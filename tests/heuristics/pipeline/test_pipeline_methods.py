"""Every heuristic on tiny instances with known optima, and what each one alone promises."""

import numpy as np
import pytest
from brute_force import instance
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import examples

from boundmark.heuristics.pipeline import METHODS
from boundmark.heuristics.pipeline.pipedream import crossing_transfer
from boundmark.heuristics.pipeline.slicegraph import arrangement_cost, segment_order
from boundmark.problems.dag import Dag
from boundmark.problems.method import Method
from boundmark.problems.pipeline import Partition, PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph

BY_NAME = {method.name: method for method in METHODS}
# Enough to see every step of a search, on graphs of a few nodes.
FEW = {"samples": 30, "population": 10, "generations": 4, "evaluations": 100}


def few(method: Method) -> dict[str, int]:
    """Return parameters that keep a search short."""
    return {name: value for name, value in FEW.items() if name in method.params}


@pytest.mark.parametrize(
    "method", [method for method in METHODS if method.seeded], ids=lambda method: method.name
)
def test_the_seed_decides(run, random_instance, method: Method) -> None:
    """One seed gives the same partitions again; of several seeds, not all give the same."""
    sample = random_instance(60, 8, 1)
    runs = [
        [partition.stages.tolist() for partition in recorder.partitions]
        for recorder in (run(method, sample, seed=seed, **few(method)) for seed in (1, 1, 2, 3))
    ]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2] or runs[0] != runs[3]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_a_spent_budget_still_gives_a_solution(run, random_instance, method: Method) -> None:
    """A method that starts late evaluates one candidate, reports it and stops."""
    assert len(run(method, random_instance(60, 8, 1), seconds=0).objectives) == 1


@pytest.mark.parametrize(
    ("name", "evaluations"), [("brkga-100", 100), ("brkga-10000", 10_000), ("mla", 10_000)]
)
def test_names_have_the_number_of_evaluations(name: str, evaluations: int) -> None:
    """The number in a name is the number of orders decoded, which `evolve` spends exactly."""
    params = BY_NAME[name].params
    assert params["population"] * params["generations"] == evaluations


def test_evolution_beats_sampling(run, random_instance) -> None:
    """At equal evaluations the elite's keys are worth something."""
    sample = random_instance(100, 8, 2)
    evolved = run(BY_NAME["brkga-10000"], sample, population=50, generations=40)
    sampled = run(BY_NAME["random-10000"], sample, samples=2000)
    assert evolved.objectives[-1] < sampled.objectives[-1]


def test_samples_are_nested(run, random_instance) -> None:
    """More samples with the same seed only add to the fewer."""
    sample = random_instance(60, 8, 1)
    one, many = (
        run(BY_NAME["random-1"], sample),
        run(BY_NAME["random-100"], sample),
    )
    assert many.objectives[0] == one.objectives[0]
    assert min(many.objectives) <= min(one.objectives)


def test_slicegraph_reports_the_best_segmentation(run, random_instance) -> None:
    """On the graph's own order."""
    sample = random_instance(60, 8, 1)
    expected, _ = segment_order(sample, sample.graph.dag.topological_order)
    assert run(BY_NAME["slicegraph"], sample).objectives == [expected]


def test_uniform_stages_differ_by_one_node_at_most(run, random_instance) -> None:
    """Eleven nodes in four stages are 2 or 3 each."""
    recorder = run(BY_NAME["uniform"], random_instance(11, 4, 1))
    assert set(np.bincount(recorder.partitions[0].stages, minlength=4)) == {2, 3}


@given(data=st.data())
@settings(max_examples=examples(40))
def test_balanced_work_minimises_the_greatest_work(instances, all_segmentations, run, data) -> None:
    """No segmentation of the same order has less work in its busiest stage."""
    sample = data.draw(instances(max_nodes=8))
    order, work = sample.graph.dag.topological_order, sample.graph.work

    def greatest(partition: Partition) -> int:
        return int(np.bincount(partition.stages, weights=work).max())

    best = min(
        greatest(Partition.from_segments(order, ends))
        for ends in all_segmentations(sample.nodes, sample.k)
    )
    assert greatest(run(BY_NAME["balanced-work"], sample).partitions[0]) == best


@pytest.mark.parametrize(
    ("sizes", "k", "stages"),
    [
        # 1/3 of all is 4: the second operator has more, and ends its stage; so does the fourth.
        ([0, 5, 0, 7, 0, 0], 3, [0, 0, 1, 1, 2, 2]),
        # The third operator no longer fits beside the others, and begins a stage.
        ([2, 2, 3, 1, 0, 4], 3, [0, 0, 1, 1, 1, 2]),
        # Nothing is cut after the last stage has begun.
        ([5, 5, 5, 5], 2, [0, 0, 1, 1]),
        ([9, 1, 1, 1], 2, [0, 1, 1, 1]),
        ([1, 1], 5, [0, 1]),
    ],
)
def test_pippy_divides_parameters(run, sizes: list[int], k: int, stages: list[int]) -> None:
    """Its rule, counted by hand on chains."""
    count = len(sizes)
    chain = Dag.from_edges(count, [(v, v + 1) for v in range(count - 1)])
    ones = np.ones(count, np.int64)
    graph = PipelineGraph(chain, ones, ones, np.array(sizes), 99, tuple(map(str, range(count))))
    assert run(BY_NAME["pippy"], PipelineInstance(graph, k)).partitions[0].stages.tolist() == stages


def path_cost(sample: PipelineInstance, ends: list[int]) -> int:
    """Return the bottleneck stage's cost by PipeDream's model, cut by cut, tensor by tensor."""
    order = sample.graph.dag.topological_order.tolist()

    def crossing(cut: int) -> int:
        early, late = set(order[:cut]), set(order[cut:])
        return sum(
            int(sample.graph.transfer[u])
            for u in early
            if late & set(sample.graph.dag.consumers_of(u).tolist())
        )

    stages = zip([0, *ends], ends, strict=False)
    return max(
        max(int(sample.graph.work[order[first:end]].sum()), crossing(first) + crossing(end))
        for first, end in stages
    )


@given(data=st.data())
@settings(max_examples=examples(60))
def test_pipedream_is_optimal_in_its_model(instances, all_segmentations, run, data) -> None:
    """None of the same order is cheaper when tensors are relayed and overlap with work."""
    sample = data.draw(instances(max_nodes=7))
    best = min(
        path_cost(sample, ends.tolist()) for ends in all_segmentations(sample.nodes, sample.k)
    )
    stages = run(BY_NAME["pipedream"], sample).partitions[0].stages
    ends = np.cumsum(np.bincount(stages))
    assert path_cost(sample, ends.tolist()) == best


def test_crossing_transfer_counts_relayed_tensors() -> None:
    """A tensor needed two nodes on crosses both cuts, once each; a result without use none."""
    graph = instance([1, 1, 1], [(0, 1), (0, 2)], 3, transfer=[7, 5, 3]).graph
    assert crossing_transfer(graph, graph.dag.topological_order).tolist() == [0, 7, 7, 0]


def test_arrangement_cost_weighs_distances() -> None:
    """Order 0, 2, 1 with edges 0 -> 1 (weight 10) and 0 -> 2 (weight 1) costs 10 x 2 + 1."""
    order, sources, targets = np.array([0, 2, 1]), np.array([0, 0]), np.array([1, 2])
    assert arrangement_cost(order, sources, targets, np.array([10, 1])) == 21
