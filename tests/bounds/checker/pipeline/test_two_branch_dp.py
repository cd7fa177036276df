"""What a search of pairs of down-sets concludes, against what enumeration says."""

import itertools
import random
from typing import Any

import pytest
from brute_force import instance, optimum, partitions, stage_cost
from checking import proved, read
from selection import first_now

from boundmark.bounds import checker
from boundmark.bounds.checker.pipeline.two_branch_dp import sides
from boundmark.problems.pipeline import PipelineInstance


def prove(sample: PipelineInstance, payload: Any) -> int:
    """Return what a payload proves."""
    return proved(sample, "two-branch-dp/1", payload)


def drawn(dice: random.Random) -> PipelineInstance:
    """Return a graph of 3 to 6 nodes with every cost term, of few amounts so that sums meet."""
    nodes = dice.randrange(3, 7)
    pairs = list(itertools.combinations(range(nodes), 2))

    def amounts(most: int) -> list[int]:
        return [dice.randrange(most) for _ in range(nodes)]

    return instance(
        amounts(5),
        sorted(dice.sample(pairs, dice.randrange(1, min(8, len(pairs))))),
        dice.randrange(1, 4),
        transfer=amounts(6),
        param_load=amounts(3),
        cache=dice.choice([0, 2, 20]),
    )


def down_set(sample: PipelineInstance, dice: random.Random) -> list[int]:
    """Return a random set of nodes with all their producers."""
    found: set[int] = set()
    for v in range(sample.nodes):
        if found.issuperset(sample.graph.dag.producers_of(v).tolist()) and dice.random() < 0.6:
            found.add(v)
    return sorted(found)


@pytest.mark.parametrize("part", first_now(range(3)))
def test_no_threshold_is_refuted_that_can_be_met(part: int) -> None:
    """Whatever down-set the tower is, also none and all, and whatever joins the sides."""
    for seed in range(400)[part::3]:
        dice = random.Random(seed)
        sample = drawn(dice)
        best = optimum(sample)
        for tower in (down_set(sample, dice), [], list(range(sample.nodes))):
            for threshold in (best, best + 1, 2 * best + 5):
                with pytest.raises(checker.Rejected, match="do not refute"):
                    prove(sample, {"threshold": threshold, "tower": tower})


@pytest.mark.parametrize("part", first_now(range(2)))
def test_a_side_alone_decides(part: int) -> None:
    """With all nodes on one side, everything below the optimum is refuted."""
    for seed in range(120)[part::2]:
        sample = drawn(random.Random(seed))
        best = optimum(sample)
        for tower in ([], list(range(sample.nodes))):
            for threshold in range(max(-1, best - 2), best):
                payload = {"threshold": threshold, "tower": tower}
                assert prove(sample, payload) == threshold + 1, seed


def cost_apart(sample: PipelineInstance, stage: set[int], tower: set[int]) -> int:
    """Return the cost of a stage as the documentation says that the checker counts it."""
    inside, beside = stage & tower, stage - tower
    pairs = sample.graph.dag.edge_pairs().tolist()
    reads = any(u in tower and w in beside for u, w in pairs)
    if not inside or (not reads and not overflows(sample)):
        return stage_cost(sample, stage)
    if not reads:
        return stage_cost(sample, inside) + stage_cost(sample, beside)
    apart = instance(
        sample.graph.work.tolist(),
        [(u, w) for u, w in pairs if (u in tower) == (w in tower)],
        sample.k,
        transfer=sample.graph.transfer.tolist(),
        param_load=sample.graph.param_load.tolist(),
        cache=sample.graph.cache,
    )
    return stage_cost(apart, inside) + stage_cost(apart, beside)


def overflows(sample: PipelineInstance) -> bool:
    """Whether some parameters may not fit."""
    return int(sample.graph.param_load.sum()) > sample.graph.cache


@pytest.mark.parametrize("part", first_now(range(3)))
def test_what_is_refuted_is_as_documented(part: int) -> None:
    """Everything below the least cost of partitions whose stages are counted side by side."""
    for seed in range(200)[part::3]:
        dice = random.Random(seed)
        sample = drawn(dice)
        tower = set(down_set(sample, dice))
        least = min(
            max(
                cost_apart(sample, {v for v, chosen in enumerate(stages) if chosen == stage}, tower)
                for stage in set(stages)
            )
            for stages in partitions(sample)
        )
        payload = {"threshold": least - 1, "tower": sorted(tower)}
        assert prove(sample, payload) == least, seed


def test_a_tower_has_the_producers_of_its_nodes() -> None:
    """Other sets are refused, as are numbers of no node and other payloads."""
    sample = instance([1, 2, 3], [(0, 1), (1, 2)], 2)
    for tower, reason in (
        ([1], "node 1 is in the tower, but not its producer 0"),
        ([0, 2], "node 2 is in the tower, but not its producer 1"),
        ([3], "tower of the payload"),
        ([-1], "tower of the payload"),
        ("0", "tower of the payload"),
    ):
        with pytest.raises(checker.Rejected, match=reason):
            prove(sample, {"threshold": 0, "tower": tower})
    for payload in ({"threshold": 0}, {"threshold": 0, "tower": [], "more": 1}, []):
        with pytest.raises(checker.Rejected, match="the payload"):
            prove(sample, payload)
    assert prove(sample, {"threshold": 2, "tower": [0, 0]}) == 3


@pytest.mark.parametrize(
    ("work", "transfer", "load", "groups"),
    [
        # The second node sends no more than it reads, and takes no time.
        ([9, 0, 9], [5, 5, 0], 0, [[0, 1], [2]]),
        # With a tick of work, that does not pay off, unless it sends less.
        ([9, 1, 9], [5, 5, 0], 0, [[0], [1], [2]]),
        ([9, 1, 9], [5, 4, 0], 0, [[0, 1], [2]]),
        # It reads less than it sends, so it follows its consumer.
        ([9, 2, 9], [3, 5, 0], 0, [[0], [1, 2]]),
        ([9, 3, 9], [3, 5, 0], 0, [[0], [1], [2]]),
        # Whoever has parameters stays.
        ([9, 0, 9], [5, 5, 0], 1, [[0], [1], [2]]),
        # Each of two would follow the other, which makes one group.
        ([0, 0, 9], [5, 5, 0], 0, [[0, 1], [2]]),
    ],
)
def test_nodes_that_share_a_stage_for_free_are_merged(
    work: list[int], transfer: list[int], load: int, groups: list[list[int]]
) -> None:
    """A chain of three nodes, by the rule of the documentation."""
    sample = instance(work, [(0, 1), (1, 2)], 2, transfer=transfer, param_load=[load, load, load])
    (_, beside) = sides(read(sample), set())
    assert beside.groups == groups


def test_parameters_that_fit_do_not_keep_nodes() -> None:
    """With room for all of them, a free node with parameters follows its producer."""
    sample = instance([9, 0], [(0, 1)], 2, transfer=[5, 0], param_load=[1, 1], cache=2)
    assert sides(read(sample), set())[1].groups == [[0, 1]]


def test_neighbours_that_others_read_stay() -> None:
    """A free node does not follow a producer with another consumer, nor one of two consumers."""
    sample = instance([9, 0, 9], [(0, 1), (0, 2)], 2, transfer=[5, 0, 0])
    assert sides(read(sample), set())[1].groups == [[0], [1], [2]]
    sample = instance([0, 9, 9], [(0, 1), (0, 2)], 2, transfer=[5, 0, 0])
    assert sides(read(sample), set())[1].groups == [[0], [1], [2]]


def test_nodes_of_both_sides_are_not_merged() -> None:
    """A free node follows its producer, but not out of the tower."""
    sample = instance([4, 0], [(0, 1)], 2, transfer=[5, 0])
    inner, outer = sides(read(sample), {0})
    assert (inner.groups, outer.groups) == ([[0]], [[1]])
    inner, outer = sides(read(sample), {0, 1})
    assert (inner.groups, outer.groups) == ([[0, 1]], [])
