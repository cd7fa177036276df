"""Payloads of the kind `reach` that are not what they should be, and some that look as if."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
from brute_force import instance
from brute_force_prefixes import stages
from certified import certified

from boundmark.bounds import checker
from boundmark.bounds.checker.pipeline.limits import (
    LARGEST_TREE_GRAPH,
    TREE_SHARE_UNITS,
)
from boundmark.problems.certificate import Certificate

Payload = dict[str, Any]

SAMPLE = ("pipeline", "prefix-bound")


def changed(change: Callable[[Payload], Any]) -> dict[str, Any]:
    """Return the certificate of the tiny instance with something done to its payload."""
    document = copy.deepcopy(certified(*SAMPLE).certificate)
    change(document["payload"])
    return document


def set_step(**values: Any) -> Callable[[Payload], Any]:
    """Return a change of fields of the first step."""
    return lambda payload: payload["steps"][0].update(values)


def set_fields(**values: Any) -> Callable[[Payload], Any]:
    """Return a change of fields of the payload."""
    return lambda payload: payload.update(values)


def set_leaf(**values: Any) -> Callable[[Payload], Any]:
    """Return a change of all leaves of the first step."""

    def change(payload: Payload) -> None:
        for node in payload["steps"][0]["nodes"]:
            if isinstance(node, dict):
                node.update(values)

    return change


BAD: dict[str, tuple[Callable[[Payload], Any], str]] = {
    "no weights": (lambda payload: payload.pop("weights"), "it lacks weights"),
    "another field": (set_fields(demand=[]), "it has 'demand'"),
    "negative threshold": (set_fields(threshold=-1), "threshold of the payload is not an integer"),
    "weights too few": (set_fields(weights=[1, 2]), "weights of the payload is not one for each"),
    "weights too many": (set_fields(weights=[1] * 9), "weights of the payload is not one for each"),
    "negative weight": (
        lambda payload: payload["weights"].__setitem__(0, -1),
        "an entry of weights of the payload is not an integer from 0",
    ),
    "huge weight": (
        lambda payload: payload["weights"].__setitem__(0, 2**81),
        "an entry of weights of the payload is not an integer from 0",
    ),
    "weights as a text": (set_fields(weights="1111"), "weights of the payload is not a list"),
    "half a move": (set_fields(moves=[0]), "moves of the payload is not a list of edges"),
    "move along no edge": (set_fields(moves=[99, 1]), "moves of the payload is not a list of"),
    "negative move": (set_fields(moves=[0, -1]), "an entry of moves of the payload is not"),
    "move beyond a tensor": (
        set_fields(moves=[0, 2**60]),
        "moves of the payload take more along a tensor than its transfer",
    ),
    "move beyond a tensor in parts": (
        set_fields(moves=[0, 2**30] * 99),
        "moves of the payload take more along a tensor than its transfer",
    ),
    "steps as an object": (set_fields(steps={}), "steps of the payload is not a list"),
    "no steps": (set_fields(steps=[]), "the steps do not refute the threshold"),
    "a step is a list": (set_fields(steps=[[]]), "a step is not an object with the fields"),
    "first too late": (set_step(first=9), "first of a step is not an integer from 0 to 1"),
    "first negative": (set_step(first=-1), "first of a step is not an integer from 0 to 1"),
    "last before first": (set_step(first=1, last=0), "last of a step is not an integer from 1 to"),
    "last too late": (set_step(last=2), "last of a step is not an integer from 0 to 1"),
    "another side": (set_step(side="middle"), "side of a step is neither 'upper' nor 'lower'"),
    "side is a list": (set_step(side=[]), "side of a step is neither 'upper' nor 'lower'"),
    "limit below all": (set_step(limit=-2), "limit of a step is not an integer from -1"),
    "no nodes": (set_step(nodes=[]), "nodes of a step has fewer entries than the tree"),
    "a node too many": (
        lambda payload: payload["steps"][0]["nodes"].append([0, 0]),
        "nodes of a step has more entries than the tree",
    ),
    "branching on no node": (set_step(nodes=[[99, 0]]), "node of a branching is not an integer"),
    "branching on no stage": (set_step(nodes=[[0, 7]]), "stage of a branching is not an integer"),
    "empty leaf": (
        set_leaf(at_least=[]),
        "a leaf of a step does not prove the step's limit",
    ),
    "row that there is not": (set_leaf(at_least=[9, 1]), "at_least of a leaf is not a list of"),
    "row of a demand": (set_leaf(demand=[]), "it has 'demand'"),
    "negative multiplier": (set_leaf(cost=[1, -1]), "an entry of cost of a leaf is not an integer"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_payloads_are_told(name: str) -> None:
    """What is wrong is said in a sentence."""
    change, reason = BAD[name]
    with pytest.raises(checker.Rejected) as caught:
        checker.check_certificate(certified(*SAMPLE).document, changed(change))
    assert reason in str(caught.value)


@pytest.mark.parametrize("name", ["reach, overflow", "reach, three stages"])
def test_what_a_first_stage_weighs_cannot_be_understated(name: str) -> None:
    """A limit below what some stage of limited cost weighs is proved by no multipliers."""
    sample = certified("pipeline", name)
    document = copy.deepcopy(sample.certificate)
    payload = document["payload"]
    step = payload["steps"][0]
    assert (step["first"], step["last"], step["side"]) == (0, 0, "upper")
    heaviest = max(
        sum(payload["weights"][v] for v in after)
        for before, after in stages(sample.instance, payload["threshold"])
        if not before
    )
    assert step["limit"] >= heaviest
    step["limit"] = heaviest - 1
    with pytest.raises(checker.Rejected, match="does not prove the step's limit"):
        checker.check_certificate(sample.document, document)


def test_weights_beyond_a_stage_prove_less() -> None:
    """Weights that neither shares nor moved work account for do not fill stages."""
    document = certified(*SAMPLE).document

    def double(payload: Payload) -> None:
        payload["weights"] = [2 * weight for weight in payload["weights"]]
        payload["steps"] = []

    with pytest.raises(checker.Rejected, match="the steps do not refute the threshold"):
        checker.check_certificate(document, changed(double))


@pytest.mark.parametrize("nodes", [5000, LARGEST_TREE_GRAPH + 1])
def test_largest_graphs(nodes: int) -> None:
    """Steps, like trees, are about some thousand nodes; beyond that, nothing is looked at."""
    sample = instance([1] * nodes, [], 2)
    mean = -(-nodes // 2)
    # Two stages of the threshold would lack a node or two, so that no step is needed.
    payload = {
        "threshold": mean - 1,
        "weights": [TREE_SHARE_UNITS // (mean - 1)] * nodes,
        "moves": [],
        "flows": [],
        "steps": [],
    }
    document = Certificate.of(sample, "prefix-bound/1", mean, payload, "test").to_json()
    if nodes <= LARGEST_TREE_GRAPH:
        assert checker.check_certificate(sample.to_json(), document) == mean
    else:
        with pytest.raises(checker.Rejected, match="the instance is too large for a tree"):
            checker.check_certificate(sample.to_json(), document)
