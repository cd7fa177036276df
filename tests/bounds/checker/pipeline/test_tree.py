"""Trees that are none, what the smallest ones prove, and that an empty leaf proves nothing."""

from typing import Any

import checking
import pytest
from brute_force import instance

from boundmark.bounds import checker
from boundmark.bounds.checker.pipeline import windows
from boundmark.bounds.checker.pipeline.leaf import TREE_ROWS
from boundmark.bounds.checker.pipeline.limits import LARGEST_TREE_GRAPH, TREE_SHARE_UNITS
from boundmark.problems.pipeline import PipelineInstance

SAMPLE = instance([9, 1], [(0, 1)], 2, transfer=[3, 0])
EMPTY: dict[str, Any] = {name: [] for name in TREE_ROWS}


def payload(**given: Any) -> dict[str, Any]:
    """Return a payload whose tree is a leaf, without any multiplier."""
    return {"threshold": 9, "flows": [], "nodes": [EMPTY], **given}


def proved(content: Any, sample: PipelineInstance = SAMPLE, kind: str = "mip-tree/1") -> int:
    """Return what a payload proves."""
    return checking.proved(sample, kind, content)


def test_an_empty_leaf_proves_nothing() -> None:
    """Without multipliers, and with those of rows that are full, it says 0 >= 0."""
    assert proved(payload()) == 0
    assert proved(payload(nodes=[{**EMPTY, "later": [0, 1], "edge": [0, 1]}])) == 0


def test_costs_of_stages_add_up() -> None:
    """Two stages have half the work each."""
    assert proved(payload(nodes=[{**EMPTY, "cost": [0, 1, 1, 1]}])) == 5
    # Both nodes do not fit into a stage, so each has one of its own.
    assert proved(payload(nodes=[{**EMPTY, "cost": [0, 1]}])) == 9
    assert proved(payload(nodes=[{**EMPTY, "cost": [1, 1]}])) == 1
    # One leaf that proves nothing is enough for nothing to be proved.
    nodes = [[0, 0], {**EMPTY, "cost": [0, 1]}, EMPTY]
    assert proved(payload(nodes=nodes), instance([9, 1], [], 2)) == 0


@pytest.mark.parametrize("kind", ["mip-tree/1", "prefix-bound/1"])
def test_shares_may_refute_a_threshold_alone(kind: str) -> None:
    """No tree is needed where a node does not fit into a stage."""
    given = payload(threshold=8, nodes=[])
    if kind == "prefix-bound/1":
        del given["nodes"]
        given |= {"weights": [0, 0], "moves": [], "steps": []}
    assert proved(given, kind=kind) == 9


def test_branchings_are_at_stages_that_exist() -> None:
    """A branch to each side of a stage has a leaf of its own."""
    for v, b, reason in (
        (0, 0, ""), (1, 1, ""), (2, 0, "node of a branching"),
        (-1, 0, "node of a branching"), (0, -1, "stage of a branching"),
        (0, 2, "stage of a branching"),
    ):  # fmt: skip
        given = payload(nodes=[[v, b], EMPTY, EMPTY])
        if reason:
            with pytest.raises(checker.Rejected, match=reason):
                proved(given)
        else:
            assert proved(given) == 0


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"nodes": {}}, "nodes of the payload is not a list"),
        ({"nodes": []}, "nodes of the payload has fewer entries than the tree"),
        ({"nodes": [EMPTY] * 3}, "nodes of the payload has more entries"),
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
def test_trees_that_are_none(change: dict[str, Any], reason: str) -> None:
    """Each is refused with what is wrong."""
    with pytest.raises(checker.Rejected, match=reason):
        proved(payload(**change))


@pytest.mark.parametrize("more", [0, 1])
def test_the_largest_trees(more: int) -> None:
    """As many stages as a tree may have, and one more."""
    sample = instance([9, 1], [(0, 1)], LARGEST_TREE_GRAPH + more, transfer=[3, 0])
    if more:
        with pytest.raises(checker.Rejected, match="the instance is too large for a tree"):
            proved(payload(), sample)
    else:
        assert proved(payload(), sample) == 0


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
