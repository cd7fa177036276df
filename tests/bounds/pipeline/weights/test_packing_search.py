import json
import math

import pytest
from brute_force import instance
from brute_force_sets import as_bits, connected_convex_sets, tiny_graphs
from hypothesis import given
from hypothesis import strategies as st

from boundmark.bounds import checker
from boundmark.bounds.checker.pipeline.packing import Sets
from boundmark.bounds.pipeline.weights.packing_search import Search, SearchSettings, Task
from boundmark.bounds.pipeline.weights.tensors import Tensors
from boundmark.problems.arrays import frozen
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import PipelineInstance


def task(
    sample: PipelineInstance, weights: list[int], front: list[int], unit: int, **settings: float
) -> Task:
    """Return what is searched for, with a limit in the middle of the last unit."""
    limit, tensors = len(front) * unit - 1 - unit // 2, Tensors.of(sample.graph)
    return Task(tensors, frozen(weights), frozen(front), unit, limit, SearchSettings(**settings))


def often_split(steps: int) -> dict[str, float]:
    """Return settings with which sets are split after as many steps, and all sets are searched."""
    return {
        "steps_with_last_flow": steps,
        "steps_with_own_flow": steps,
        "found_growth": math.inf,
    }


def exceeding(sample: PipelineInstance, given: Task) -> set[tuple[int, int]]:
    """Return the connected convex sets that exceed the front, and what they cost."""
    return {
        (as_bits(members), cost)
        for members, cost in connected_convex_sets(sample).items()
        if cost <= given.limit
        and sum(int(given.weights[v]) for v in members) > given.front[cost // given.unit]
    }


@pytest.mark.parametrize("steps", [1, 300])
@given(sample=tiny_graphs(), data=st.data())
def test_exactly_the_sets_that_exceed_the_front_are_found(
    sample: PipelineInstance, data: st.DataObject, steps: int
) -> None:
    """Each set at least once, and nothing else, however often the search is split."""
    n = sample.nodes
    weights = data.draw(st.lists(st.integers(0, 50), min_size=n, max_size=n))
    front = data.draw(st.lists(st.integers(0, 150), min_size=1, max_size=40))
    given = task(sample, weights, front, data.draw(st.integers(1, 3)), **often_split(steps))
    price = data.draw(st.integers(1, 20))
    outcome = Search(given, price).run(Budget(20), 10**9)
    assert outcome.has_ended
    assert set(outcome.found) == exceeding(sample, given)


@pytest.mark.parametrize("steps", [1, 300])
@given(sample=tiny_graphs(), data=st.data())
def test_checker_repeats_the_search(
    sample: PipelineInstance, data: st.DataObject, steps: int
) -> None:
    """It accepts the plan if nothing exceeds the front, and counts the same steps."""
    n = sample.nodes
    weights = data.draw(st.lists(st.integers(0, 50), min_size=n, max_size=n))
    shape = data.draw(st.lists(st.integers(0, 40), min_size=1, max_size=40))
    given = task(sample, weights, [0, *shape], 1, **often_split(steps))
    outcome = Search(given, 5).run(Budget(20), 10**9)
    document = sample.to_json()
    graph = checker.check_instance(document)
    sets = Sets(graph, outcome.order, weights, given.front.tolist(), given.limit, given.unit)
    flows = json.loads(json.dumps(outcome.flows))
    if outcome.found:
        with pytest.raises(checker.Rejected, match="weighs more than the front allows"):
            sets.search_all(flows, outcome.plan)
    else:
        sets.search_all(flows, outcome.plan)
        assert sets.steps == outcome.steps


LADDER = instance([5] * 12, [(i, i + 2) for i in range(10)] + [(0, 1)], 3, transfer=[3] * 12)


def test_search_stops_at_the_limits() -> None:
    """Too many steps, or no time: the search says that it has not ended."""
    everything = task(LADDER, [5] * 12, [0] + [1000] * 99, 1)
    assert Search(everything, 1).run(Budget(20), 10**9).has_ended
    tight = task(LADDER, [5] * 12, [0] + [30] * 99, 1)
    assert Search(tight, 1).run(Budget(20), 10**9).steps > 700
    assert not Search(tight, 1).run(Budget(20), 700).has_ended
    assert not Search(tight, 1).run(Budget(0), 10**9).has_ended


def test_search_that_finds_much_stops_early() -> None:
    """The weights have to change anyway."""
    given = task(LADDER, [5] * 12, [0] * 100, 1, most_found=5)
    outcome = Search(given, 1).run(Budget(20), 10**9)
    assert not outcome.has_ended
    assert len(outcome.found) == 5


def test_search_that_finds_a_set_stops_soon() -> None:
    """After as many steps again as it took to find one; more sets need weights anyway."""
    rules = {"found_growth": math.inf}, {"found_growth": 1.0}
    all_found, first = (
        Search(task(LADDER, [5] * 12, [0] + [30] * 99, 1, **given), 1).run(Budget(20), 10**9)
        for given in rules
    )
    assert all_found.has_ended
    assert set() < set(first.found) <= set(all_found.found)
    assert not first.has_ended
    assert first.steps < all_found.steps
