import copy
import itertools
from typing import Any

import numpy as np
import pytest
from brute_force import instance, instances, optimum, stage_cost
from hypothesis import given, settings
from recording import record
from selection import examples

from boundmark.benchmarks.model import named_instance
from boundmark.bounds import checker
from boundmark.bounds.checker import budget as checker_budget
from boundmark.bounds.pipeline.quick_partition import segmented, segmented_along
from boundmark.bounds.pipeline.trees import anchor_tree
from boundmark.bounds.pipeline.trees.anchor_tree import Positions, widest_span
from boundmark.problems.certificate import Certificate
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import PipelineInstance
from boundmark.problems.pipeline.instance import stage_costs


def best(sample: PipelineInstance, seconds: float = 60) -> Certificate:
    """Return the last certificate; all are checked, and each is better than those before."""
    bounds = record("anchor-tree", sample, seconds=seconds).bounds
    assert [one.bound for one in bounds] == sorted({one.bound for one in bounds})
    for one in bounds:
        assert isinstance(one, Certificate)
        assert checker.check_certificate(sample.to_json(), one.to_json()) == one.bound
    found = bounds[-1]
    assert isinstance(found, Certificate)
    return found


def there_and_back(layers: int, *, saved: int, k: int) -> PipelineInstance:
    """Return a chain forward and a chain back, in which each node reads what its mirror wrote."""
    n = 2 * layers
    edges = {(v, v + 1) for v in range(n - 1)} | {(v, n - 1 - v) for v in range(layers)}
    return instance([1] * n, sorted(edges), k, transfer=[saved] * layers + [0] * layers)


def least_around(sample: PipelineInstance, anchor: int) -> int:
    """Return the optimum over the three superblocks around the anchor's stage, by enumeration."""
    costs = []
    edges = sample.graph.dag.edge_pairs().tolist()
    for sides in itertools.product(range(3), repeat=sample.nodes):
        if sides[anchor] != 1 or any(sides[u] > sides[w] for u, w in edges):
            continue
        before, middle, after = (
            stage_cost(sample, {v for v, side in enumerate(sides) if side == part})
            for part in range(3)
        )
        for stage in range(sample.k):
            ends = (before, stage, 0 in sides), (after, sample.k - 1 - stage, 2 in sides)
            if all(count or not is_used for _, count, is_used in ends):
                costs.append(max([middle, *(-(-cost // max(count, 1)) for cost, count, _ in ends)]))
    return min(costs)


@settings(deadline=None, max_examples=examples(30))
@given(instances())
def test_never_above_the_optimum(sample: PipelineInstance) -> None:
    """Tiny instances with every cost term, against all partitions."""
    assert best(sample).bound <= optimum(sample)


@settings(deadline=None, max_examples=examples(30))
@given(instances())
def test_partitions_get_better(sample: PipelineInstance) -> None:
    """Each partition is better than those before, and none than the last bound."""
    reports = record("anchor-tree", sample)
    costs = [sample.objective(partition) for partition in reports.solutions]
    assert costs == sorted(set(costs), reverse=True)
    assert all(cost >= reports.bounds[-1].bound for cost in costs)


def test_places_of_a_program() -> None:
    """What comes before the anchor is never behind its stage, and what comes after never before."""
    sample = there_and_back(4, saved=3, k=3)
    positions = Positions(sample, 3, 20, Budget(60))
    while len(positions.places) < 2 and positions.improve():
        pass
    assert len(positions.places) == 2
    for places in positions.places:
        assert places[3] == 1
        assert (places[:3] <= 1 + 1e-6).all()
        assert (places[4:] >= 1 - 1e-6).all()


@settings(deadline=None, max_examples=examples(30))
@given(instances())
def test_trees_get_as_far_as_their_program(sample: PipelineInstance) -> None:
    """Trees that are grown to the end prove the optimum of the program, without parameters."""
    free = instance(
        sample.graph.work.tolist(),
        sample.graph.dag.edge_pairs().tolist(),
        sample.k,
        transfer=sample.graph.transfer.tolist(),
    )
    anchor = 0
    least = least_around(free, anchor)
    threshold = max(least, int(free.graph.work.max()), 1)
    positions = Positions(free, anchor, threshold, Budget(60))
    while positions.improve():
        pass
    # Shares at the threshold, and rounding at the end of each leaf, may add to the program.
    assert least <= positions.bound <= max(optimum(free), threshold + 1)


def test_a_bound_that_is_met_ends_the_search() -> None:
    """A few branches do, though many nodes are in windows of all superblocks, and it is in places.

    Each node of the way back also reads what a node beside both ways made of its mirror's output.
    """
    n = 12
    edges = [(v, v + 1) for v in range(2 * n - 1)]
    edges += [(v, 2 * n + v) for v in range(n - 1)]
    edges += [(2 * n + v, 2 * n - 1 - v) for v in range(n - 1)]
    work = [3 + v % 4 for v in range(2 * n)] + [1 + v % 2 for v in range(n - 1)]
    transfer = [2 + v % 3 for v in range(3 * n - 1)]
    sample = instance(work, sorted(edges), 4, transfer=transfer)
    positions, steps, met = Positions(sample, n - 1, 10**6, Budget(60)), 0, []
    while positions.improve():
        steps += 1
        met += [
            stage_costs(sample.graph, places.astype(np.int64), 3)
            for places in positions.places
            if set(places) <= {0, 1, 2}
        ]
    assert steps < 50
    assert min(max(one[0], one[1], one[2] / 2) for one in met) <= positions.bound


@pytest.mark.parametrize("k", [2, 3, 4])
def test_turning_point(k: int) -> None:
    """Where a chain turns back is the anchor, and the bound is near the optimum."""
    sample = there_and_back(4, saved=3, k=k)
    assert widest_span(sample.graph) in (3, 4)
    assert best(sample, seconds=5).bound >= 0.8 * optimum(sample)


def test_no_tensor_waits() -> None:
    """Nodes that read nothing of each other have no anchor, and the mean work is all there is."""
    sample = instance([3, 4, 5], [], 2)
    assert widest_span(sample.graph) is None
    assert best(sample).bound == 6


def spans_by_definition(sample: PipelineInstance) -> list[int]:
    """Return what `spans` returns, from sets of all that depends on each node."""
    dag = sample.graph.dag
    after: list[set[int]] = [set() for _ in range(dag.nodes)]
    for v in dag.topological_order.tolist()[::-1]:
        after[v] = {v}.union(*(after[w] for w in dag.consumers_of(v).tolist()))
    return [
        sum(
            int(sample.graph.transfer[u])
            for u in range(dag.nodes)
            if v in after[u] and after[v].intersection(dag.consumers_of(u).tolist())
        )
        for v in range(dag.nodes)
    ]


@given(instances())
def test_widest_span(sample: PipelineInstance) -> None:
    """The anchor is the first node with the largest span."""
    # A node of five by itself is a tenth of the nodes and more.
    expected = spans_by_definition(sample)
    found = widest_span(sample.graph)
    assert found == (int(np.argmax(expected)) if max(expected) else None)


def test_much_comes_before_and_after_the_anchor() -> None:
    """The large tensor at the end of a chain is passed over."""
    n = 30
    sample = instance([1] * n, [(v, v + 1) for v in range(n - 1)], 2, transfer=[1] * 28 + [99, 0])
    anchor = widest_span(sample.graph)
    assert anchor is not None
    assert 0.1 * n <= anchor + 1 <= 0.9 * n + 1


def decided() -> tuple[PipelineInstance, dict[str, Any]]:
    """Return an instance, and a certificate that cannot be better."""
    sample = there_and_back(4, saved=5, k=3)
    found = best(sample, seconds=5)
    assert found.kind == "bottleneck-guess-tree/1"
    return sample, found.to_json()


def test_corrupted_certificates_prove_nothing_false() -> None:
    """A higher bound, no multipliers, another anchor or a position left out: none is accepted."""
    sample, document = decided()
    for change in ("bound", "leaves", "anchor", "position"):
        changed = copy.deepcopy(document)
        payload = changed["payload"]
        if change == "bound":
            changed["bound"] += 1
        elif change == "leaves":
            for node in payload["nodes"]:
                if isinstance(node, dict):
                    node["cost"] = []
        elif change == "anchor":
            payload["demand"] = payload["demand"][1:] + payload["demand"][:1]
        else:
            payload["nodes"] = payload["nodes"][: len(payload["nodes"]) // 2]
        with pytest.raises(checker.Rejected):
            checker.check_certificate(sample.to_json(), changed)


def test_trees_do_not_outgrow_the_checker(monkeypatch: pytest.MonkeyPatch) -> None:
    """What can no longer be checked is not reported, and the method ends."""
    sample = there_and_back(6, saved=3, k=4)
    monkeypatch.setattr(checker_budget, "MOST_STEPS", 500)
    bounds = record("anchor-tree", sample, seconds=10).bounds
    assert {one.kind for one in bounds} == {"mean-work/1"}


def test_graph_beyond_the_checker(monkeypatch: pytest.MonkeyPatch) -> None:
    """The method says so instead of building programs."""
    monkeypatch.setattr(anchor_tree, "LARGEST_TREE_GRAPH", 5)
    with pytest.raises(UnsupportedError, match="12 nodes or stages; expected at most 5"):
        record("anchor-tree", there_and_back(6, saved=3, k=4))


@pytest.mark.slow
def test_training_graph() -> None:
    """A model with its backward pass, in some seconds: half above `forced-transfer`."""
    sample = named_instance("zoo/gpt-2-training", {"k": "4"}, "pipeline").instance
    assert isinstance(sample, PipelineInstance)
    separated = record("forced-transfer", sample, seconds=60).bounds[-1].bound
    reports = record("anchor-tree", sample, seconds=30).bounds
    assert reports[-1].bound > 1.4 * separated


@pytest.mark.slow
def test_partitions_of_a_training_graph() -> None:
    """Some programs of its trees lead to a partition that no segmentation of the order is."""
    sample = named_instance("zoo/bert-base-training", {"k": "4"}, "pipeline").instance
    assert isinstance(sample, PipelineInstance)
    anchor = widest_span(sample.graph)
    assert anchor is not None
    positions, costs = Positions(sample, anchor, 12_000_000, Budget(300)), []
    for _ in range(10):
        assert positions.improve()
        if positions.places:
            costs.append(sample.objective(segmented_along(sample, positions.places.pop())))
    plain = sample.objective(segmented(sample, sample.graph.dag.topological_order))
    assert min(costs) < 0.8 * plain
