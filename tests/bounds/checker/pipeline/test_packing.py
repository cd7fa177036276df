"""Tests of the checker's kind `packing/2`: what is not a proof is refused, with the reason."""

import copy
import json
import random
from functools import cache
from typing import Any
from unittest import mock

import pytest
from brute_force import instance
from brute_force_sets import connected_convex_sets, heaviest_packing, tiny_graphs
from certified import certified
from hypothesis import given
from hypothesis import strategies as st
from recording import Recorder
from selection import each_seed

from boundmark.bounds import checker
from boundmark.bounds.checker.pipeline import limits
from boundmark.bounds.checker.pipeline.packing import _heaviest
from boundmark.bounds.pipeline.weights import packing
from boundmark.bounds.pipeline.weights.packing import PackingSettings
from boundmark.bounds.pipeline.weights.packing_search import SearchSettings
from boundmark.problems.certificate import Certificate
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import PipelineInstance

Document = dict[str, Any]

NO_FLOW = {"price": 0, "edges": [], "amounts": []}


def payload(sample: PipelineInstance, threshold: int, **given: Any) -> Document:
    """Return a payload with a weight of 1 for each node, which no set may have."""
    nodes = range(sample.nodes)
    return {
        "threshold": threshold, "loaded": 0, "unit": 1, "weights": [1 for _ in nodes],
        "front": [0] * (threshold + 1), "order": list(nodes), "flows": [NO_FLOW],
        "plan": [0 for _ in nodes], "ends": [], **given,
    }  # fmt: skip


def proved(sample: PipelineInstance, content: Any) -> int:
    """Return what a payload proves."""
    certificate = Certificate.of(sample, "packing/2", 0, content, "nobody")
    return checker.check_certificate(sample.to_json(), certificate.to_json())


PAIR = instance([5, 6], [(0, 1)], 2, transfer=[2, 0])

BAD: dict[str, tuple[Document, str]] = {
    "no threshold": ({"threshold": -1}, "threshold of the payload is not an integer from 0"),
    "huge threshold": ({"threshold": 2**81}, "threshold of the payload is not an integer from 0"),
    "loaded twice": ({"loaded": 2}, "loaded of the payload is not an integer from 0 to 1"),
    "no unit": ({"unit": 0}, "unit of the payload is not an integer from 1"),
    "coarse unit": ({"unit": 2}, "front of the payload is not 0 and one for each unit up to the"),
    "negative weight": ({"weights": [1, -1]}, "weights of the payload is not an integer from 0"),
    "huge weight": ({"weights": [1, 2**80 + 1]}, "weights of the payload is not an integer from 0"),
    "weights too long": ({"weights": [1, 1, 1]}, "weights of the payload is not one for each node"),
    "weights too short": ({"weights": [1]}, "weights of the payload is not one for each node"),
    "weight of no number": ({"weights": [1, 0.5]}, "weights of the payload is not an integer"),
    "light weights": ({"weights": [0, 0]}, "the weights do not refute the threshold"),
    "front too short": ({"front": [0] * 6}, "front of the payload is not 0 and one for each unit"),
    "front too long": ({"front": [0] * 8}, "front of the payload is not 0 and one for each unit"),
    "front of nothing": ({"front": [1] * 7}, "front of the payload is not 0 and one for each unit"),
    "front of thousands": ({"front": [0] * 8193}, "front of the payload is too long"),
    "generous front": ({"front": [0, 1, 1, 1, 1, 1, 1]}, "the weights do not refute the threshold"),
    "generous to large sets": ({"front": [0] * 6 + [1]}, "the weights do not refute the threshold"),
    "node twice": ({"order": [0, 0]}, "order of the payload is not each node once"),
    "node missing": ({"order": [1]}, "order of the payload is not each node once"),
    "node unknown": ({"order": [0, 2]}, "order of the payload is not an integer from 0 to 1"),
    "flows of no list": ({"flows": {}}, "flows of the payload is not a list"),
    "unknown flow": ({"plan": [0, 1]}, "plan of the payload is not an integer from -1 to 0"),
    "short plan": ({"plan": [0]}, "plan of the payload ends before all sets are searched"),
    "long plan": ({"plan": [0, 0, 0]}, "plan of the payload goes on when all sets are searched"),
    "root that stays whole": (
        {"plan": [limits.SPLIT, 0, 0, limits.SPLIT]},
        "plan of the payload splits what cannot be split",
    ),
    "flow without price": ({"flows": [{"edges": [], "amounts": []}]}, "it lacks price"),
    "negative price": ({"flows": [{**NO_FLOW, "price": -1}]}, "price of a flow is not an integer"),
    "unknown edge": (
        {"flows": [{"price": 9, "edges": [1], "amounts": [0]}]},
        "edges of a flow is not an integer from 0 to 0",
    ),
    "amounts missing": (
        {"flows": [{"price": 9, "edges": [0], "amounts": []}]},
        "edges and amounts of a flow are not of one length",
    ),
    "too much for the price": (
        {"flows": [{"price": 3, "edges": [0], "amounts": [7]}]},
        "a flow sends more than a tensor lets through",
    ),
    "too much backwards": (
        {"flows": [{"price": 3, "edges": [0], "amounts": [-7]}]},
        "a flow sends more than a tensor lets through",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_payloads(name: str) -> None:
    """Each is one change away from a proof that two nodes of 5 and 6 ticks need 7."""
    good = payload(PAIR, 6)
    assert proved(PAIR, good) == 7
    change, reason = BAD[name]
    with pytest.raises(checker.Rejected) as caught:
        proved(PAIR, {**good, **change})
    assert reason in str(caught.value)


@pytest.mark.parametrize("unit", [1, 2, 3, 6, 7, 100])
def test_units_of_any_size(unit: int) -> None:
    """The front has an entry for each unit that is begun."""
    given_payload = payload(PAIR, 6, unit=unit, front=[0] * (6 // unit + 1))
    assert proved(PAIR, given_payload) == 7
    for front in ([0] * (6 // unit), [0] * (6 // unit + 2)):
        with pytest.raises(checker.Rejected, match=r"not 0 and one for each unit up to the limit"):
            proved(PAIR, {**given_payload, "front": front})


@each_seed(range(80))
def test_heaviest_sets_together(seed: int) -> None:
    """Any number of sets that have so many units together, each as heavy as the front allows."""
    dice = random.Random(seed)
    front = [0, *(dice.randrange(9) for _ in range(dice.randrange(9)))]

    def most(units: int) -> int:
        return max((front[used] + most(units - used) for used in range(1, units + 1)), default=0)

    assert _heaviest(front) == most(len(front) - 1)


def test_a_node_that_costs_more_than_the_threshold_refutes_it() -> None:
    """No set with that node is within the limit, so that its weight is its own."""
    sample = instance([9, 1], [], 1)
    assert proved(sample, payload(sample, 8, weights=[1, 0])) == 9
    with pytest.raises(checker.Rejected, match="a set of nodes weighs more than the front allows"):
        proved(sample, payload(sample, 9, weights=[1, 0]))


def test_no_stage_is_left_empty_for_weight() -> None:
    """There are at most as many stages with nodes as nodes."""
    sample = instance([9, 9], [(0, 1)], 5, transfer=[0, 0])
    assert proved(sample, payload(sample, 8, weights=[1, 1])) == 9


def test_graphs_too_large_are_not_begun() -> None:
    """Neither nodes nor edges beyond what the checker can hold."""
    refused = pytest.raises(checker.TooLarge, match="too large for a packing")
    with mock.patch.object(limits, "LARGEST_PACKING_GRAPH", 1), refused:
        proved(PAIR, payload(PAIR, 6))
    with mock.patch.object(limits, "MOST_PACKING_EDGES", 0), refused:
        proved(PAIR, payload(PAIR, 6))


def test_search_ends_with_its_steps() -> None:
    """A search is refused by its own limit, whatever a check has left."""
    refused = pytest.raises(checker.TooLarge, match="too many sets to check")
    with mock.patch.object(limits, "MOST_PACKING_STEPS", 20), refused:
        proved(PAIR, payload(PAIR, 6))


@cache
def split_certificate() -> Document:
    """Return a certificate of an optimum whose search has flows of its own, and splits."""
    reports = Recorder()
    hasty = SearchSettings(steps_with_last_flow=1, steps_with_own_flow=1)
    instance = certified("pipeline", "packing").instance
    assert isinstance(instance, PipelineInstance)
    packing.run(
        instance, Budget(20), 1, reports, precision=0.0, settings=PackingSettings(search=hasty)
    )
    document: Document = json.loads(json.dumps(reports.bounds[-1].to_json()))
    return document


@pytest.mark.slow
@pytest.mark.parametrize("missing", range(40))
def test_every_entry_of_the_plan_is_needed(missing: int) -> None:
    """A plan without one of its entries leaves out sets, or does not fit."""
    sample = certified("pipeline", "packing")
    document = copy.deepcopy(split_certificate())
    plan = document["payload"]["plan"]
    del plan[missing % len(plan)]
    with pytest.raises(checker.Rejected, match="plan of the payload"):
        checker.check_certificate(sample.document, document)


@given(sample=tiny_graphs(largest=5), data=st.data())
def test_accepted_fronts_hold_for_all_sets(sample: PipelineInstance, data: st.DataObject) -> None:
    """A front is accepted if no set exceeds it, found by exhaustion, and no packing refutes it."""
    n = sample.nodes
    threshold = data.draw(st.integers(0, 25))
    weights = data.draw(st.lists(st.integers(0, 9), min_size=n, max_size=n))
    front = [0, *data.draw(st.lists(st.integers(0, 30), min_size=threshold, max_size=threshold))]
    given_payload = payload(sample, threshold, weights=weights, front=front)
    sets = connected_convex_sets(sample)
    is_above = any(
        sum(weights[v] for v in members) > front[cost]
        for members, cost in sets.items()
        if cost <= threshold
    )
    reason = ""
    try:
        proved(sample, given_payload)
    except checker.Rejected as error:
        reason = str(error)
    assert is_above or "more than the front" not in reason
    if reason:
        assert "more than the front" in reason or "do not refute" in reason
        return
    assert not is_above
    # Sets that weigh something cost something, or the front would forbid them.
    assert sum(weights) > min(sample.k, n) * heaviest_packing(sets, weights, threshold)
