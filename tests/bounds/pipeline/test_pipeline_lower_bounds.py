import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from brute_force import all_edge_sets, instance, stage_cost
from recording import Recorder

from boundmark.bounds import checker
from boundmark.bounds.pipeline import (
    FRACTIONAL_LOAD,
    MAX_WORK,
    MEAN_WORK,
    NODE_CUT,
)
from boundmark.bounds.pipeline.flows.fractional_load import share_table
from boundmark.problems.certificate import Certificate
from boundmark.problems.method import Budget, Method
from boundmark.problems.pipeline import PipelineInstance

CERTIFYING = (
    MAX_WORK,
    MEAN_WORK,
    NODE_CUT,
    FRACTIONAL_LOAD,
)

WEIGHTS = [
    {
        "work": [3, 1, 4, 1, 5],
        "transfer": [2, 7, 1, 3, 2],
        "param_load": [0, 6, 2, 0, 5],
        "cache": 6,
    },
    {"work": [1, 0, 2, 0, 9], "transfer": [1, 1, 0, 5, 1], "param_load": [0] * 5, "cache": 0},
    {"work": [2] * 5, "transfer": [1] * 5, "param_load": [4] * 5, "cache": 3},
]


def certificate(method: Method, sample: PipelineInstance) -> Certificate:
    """Return a method's best certificate."""
    reports = Recorder()
    method.run(sample, Budget(20), 0, reports)
    assert not reports.solutions
    return max(reports.bounds, key=lambda found: found.bound)


def set_partitions(items: list[int]) -> Iterator[list[set[int]]]:
    """Yield every partition of the items into non-empty stages."""
    if not items:
        yield []
        return
    first, *rest = items
    for stages in set_partitions(rest):
        for i in range(len(stages)):
            yield [*stages[:i], stages[i] | {first}, *stages[i + 1 :]]
        yield [{first}, *stages]


PARTITIONS = {n: list(set_partitions(list(range(n)))) for n in range(1, 6)}


def can_run(stages: list[set[int]], edges: list[tuple[int, int]]) -> bool:
    """Whether the stages can be put in an order in which no data flows back."""
    waiting = list(stages)
    while waiting:
        ready = [
            stage
            for stage in waiting
            if not any(
                w in stage and u not in stage and any(u in other for other in waiting)
                for u, w in edges
            )
        ]
        if not ready:
            return False
        waiting = [stage for stage in waiting if stage not in ready]
    return True


def optima(sample: PipelineInstance, edges: list[tuple[int, int]]) -> list[int]:
    """Return OPT for k = 1 .. n, by trying every partition."""
    n = sample.nodes
    best = [10**9] * n
    cost: dict[frozenset[int], int] = {}
    for stages in PARTITIONS[n]:
        if can_run(stages, edges):
            for stage in map(frozenset, stages):
                if stage not in cost:
                    cost[stage] = stage_cost(sample, set(stage))
            value = max(cost[frozenset(stage)] for stage in stages)
            for k in range(len(stages), n + 1):
                best[k - 1] = min(best[k - 1], value)
    return best


@pytest.mark.parametrize("weights", WEIGHTS, ids=["overflow", "zeros", "uniform"])
@pytest.mark.parametrize(
    ("nodes", "step"),
    [(1, 1), (2, 1), (3, 1), (4, 1), (5, 11), pytest.param(5, 1, marks=pytest.mark.slow)],
)
def test_bounds_are_below_the_optimum(nodes: int, step: int, weights: dict[str, Any]) -> None:
    """LB <= OPT on every DAG of up to five nodes and for every k, and the checker proves LB."""
    for edges in itertools.islice(all_edge_sets(nodes), 0, None, step):
        sample = instance(
            weights["work"][:nodes], edges, 1,
            transfer=weights["transfer"][:nodes],
            param_load=weights["param_load"][:nodes],
            cache=weights["cache"],
        )  # fmt: skip
        best = optima(sample, edges)
        table = share_table(sample.graph)
        for k in range(1, nodes + 2):
            variant = PipelineInstance(sample.graph, k)
            opt = best[min(k, nodes) - 1]
            found = table.certificate(variant, "fractional-load")
            assert found.bound <= opt
            assert checker.check_certificate(variant.to_json(), found.to_json()) == found.bound


@pytest.mark.parametrize("method", CERTIFYING, ids=lambda method: method.name)
@pytest.mark.parametrize("weights", WEIGHTS, ids=["overflow", "zeros", "uniform"])
def test_methods_are_below_the_optimum(method: Method, weights: dict[str, Any]) -> None:
    """Every polynomial bound on every DAG of four nodes and for every k."""
    for edges in all_edge_sets(4):
        sample = instance(
            weights["work"][:4], edges, 1,
            transfer=weights["transfer"][:4],
            param_load=weights["param_load"][:4],
            cache=weights["cache"],
        )  # fmt: skip
        best = optima(sample, edges)
        for k in range(1, 6):
            variant = PipelineInstance(sample.graph, k)
            found = certificate(method, variant)
            assert found.bound <= best[min(k, 4) - 1]
            assert checker.check_certificate(variant.to_json(), found.to_json()) == found.bound


def test_bounds_by_hand() -> None:
    """A chain of three: stages {0, 1} and {2}, or any node with its tensors alone."""
    sample = instance([5, 5, 5], [(0, 1), (1, 2)], 2, transfer=[4, 2, 0])
    assert certificate(MAX_WORK, sample).bound == 5
    assert certificate(MEAN_WORK, sample).bound == 8
    # The cheapest set around node 1 is {1} with 5 + 4 + 2, around node 0 it is {0} with 9.
    assert certificate(NODE_CUT, sample).bound == 11
    assert certificate(FRACTIONAL_LOAD, sample).bound == 11


def test_node_cut_counts_a_node_that_overflows_alone() -> None:
    """Parameters of one node beyond the cache are streamed wherever it runs."""
    sample = instance([5, 5], [(0, 1)], 2, transfer=[1, 0], param_load=[30, 0], cache=10)
    assert certificate(NODE_CUT, sample).bound == 26
