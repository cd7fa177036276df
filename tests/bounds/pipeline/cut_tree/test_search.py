"""Tests of the search for heavy convex sets: against all sets, and with the checker's words."""

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
from boundmark.bounds.checker.pipeline.cut_tree import cut_tree
from boundmark.bounds.pipeline.cut_tree import search
from boundmark.bounds.pipeline.cut_tree.method import CutTreeSettings, entries, start_search
from boundmark.bounds.pipeline.cut_tree.search import Rule, Search
from boundmark.bounds.pipeline.packing.tensors import Tensors
from boundmark.problems.arrays import frozen
from boundmark.problems.pipeline import PipelineInstance

SMALL = CutTreeSettings(most_numbers=2**14)


def searched(
    sample: PipelineInstance,
    weights: list[int],
    limit: int,
    settings: CutTreeSettings = SMALL,
    branches: int = 1000,
) -> tuple[int, Rule, Search]:
    """Return how a search ends, and its rule and last state."""
    tensors = Tensors.of(sample.graph)
    rule, state = start_search(tensors, sample.k, frozen(weights), limit, settings)
    ended = search.RUNNING
    while ended == search.RUNNING:
        ended = search.proceed(rule, state, branches)
    return ended, rule, state


def heavy_sets(sample: PipelineInstance, weights: list[int]) -> dict[frozenset[int], int]:
    """Return the convex sets that weigh the mean over the stages, and what they cost."""
    least = -(-sum(weights) // sample.k)
    return {
        members: stage_cost(sample, set(members))
        for members in subsets(range(sample.nodes))
        if sum(weights[v] for v in members) >= least and is_convex(sample, members)
    }


def payload(rule: Rule, state: Search, limit: int) -> dict[str, Any]:
    """Return what a search has written down, as a certificate says it."""
    return {
        "threshold": limit, "loaded": 0, "scale": int(rule.scalars[search.SCALE]),
        "weights": rule.weights.tolist(), "nodes": entries(state),
    }  # fmt: skip


def checked(sample: PipelineInstance, content: dict[str, Any], steps: int) -> int:
    """Return what the checker makes of a payload within a number of steps."""
    document = sample.to_json()
    given = {name: document[name] for name in document if name not in ("format", "problem")}
    graph = read_instance(given)
    with limited("a tree", steps):
        return cut_tree(graph, content)


@pytest.mark.parametrize("branches", [1, 1000])
@given(sample=tiny_graphs(), data=st.data())
def test_ends_as_all_sets_say(sample: PipelineInstance, data: st.DataObject, branches: int) -> None:
    """Without such a set, the checker accepts what was written; with one, it is found."""
    n = sample.nodes
    sample = PipelineInstance(sample.graph, data.draw(st.integers(1, 3)))
    weights = data.draw(st.lists(st.integers(0, 50), min_size=n, max_size=n))
    weights[0] += 1
    sets = heavy_sets(sample, weights)
    costs = min(sets.values())
    limit = max(0, costs + data.draw(st.integers(-3, 2)))
    ended, rule, state = searched(sample, weights, limit, branches=branches)
    if costs <= limit:
        assert ended == search.FOUND
        sides = state.sides[state.counts[search.DEPTH]]
        members = frozenset(v for v in range(n) if sides[v] == search.INSIDE)
        assert sets[members] <= limit
    else:
        assert ended == search.REFUTED
        before_the_tree = n * n // 4 + n + 2 * sample.graph.dag.edges
        steps = int(state.counts[search.STEPS]) + before_the_tree
        content = payload(rule, state, limit)
        assert checked(sample, content, steps) == limit + 1
        with pytest.raises(checker.Rejected):
            checked(sample, {**content, "threshold": costs}, 10**9)


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
    costs = min(heavy_sets(sample, weights).values())
    ended, rule, state = searched(sample, weights, costs - 1)
    assert ended == search.REFUTED
    assert checked(sample, payload(rule, state, costs - 1), 10**9) == costs
    assert searched(sample, weights, costs)[0] == search.FOUND


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
    assert searched(sample, weights, 20)[0] == search.REFUTED
    ended, _, state = searched(sample, weights, 20, CutTreeSettings(**limit))
    assert ended == search.TOO_LONG
    assert state.counts[search.STEPS] <= limit.get("most_steps", 10**9)
    assert state.counts[search.WRITTEN] <= limit.get("most_numbers", 10**9)
