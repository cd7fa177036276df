"""Tests of the search for heavy sets: against all sets, and with the checker's words."""

from dataclasses import replace
from typing import Any

import pytest
from brute_force import instance, stage_cost
from brute_force_sets import is_convex, subsets, tiny_graphs
from hypothesis import given
from hypothesis import strategies as st

from boundmark.bounds import checker
from boundmark.bounds.checker.budget import limited
from boundmark.bounds.checker.pipeline import read_instance
from boundmark.bounds.checker.pipeline.cut_tree import cut_tree, ends
from boundmark.bounds.pipeline.weights import cut_search as search
from boundmark.bounds.pipeline.weights.cut_trees import (
    HeavySets,
    Tree,
    TreeSettings,
    bounded_ends,
)
from boundmark.bounds.pipeline.weights.tensors import ANY, FIRST, LAST, Tensors, bits_of
from boundmark.problems.arrays import frozen
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import PipelineInstance

SMALL = TreeSettings(most_numbers=2**14)


def mean(sample: PipelineInstance, weights: list[int]) -> int:
    """Return what some stage weighs at least."""
    return -(-sum(weights) // sample.k)


def searched(
    sample: PipelineInstance,
    weights: list[int],
    limit: int,
    settings: TreeSettings = SMALL,
    turn: int = 10_000,
    least: int | None = None,
    position: int = ANY,
) -> Tree:
    """Return a tree that has ended."""
    least = mean(sample, weights) if least is None else least
    sets = HeavySets(frozen(weights), least, limit, position)
    tree = Tree(Tensors.of(sample.graph), sets, replace(settings, turn=turn))
    tree.run(Budget(600.0))
    return tree


def may_be(sample: PipelineInstance, members: frozenset[int], position: int) -> bool:
    """Whether a set may be a stage at a position."""
    edges = sample.graph.dag.edge_pairs().tolist()
    if position == FIRST:
        return all(u in members for u, w in edges if w in members)
    if position == LAST:
        return all(w in members for u, w in edges if u in members)
    return is_convex(sample, members)


def sets_at(sample: PipelineInstance, position: int) -> dict[frozenset[int], int]:
    """Return the sets that may be a stage at a position, and what they cost."""
    return {
        members: stage_cost(sample, set(members))
        for members in subsets(range(sample.nodes))
        if may_be(sample, members, position)
    }


def heavy_sets(
    sample: PipelineInstance, weights: list[int], least: int, position: int = ANY
) -> dict[frozenset[int], int]:
    """Return those of these sets that weigh `least` or more."""
    return {
        members: cost
        for members, cost in sets_at(sample, position).items()
        if sum(weights[v] for v in members) >= least
    }


def payload(tree: Tree, limit: int) -> dict[str, Any]:
    """Return what a search has written down, as a certificate says it."""
    return {
        "threshold": limit, "loaded": 0, "weights": tree.rule.weights.tolist(), "ends": [],
        **tree.proof(),
    }  # fmt: skip


def as_read(sample: PipelineInstance) -> Any:
    """Return an instance as the checker reads it."""
    document = sample.to_json()
    return read_instance(
        {name: document[name] for name in document if name not in ("format", "problem")}
    )


def checked(sample: PipelineInstance, content: dict[str, Any], steps: int) -> int:
    """Return what the checker makes of a payload within a number of steps."""
    graph = as_read(sample)
    with limited("a tree", steps):
        return cut_tree(graph, content)


@pytest.mark.parametrize("turn", [1, 10_000])
@given(sample=tiny_graphs(), data=st.data())
def test_ends_as_all_sets_say(sample: PipelineInstance, data: st.DataObject, turn: int) -> None:
    """Without such a set, the checker accepts what was written; with one, it is found."""
    n = sample.nodes
    sample = PipelineInstance(sample.graph, data.draw(st.integers(1, 3)))
    weights = data.draw(st.lists(st.integers(0, 50), min_size=n, max_size=n))
    weights[0] += 1
    sets = heavy_sets(sample, weights, mean(sample, weights))
    costs = min(sets.values())
    limit = max(0, costs + data.draw(st.integers(-3, 2)))
    tree = searched(sample, weights, limit, turn=turn)
    if costs <= limit:
        assert tree.ended == search.FOUND
        assert sets[frozenset(bits_of(tree.found()))] <= limit
    else:
        assert tree.ended == search.REFUTED
        before_the_tree = n * n // 4 + n + 2 * sample.graph.dag.edges
        steps = int(tree.state.counts[search.STEPS]) + before_the_tree
        content = payload(tree, limit)
        assert checked(sample, content, steps) == limit + 1
        with pytest.raises(checker.Rejected):
            checked(sample, {**content, "threshold": costs}, 10**9)


@pytest.mark.parametrize("position", [FIRST, LAST])
@given(sample=tiny_graphs(), data=st.data())
def test_the_first_and_the_last_stage(
    sample: PipelineInstance, data: st.DataObject, position: int
) -> None:
    """Only sets with all their producers, or all their consumers, are found."""
    n = sample.nodes
    weights = data.draw(st.lists(st.integers(0, 50), min_size=n, max_size=n))
    least = data.draw(st.integers(1, max(1, sum(weights))))
    limit = data.draw(st.integers(0, stage_cost(sample, set(range(n))) + 1))
    sets = heavy_sets(sample, weights, least, position)
    tree = searched(sample, weights, limit, least=least, position=position)
    if min(sets.values(), default=limit + 1) <= limit:
        assert tree.ended == search.FOUND
        assert sets[frozenset(bits_of(tree.found()))] <= limit
    else:
        assert tree.ended == search.REFUTED


@given(sample=tiny_graphs(), data=st.data())
def test_the_ends_are_bounded(sample: PipelineInstance, data: st.DataObject) -> None:
    """No set at an end weighs more, the checker says so, too, and what is left is enough."""
    n, others = sample.nodes, data.draw(st.integers(0, 3))
    sample = PipelineInstance(sample.graph, others + 2)
    weights = data.draw(st.lists(st.integers(0, 50), min_size=n, max_size=n))
    limit = data.draw(st.integers(0, stage_cost(sample, set(range(n)))))
    heaviest = [
        max(
            (
                sum(weights[v] for v in members)
                for members, cost in sets_at(sample, position).items()
                if cost <= limit
            ),
            default=0,
        )
        for position in (ANY, FIRST, LAST)
    ]
    found = bounded_ends(
        Tensors.of(sample.graph), frozen(weights), limit, [heaviest[0], 0, 0], others, SMALL,
        Budget(600.0),
    )  # fmt: skip
    left = sum(weights) - others * heaviest[0]
    # If the first stage is given too much in excess, nothing may be left for the last one.
    assert found.is_bounded or left <= sum(found.most)
    for members in found.found:
        assert stage_cost(sample, set(bits_of(members))) <= limit
    if found.is_bounded:
        assert all(most >= true for most, true in zip(found.most, heaviest[1:], strict=True))
        assert left > sum(found.most)
        graph = as_read(sample)
        with limited("two trees", found.steps + 10 * (n + sample.graph.dag.edges)):
            assert ends(graph, weights, limit, found.proofs) == (sum(found.most), others)


@given(sample=tiny_graphs(params=False), factor=st.sampled_from([10**3, 10**9, 10**13]))
def test_large_costs(sample: PipelineInstance, factor: int) -> None:
    """Flows are counted in ticks where parts of them do not fit, and nothing overflows."""
    graph = sample.graph
    large = replace(
        graph,
        work=frozen(graph.work * factor + 1),
        transfer=frozen(graph.transfer * factor),
    )
    sample = PipelineInstance(large, 2)
    weights = (graph.work + 1).tolist()
    costs = min(heavy_sets(sample, weights, mean(sample, weights)).values())
    tree = searched(sample, weights, costs - 1)
    assert tree.ended == search.REFUTED
    assert checked(sample, payload(tree, costs - 1), 10**9) == costs
    assert searched(sample, weights, costs).ended == search.FOUND


@pytest.mark.parametrize("limit", [{"most_steps": 200}, {"most_numbers": 60}])
def test_too_long_for_the_checker(limit: dict[str, int]) -> None:
    """A search ends before its proof takes more steps or numbers than it may."""
    sample = instance(
        [3, 6, 4, 7, 6, 7],
        [(0, 3), (1, 3), (1, 4), (2, 3), (2, 5), (3, 4), (3, 5)],
        2,
        transfer=[2, 0, 0, 1, 3, 1],
    )
    weights = [1797, 3636, 1838, 1838, 3636, 3636]
    assert searched(sample, weights, 20).ended == search.REFUTED
    tree = searched(sample, weights, 20, TreeSettings(**limit))
    assert tree.ended == search.TOO_LONG
    assert tree.state.counts[search.STEPS] <= limit.get("most_steps", 10**9)
    assert tree.state.counts[search.WRITTEN] <= limit.get("most_numbers", 10**9)
    assert tree.part > 0.5
