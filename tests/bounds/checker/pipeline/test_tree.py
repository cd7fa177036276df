"""Trees that are none, what the smallest ones prove, and that an empty leaf proves nothing."""

import copy
import itertools
from typing import Any

import pytest
from brute_force import instance, optimum
from certified import certified

from boundmark.bounds import checker
from boundmark.bounds.checker.pipeline import windows
from boundmark.bounds.checker.pipeline.leaf import TREE_ROWS
from boundmark.bounds.checker.pipeline.limits import LARGEST_TREE_GRAPH, TREE_SHARE_UNITS
from boundmark.problems.pipeline import PipelineInstance

SAMPLE = instance([9, 1], [(0, 1)], 2, transfer=[3, 0])
EMPTY: dict[str, Any] = {name: [] for name in TREE_ROWS}
WITH_DEMAND = ("bottleneck-tree/1", "bottleneck-guess-tree/1")
TREES = ("mip-tree/1", *WITH_DEMAND)


def payload(kind: str, **given: Any) -> dict[str, Any]:
    """Return a payload whose trees are a leaf each, without any multiplier."""
    content: dict[str, Any] = {"threshold": 9, "flows": [], "nodes": [EMPTY]}
    if kind in WITH_DEMAND:
        leaf = {**EMPTY, "demand": []}
        leaves = [leaf] * (1 if kind == "bottleneck-tree/1" else 2)
        content |= {"nodes": leaves, "demand": [9, 1]}
    return content | given


def proved(kind: str, content: Any, sample: PipelineInstance = SAMPLE) -> int:
    """Return what a payload proves."""
    document = {
        "format": "boundmark-certificate/1", "instance_sha256": sample.sha256, "bound": 0,
        "problem": "pipeline", "kind": kind, "payload": content, "producer": "a test",
    }  # fmt: skip
    return checker.check_certificate(sample.to_json(), document)


@pytest.mark.parametrize("kind", TREES)
def test_an_empty_leaf_proves_nothing(kind: str) -> None:
    """Without multipliers, and with those of rows that are full, it says 0 >= 0."""
    given = payload(kind)
    assert proved(kind, given) == 0
    full = [{**leaf, "later": [0, 1], "edge": [0, 1]} for leaf in given["nodes"]]
    assert proved(kind, {**given, "nodes": full}) == 0


@pytest.mark.parametrize("kind", TREES)
def test_costs_of_stages_add_up(kind: str) -> None:
    """Two stages have half the work each; the one with the most demand has as much as a node."""
    given = payload(kind)
    if kind == "mip-tree/1":
        assert proved(kind, {**given, "nodes": [{**EMPTY, "cost": [0, 1, 1, 1]}]}) == 5
        # Both nodes do not fit into a stage, so each has one of its own.
        assert proved(kind, {**given, "nodes": [{**EMPTY, "cost": [0, 1]}]}) == 9
        assert proved(kind, {**given, "nodes": [{**EMPTY, "cost": [1, 1]}]}) == 1
        return
    leaf = {**EMPTY, "cost": [1, 1], "demand": [0, TREE_SHARE_UNITS]}
    nodes = [leaf for _ in given["nodes"]]
    assert proved(kind, {**given, "nodes": nodes}) == 9 < optimum(SAMPLE)
    # One leaf that proves nothing is enough for nothing to be proved.
    assert proved(kind, {**given, "nodes": [*nodes[1:], given["nodes"][0]]}) == 0
    # The mean of both nodes, if they are alike.
    alike = instance([5, 4], [], 2)
    assert proved(kind, {**given, "demand": [5, 4], "nodes": nodes}, alike) == 5


@pytest.mark.parametrize("kind", [*TREES, "reach/1"])
def test_shares_may_refute_a_threshold_alone(kind: str) -> None:
    """No tree is needed where a node does not fit into a stage."""
    given = payload(kind, threshold=8, nodes=[])
    if kind == "reach/1":
        del given["nodes"]
        given |= {"weights": [0, 0], "moves": [], "steps": []}
    assert proved(kind, given) == 9


@pytest.mark.parametrize("kind", TREES)
def test_branchings_are_at_stages_that_exist(kind: str) -> None:
    """A branch to each side of a stage has a leaf of its own."""
    stages = 2 if kind == "mip-tree/1" else 3
    (leaf, *others) = payload(kind)["nodes"]
    for v, b, reason in (
        (0, 0, ""), (1, stages - 1, ""), (2, 0, "node of a branching"),
        (-1, 0, "node of a branching"), (0, -1, "stage of a branching"),
        (0, stages, "stage of a branching"),
    ):  # fmt: skip
        given = payload(kind, nodes=[[v, b], leaf, leaf, *others])
        if reason:
            with pytest.raises(checker.Rejected, match=reason):
                proved(kind, given)
        else:
            assert proved(kind, given) == 0


@pytest.mark.parametrize("kind", TREES)
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"nodes": {}}, "nodes of the payload is not a list"),
        ({"nodes": []}, "nodes of the payload has fewer entries than the tree"),
        ({"nodes": [EMPTY] * 3}, "nodes of the payload has more entries|not an object with"),
        ({"nodes": [[0]]}, "a branching is not a node and a stage"),
        ({"nodes": [[0, 0, 0]]}, "a branching is not a node and a stage"),
        ({"nodes": [[0, 0]]}, "nodes of the payload has fewer entries than the tree"),
        ({"nodes": [3]}, "a leaf is not an object"),
        ({"threshold": -1}, "threshold of the payload is not an integer from 0"),
        ({"threshold": 2**81}, "threshold of the payload is not an integer from 0"),
        ({"flows": {}}, "flows of the payload is not a list"),
        ({"more": 1}, "it has 'more'"),
    ],
)
def test_trees_that_are_none(kind: str, change: dict[str, Any], reason: str) -> None:
    """Each is refused with what is wrong."""
    with pytest.raises(checker.Rejected, match=reason):
        proved(kind, payload(kind, **change))


@pytest.mark.parametrize("kind", WITH_DEMAND)
@pytest.mark.parametrize("demand", [[9], [9, 1, 1], [], [9, -1], 3])
def test_demands_are_one_for_each_node(kind: str, demand: Any) -> None:
    """Of whatever it is that nodes demand."""
    with pytest.raises(checker.Rejected, match="demand of the payload"):
        proved(kind, payload(kind, demand=demand))


@pytest.mark.parametrize("more", [0, 1])
def test_the_largest_trees(more: int) -> None:
    """As many stages as a tree may have, and one more."""
    sample = instance([9, 1], [(0, 1)], LARGEST_TREE_GRAPH + more, transfer=[3, 0])
    if more:
        with pytest.raises(checker.Rejected, match="the instance is too large for a tree"):
            proved("mip-tree/1", payload("mip-tree/1"), sample)
    else:
        assert proved("mip-tree/1", payload("mip-tree/1"), sample) == 0


def test_shares_of_one_stage_leave_all_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    """If all nodes fit into one stage, none is narrowed, without sums over the graph's closure."""
    order = [(0, [1]), (1, [])]
    assert windows.share_windows(3, order, [TREE_SHARE_UNITS - 1, 2]) == ([0, 1], [1, 2])
    for shares in ([TREE_SHARE_UNITS - 1, 1], [0, 0]):
        before, after = windows.weights_around(order, shares)
        assert max(*before, *after) <= TREE_SHARE_UNITS
        with monkeypatch.context() as patch:
            patch.delattr(windows, "weights_around")
            assert windows.share_windows(3, order, shares) == ([0, 0], [2, 2])


def trees(nodes: list[Any]) -> list[list[Any]]:
    """Return the trees that a list of nodes is made of, parents first."""
    result: list[list[Any]] = []
    lacking = 0
    for node in nodes:
        if not lacking:
            result.append([])
            lacking = 1
        result[-1].append(node)
        lacking += 1 if isinstance(node, list) else -1
    return result


@pytest.mark.parametrize("name", ["bottleneck-guess-tree", "bottleneck-guess-tree, overflow"])
def test_no_position_may_be_missing(name: str) -> None:
    """Without the tree of one position, whichever, the others prove nothing."""
    sample = certified("pipeline", name)
    positions = trees(sample.certificate["payload"]["nodes"])
    assert len(positions) == sample.document["k"]
    for missing in range(len(positions)):
        changed = copy.deepcopy(sample.certificate)
        kept = positions[:missing] + positions[missing + 1 :]
        changed["payload"]["nodes"] = list(itertools.chain.from_iterable(kept))
        with pytest.raises(checker.Rejected, match="fewer entries than the tree"):
            checker.check_certificate(sample.document, changed)


@pytest.mark.parametrize("demand", [[], [1, 1, 1], [1, 1, 1, 1, 1], [1, -1, 1, 1], "1111", None])
def test_each_node_has_a_demand(demand: Any) -> None:
    """What some stage has the mean of is known for all nodes, and negative for none."""
    sample = certified("pipeline", "bottleneck-tree")
    document = copy.deepcopy(sample.certificate)
    document["payload"]["demand"] = demand
    with pytest.raises(checker.Rejected, match="demand of the payload is not"):
        checker.check_certificate(sample.document, document)
