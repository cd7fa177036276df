"""Tests of `bottleneck-tree` and `bottleneck-guess-tree`, which promise the same."""

import copy
import itertools
from collections.abc import Callable
from typing import Any

import pytest
from brute_force import instance, instances, partitions, stage_cost
from hypothesis import given, settings
from recording import Recorder
from selection import examples

from boundmark.bounds import checker
from boundmark.bounds.pipeline import BOTTLENECK_GUESS_TREE, BOTTLENECK_TREE
from boundmark.bounds.pipeline.bottleneck import simple_bound
from boundmark.bounds.pipeline.share import share_table
from boundmark.problems.certificate import Certificate
from boundmark.problems.method import Budget, Method
from boundmark.problems.pipeline import PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph

METHODS = [BOTTLENECK_TREE, BOTTLENECK_GUESS_TREE]


def run(method: Method, sample: PipelineInstance, seconds: float) -> list[Certificate]:
    """Return what a method reports: better and better, and accepted."""
    reports = Recorder()
    method.run(sample, Budget(seconds), 0, reports)
    bounds = [report.bound for report in reports.bounds]
    assert bounds == sorted(set(bounds))
    for report in reports.bounds:
        assert checker.check_certificate(sample.to_json(), report.to_json()) == report.bound
    return reports.bounds


def cheapest_middle_superblock(sample: PipelineInstance) -> int:
    """Return the optimum of the paper's program ([MTPP24], Section 3.2) by enumeration."""
    least = simple_bound(sample.graph, sample.k)
    three = PipelineInstance(sample.graph, 3)
    superblocks = [
        {v for v, superblock in enumerate(assignment) if superblock == middle}
        for assignment in partitions(three)
        for middle in range(3)
    ]
    return min(
        stage_cost(sample, superblock)
        for superblock in superblocks
        if sum(int(sample.graph.work[v]) for v in superblock) >= least
    )


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
@settings(max_examples=examples(40))
@given(sample=instances())
def test_given_time_the_printed_program_is_reached(
    method: Method, sample: PipelineInstance
) -> None:
    """The strengthened programs prove at least what the paper's program of Section 3.2 does."""
    assert run(method, sample, 20)[-1].bound >= cheapest_middle_superblock(sample)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_beats_the_share_bound(method: Method, random_graph: Callable[..., PipelineGraph]) -> None:
    """On a graph too large to finish, it goes on where `share` ends."""
    sample = PipelineInstance(random_graph(60, seed=1), 4)
    reports = run(method, sample, 4)
    assert reports[-1].kind == f"{method.name}/1"
    assert reports[-1].bound > share_table(sample.graph).bound(4)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_no_time_leaves_the_share_bound(
    method: Method, random_graph: Callable[..., PipelineGraph]
) -> None:
    """What is cheap is reported even when the budget is spent at once."""
    assert run(method, PipelineInstance(random_graph(60, seed=1), 4), 0)[0].kind == "share/1"


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


def test_no_position_may_be_missing() -> None:
    """Without the tree of one position, whichever, the others prove nothing."""
    sample = instance(
        [7, 3, 6, 5, 6], [(0, 1), (0, 2), (1, 3), (2, 4)], 3, transfer=[5, 3, 2, 2, 0]
    )
    document = run(BOTTLENECK_GUESS_TREE, sample, 20)[-1].to_json()
    positions = trees(document["payload"]["nodes"])
    assert len(positions) == sample.k
    for missing in range(sample.k):
        changed = copy.deepcopy(document)
        kept = positions[:missing] + positions[missing + 1 :]
        changed["payload"]["nodes"] = list(itertools.chain.from_iterable(kept))
        with pytest.raises(checker.Rejected, match="fewer entries than the tree"):
            checker.check_certificate(sample.to_json(), changed)


@pytest.mark.parametrize("demand", [[], [1, 1, 1], [1, 1, 1, 1, 1], [1, -1, 1, 1], "1111", None])
def test_each_node_has_a_demand(demand: Any) -> None:
    """What some stage has the mean of is known for all nodes, and negative for none."""
    sample = instance([7, 3, 6, 5], [(0, 1), (0, 2), (1, 3)], 2, transfer=[5, 0, 2, 2])
    document = run(BOTTLENECK_TREE, sample, 20)[-1].to_json()
    document["payload"]["demand"] = demand
    with pytest.raises(checker.Rejected, match="demand of the payload is not"):
        checker.check_certificate(sample.to_json(), document)
