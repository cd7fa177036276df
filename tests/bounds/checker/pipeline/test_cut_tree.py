"""Tests of the checker's kind `cut-tree/2`: what is not a proof is refused, with the reason."""

import copy
from typing import Any
from unittest import mock

import pytest
from brute_force import instance, stage_cost
from brute_force_sets import is_convex, subsets, tiny_graphs
from certified import certified
from hypothesis import given
from hypothesis import strategies as st

from boundmark.bounds import checker
from boundmark.bounds.checker.pipeline import limits
from boundmark.bounds.checker.pipeline.cut_tree import FIRST, LAST, _refute
from boundmark.problems.certificate import Certificate
from boundmark.problems.pipeline import PipelineInstance

Document = dict[str, Any]


def proved(sample: PipelineInstance, content: Any) -> int:
    """Return what a payload proves."""
    certificate = Certificate.of(sample, "cut-tree/2", 0, content, "nobody")
    return checker.check_certificate(sample.to_json(), certificate.to_json())


def payload(threshold: int, weights: list[int], nodes: list[Any], **given: Any) -> Document:
    """Return a payload whose flows are counted in ticks."""
    return {
        "threshold": threshold, "loaded": 0, "scale": 1, "weights": weights, "nodes": nodes,
        "ends": [], **given,
    }  # fmt: skip


# Two nodes of 5 and 6 ticks, and a tensor of 2. The first has all the weight. Without the second,
# its stage costs 7, which is what it has after the second one takes 2 of it; with it, 11.
PAIR = instance([5, 6], [(0, 1)], 2, transfer=[2, 0])
TREE = [[1, 0], [0, 0, 2], [0]]

BAD: dict[str, tuple[Document, str]] = {
    "no threshold": ({"threshold": -1}, "threshold of the payload is not an integer from 0"),
    "threshold that stands": (
        {"threshold": 7},
        "nodes of the payload has fewer entries than the tree",
    ),
    "threshold and all nodes that stand": (
        {"threshold": 7, "nodes": [[0, 1], [1, 0]]},
        "a set that weighs too much costs at most the threshold",
    ),
    "huge threshold": ({"threshold": 2**81}, "threshold of the payload is not an integer from 0"),
    "loaded twice": ({"loaded": 2}, "loaded of the payload is not an integer from 0 to 1"),
    "no scale": ({"scale": 0}, "scale of the payload is not an integer from 1"),
    "negative weight": ({"weights": [1, -1]}, "weights of the payload is not an integer from 0"),
    "huge weight": ({"weights": [2**81, 0]}, "weights of the payload is not an integer from 0"),
    "weights too short": ({"weights": [1]}, "weights of the payload is not one for each node"),
    "weights too long": ({"weights": [1, 0, 0]}, "weights of the payload is not one for each node"),
    "weight of no number": ({"weights": [1, 0.5]}, "weights of the payload is not an integer"),
    "no weights": (
        {"weights": [0, 0], "nodes": [[0, 0], [1, 0]]},
        "the weights do not refute the threshold",
    ),
    "other weights": (
        {"weights": [0, 1]},
        "nodes of the payload has more entries than the tree",
    ),
    "nodes of no list": ({"nodes": {}}, "nodes of the payload is not a list"),
    "no nodes": ({"nodes": []}, "nodes of the payload has fewer entries than the tree"),
    "nodes missing": ({"nodes": TREE[:2]}, "nodes of the payload has fewer entries than the tree"),
    "nodes left over": (
        {"nodes": [*TREE, [0]]},
        "nodes of the payload has more entries than the tree",
    ),
    "entry of no list": ({"nodes": [5]}, "an entry of nodes is not a list"),
    "empty entry": ({"nodes": [[]]}, "an entry of nodes is not a price, edges and amounts"),
    "edge without amount": (
        {"nodes": [[0, 0, 2, 0]]},
        "an entry of nodes is not a price, edges and amounts",
    ),
    "unknown node": ({"nodes": [[2, 0], *TREE]}, "node of a branching is not an integer from 0"),
    "third side": ({"nodes": [[1, 2], *TREE]}, "side of a branching is not an integer from 0 to 1"),
    "node decided": (
        {"nodes": [[0, 1], [0, 1]]},
        "a branching is about node 0, which is decided",
    ),
    "negative price": ({"nodes": [[1, 0], [-1, 0, 2]]}, "price of weight is not an integer from 0"),
    "unknown edge": ({"nodes": [[1, 0], [0, 1, 2]]}, "edge of a flow is not an integer from 0 to"),
    "too much": (
        {"nodes": [[1, 0], [0, 0, 3]]},
        "a flow sends more than the tensor of node 0 lets through",
    ),
    "too much backwards": (
        {"nodes": [[1, 0], [0, 0, -3]]},
        "a flow sends more than the tensor of node 0 lets through",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_payloads(name: str) -> None:
    """Each is one change away from a proof that two nodes of 5 and 6 ticks need 7."""
    good = payload(6, [1, 0], TREE)
    assert proved(PAIR, good) == 7
    change, reason = BAD[name]
    with pytest.raises(checker.Rejected) as caught:
        proved(PAIR, {**good, **change})
    assert reason in str(caught.value)


# The same pair needs 8, as both tensors of a stage count: the first stage weighs 1 at most, since
# both nodes cost 11, and the last one weighs nothing, since the second node costs 8.
ENDS: list[Document] = [
    {"most": 1, "scale": 1, "nodes": [[6]]},
    {"most": 0, "scale": 1, "nodes": [[0, 1], [8, 0, -2]]},
]

BAD_ENDS: dict[str, tuple[Document, str]] = {
    "no ends": (
        {"ends": []},
        "nodes of the payload has fewer entries than the tree",
    ),
    "no list": ({"ends": {}}, "ends of the payload is not a list of two, or of none"),
    "one end": ({"ends": ENDS[:1]}, "ends of the payload is not a list of two, or of none"),
    "three ends": (
        {"ends": [*ENDS, ENDS[0]]},
        "ends of the payload is not a list of two, or of none",
    ),
    "end of no object": ({"ends": [5, ENDS[1]]}, "an entry of ends is not an object"),
    "negative weight": (
        {"ends": [{**ENDS[0], "most": -1}, ENDS[1]]},
        "most of an entry of ends is not an integer from 0",
    ),
    "no scale": (
        {"ends": [{**ENDS[0], "scale": 0}, ENDS[1]]},
        "scale of an entry of ends is not an integer from 1",
    ),
    "too light": (
        {"ends": [{**ENDS[0], "most": 0}, ENDS[1]]},
        "nodes of an entry of ends has fewer entries than the tree",
    ),
    "so heavy that weights do not suffice": (
        {"ends": [{**ENDS[0], "most": 2}, ENDS[1]]},
        "the weights do not refute the threshold",
    ),
    "ends in the other order": (
        {"ends": ENDS[::-1]},
        "nodes of an entry of ends has fewer entries than the tree",
    ),
    "tree of the last stage cut off": (
        {"ends": [ENDS[0], {**ENDS[1], "nodes": [[0, 1]]}]},
        "nodes of an entry of ends has fewer entries than the tree",
    ),
    "too much": (
        {"ends": [ENDS[0], {**ENDS[1], "nodes": [[0, 1], [8, 0, -3]]}]},
        "a flow sends more than the tensor of node 0 lets through",
    ),
    "a stage between": (
        {"nodes": [[0]]},
        "nodes of the payload has entries, but there is no other stage",
    ),
    "threshold that stands": (
        {"threshold": 8},
        "nodes of an entry of ends has fewer entries than the tree",
    ),
}


@pytest.mark.parametrize("name", BAD_ENDS)
def test_bad_ends(name: str) -> None:
    """Each is one change away from a proof that two nodes of 5 and 6 ticks need 8."""
    good = payload(7, [1, 1], [], ends=ENDS)
    assert proved(PAIR, good) == 8
    change, reason = BAD_ENDS[name]
    with pytest.raises(checker.Rejected) as caught:
        proved(PAIR, {**good, **change})
    assert reason in str(caught.value)


def test_one_stage_has_no_ends() -> None:
    """It is the first and the last one, so weights would count twice."""
    with pytest.raises(checker.Rejected, match="the first stage is the last one, too"):
        proved(PipelineInstance(PAIR.graph, 1), payload(7, [1, 1], [], ends=ENDS))


def test_no_tensor_enters_the_first_stage_or_leaves_the_last() -> None:
    """So flows in that direction have no limit, and those in the other one have."""
    first, last = [{"most": 0, "scale": 1, "nodes": [[9, 0, sent]]} for sent in (-4, 4)]
    chain = instance([9, 9], [(0, 1)], 2, transfer=[0, 0])
    assert proved(chain, payload(8, [1, 0], [], ends=[first, {**last, "most": 0}])) == 9
    with pytest.raises(checker.Rejected, match="sends more than the tensor of node 0"):
        proved(chain, payload(8, [1, 0], [], ends=[last, last]))
    with pytest.raises(checker.Rejected, match="sends more than the tensor of node 0"):
        proved(chain, payload(8, [1, 0], [], ends=[first, first]))


def test_either_side_of_a_branching_may_come_first() -> None:
    """With the second node first, the flow is still to come, and a branch more is left."""
    assert proved(PAIR, payload(6, [1, 0], [[1, 1], [0, 0, 2], [0]])) == 7
    assert proved(PAIR, payload(6, [1, 0], [[0, 1], [1, 1]])) == 7
    with pytest.raises(checker.Rejected, match="fewer entries than the tree"):
        proved(PAIR, payload(6, [1, 0], [[1, 0], [0], [0]]))


def test_a_flow_counts_in_parts_of_a_tick() -> None:
    """What a tensor lets through, what nodes add and the threshold are all scaled."""
    assert proved(PAIR, payload(6, [1, 0], [[0, 0, 14]], scale=7)) == 7
    with pytest.raises(checker.Rejected, match="fewer entries than the tree"):
        proved(PAIR, payload(6, [1, 0], [[0, 0, 7]], scale=7))
    with pytest.raises(checker.Rejected, match="sends more than the tensor of node 0"):
        proved(PAIR, payload(6, [1, 0], [[0, 0, 15]], scale=7))


def test_consumers_share_what_a_tensor_lets_through() -> None:
    """A stage takes a tensor in once, however many of its nodes read it."""
    sample = instance([9, 2, 2], [(0, 1), (0, 2)], 2, transfer=[3, 0, 0])
    # Half the weight is one consumer, which costs 5: its work, and the tensor from outside.
    tree = [[0, 0], [1, 1], [0, 0, -3], [0, 0, 0, 1, -3], [0]]
    assert proved(sample, payload(4, [0, 1, 1], tree)) == 5
    with pytest.raises(checker.Rejected, match="sends more than the tensor of node 0"):
        proved(sample, payload(4, [0, 1, 1], [[0, 0], [0, 0, -2, 1, -2]]))


def test_convexity_decides_nodes() -> None:
    """With both ends of a chain inside, its middle is, too; with the middle outside, one end."""
    sample = instance([3, 9, 3], [(0, 1), (1, 2)], 1, transfer=[0, 0, 0])
    # All the weight is at both ends, so that the third entry would have nothing to decide.
    assert proved(sample, payload(14, [1, 0, 1], [[0, 1], [2, 1]])) == 15
    with pytest.raises(checker.Rejected, match="more entries than the tree"):
        proved(sample, payload(14, [1, 0, 1], [[0, 1], [2, 1], [1, 1]]))
    two_stages = instance([3, 9, 3], [(0, 1), (1, 2)], 2, transfer=[0, 0, 0])
    with pytest.raises(checker.Rejected, match="costs at most the threshold"):
        proved(two_stages, payload(14, [1, 0, 1], [[0, 1], [1, 0]]))


def test_overflow_counts_where_all_is_decided() -> None:
    """A flow knows nothing of it, or counts parameters as work and the cache as time."""
    sample = instance([1, 1], [], 1, param_load=[5, 5], cache=2)
    assert proved(sample, payload(9, [1, 1], [[0, 1], [1, 1]])) == 10
    with pytest.raises(checker.Rejected, match="costs at most the threshold"):
        proved(sample, payload(10, [1, 1], [[0, 1], [1, 1]]))
    assert proved(sample, payload(9, [1, 1], [[6]], loaded=1)) == 10
    with pytest.raises(checker.Rejected, match="costs at most the threshold"):
        proved(sample, payload(10, [1, 1], [[0, 1], [1, 1]], loaded=1))


def test_graphs_too_large_are_not_begun() -> None:
    """No set of nodes before or after another is made."""
    refused = pytest.raises(checker.TooLarge, match="too large for a tree of cuts")
    with mock.patch.object(limits, "LARGEST_CUT_GRAPH", 1), refused:
        proved(PAIR, payload(6, [1, 0], TREE))


SAMPLES = [
    "cut-tree", "cut-tree, three stages", "cut-tree, parameters as work", "cut-tree, overflow",
]  # fmt: skip


@pytest.mark.parametrize("name", SAMPLES)
def test_a_tree_is_whole(name: str) -> None:
    """Without its last entry, or with one more, it is refused even at its own bound."""
    sample = certified("pipeline", name)
    payload = sample.certificate["payload"]
    for number, tree in enumerate([payload, *payload["ends"]]):
        nodes = tree["nodes"]
        if not nodes:
            continue
        for changed, reason in ((nodes[:-1], "fewer entries"), ([*nodes, [0]], "more entries")):
            document = copy.deepcopy(sample.certificate)
            content = document["payload"]
            (content if number == 0 else content["ends"][number - 1])["nodes"] = changed
            with pytest.raises(checker.Rejected, match=reason):
                checker.check_certificate(sample.document, document)


def cheapest(sample: PipelineInstance, weights: list[int]) -> int:
    """Return what the cheapest convex set costs that weighs the mean over the stages."""
    least = -(-sum(weights) // sample.k)
    return min(
        [0] * (least == 0)
        + [
            stage_cost(sample, set(members))
            for members in subsets(range(sample.nodes))
            if sum(weights[v] for v in members) >= least and is_convex(sample, members)
        ]
    )


def trees(sample: PipelineInstance) -> st.SearchStrategy[list[list[int]]]:
    """Return trees with whatever branchings and flows."""
    n, edges = sample.nodes, sample.graph.dag.edges
    branching = st.tuples(st.integers(0, n - 1), st.integers(0, 1)).map(list)
    change = st.tuples(st.integers(0, max(0, edges - 1)), st.integers(-9, 9))
    flow = st.tuples(st.integers(0, 9), st.lists(change, max_size=3 if edges else 0)).map(
        lambda drawn: [drawn[0], *(number for pair in drawn[1] for number in pair)]
    )
    return st.lists(st.one_of(branching, flow), max_size=9)


@given(sample=tiny_graphs(largest=4), data=st.data())
def test_accepted_trees_hold_for_all_sets(sample: PipelineInstance, data: st.DataObject) -> None:
    """Whatever the tree and its flows, no threshold is refuted that a heavy convex set meets."""
    n = sample.nodes
    sample = PipelineInstance(sample.graph, data.draw(st.integers(1, 3)))
    weights = data.draw(st.lists(st.integers(0, 5), min_size=n, max_size=n))
    nodes = data.draw(trees(sample))
    threshold = data.draw(st.integers(0, 30))
    tree = payload(threshold, weights, nodes, scale=data.draw(st.integers(1, 2)))
    try:
        proved(sample, tree)
    except checker.Rejected:
        return
    assert cheapest(sample, weights) > threshold


@pytest.mark.parametrize("position", [FIRST, LAST])
@given(sample=tiny_graphs(largest=4), data=st.data())
def test_accepted_ends_hold_for_all_sets(
    sample: PipelineInstance, data: st.DataObject, position: int
) -> None:
    """Whatever the tree and its flows, no first or last stage within the limit weighs more."""
    n, edges = sample.nodes, sample.graph.dag.edge_pairs().tolist()
    weights = data.draw(st.lists(st.integers(0, 5), min_size=n, max_size=n))
    limit, most = data.draw(st.integers(0, 30)), data.draw(st.integers(0, 12))
    value = {"scale": data.draw(st.integers(1, 2)), "nodes": data.draw(trees(sample))}
    graph = checker.check_instance(sample.to_json())
    try:
        _refute(graph, weights, limit, most + 1, position, value, "a tree")
    except checker.Rejected:
        return
    for members in subsets(range(n)):
        is_end = all(
            (u in members or w not in members) if position == FIRST
            else (w in members or u not in members)
            for u, w in edges
        )  # fmt: skip
        if is_end and stage_cost(sample, set(members)) <= limit:
            assert sum(weights[v] for v in members) <= most
