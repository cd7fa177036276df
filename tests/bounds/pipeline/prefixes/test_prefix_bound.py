from collections.abc import Callable

import numpy as np
import pytest
from brute_force import instance, instances, optimum, partitions, stage_cost
from brute_force_prefixes import stages
from hypothesis import given, settings
from hypothesis import strategies as st
from recording import Recorder
from selection import examples

from boundmark.bounds import checker
from boundmark.bounds.pipeline.prefixes import prefix_bound
from boundmark.bounds.pipeline.prefixes.attempt import Context
from boundmark.problems.certificate import Certificate
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import PipelineInstance


def run(sample: PipelineInstance, seconds: float) -> tuple[list[Certificate], int]:
    """Return the certificates, better and better and accepted, and the least cost reported."""
    reports = Recorder()
    prefix_bound.run(sample, Budget(seconds), 0, reports)
    bounds = [report.bound for report in reports.bounds]
    assert bounds == sorted(set(bounds))
    for report in reports.bounds:
        assert checker.check_certificate(sample.to_json(), report.to_json()) == report.bound
    return reports.bounds, min(sample.objective(solution) for solution in reports.solutions)


@settings(max_examples=examples(60))
@given(sample=instances())
def test_small_graphs_are_solved(sample: PipelineInstance) -> None:
    """Given time, bound and partition meet at the optimum."""
    bounds, cost = run(sample, 30)
    assert bounds[-1].bound == cost == optimum(sample)


@pytest.mark.parametrize("k", [2, 3, 4, 6, 13])
def test_a_chain_is_solved(k: int) -> None:
    """Where all is in a row, steps of one stage are as good as all stages at once."""
    rng = np.random.default_rng(k)
    work, transfer = (rng.integers(1, 50, 24).tolist() for _ in range(2))
    chain = instance(work, [(v, v + 1) for v in range(23)], k, transfer=transfer)
    bounds, cost = run(chain, 30)
    assert bounds[-1].bound == cost


def test_two_chains_are_solved() -> None:
    """So are two rows side by side, whose down-sets are pairs."""
    rng = np.random.default_rng(3)
    work, transfer = (rng.integers(10, 50, 26).tolist() for _ in range(2))
    rows = [(v, v + 1) for v in range(12)] + [(v, v + 1) for v in range(13, 25)]
    sample = instance(work, rows, 3, transfer=transfer)
    bounds, cost = run(sample, 60)
    assert bounds[-1].bound == cost
    assert bounds[-1].kind == "prefix-bound/1"


@pytest.mark.parametrize(
    "seed", [14, pytest.param(8, marks=pytest.mark.slow), pytest.param(21, marks=pytest.mark.slow)]
)
def test_many_stages_of_few_nodes_are_solved(seed: int) -> None:
    """A tick is much there, so that bounds far apart in parts of the cost are to be closed too."""
    rng = np.random.default_rng(seed)
    work, transfer = (rng.integers(1, 30, 8).tolist() for _ in range(2))
    edges = [(u, v) for u in range(8) for v in range(u + 1, 8) if rng.random() < 0.3]
    sample = instance(work, edges, 5, transfer=transfer)
    bounds, cost = run(sample, 30)
    assert bounds[-1].bound == cost == optimum(sample)


EXTREMES: dict[str, tuple[PipelineInstance, int]] = {
    "one stage": (instance([3, 4], [(0, 1)], 1, transfer=[9, 9]), 7),
    "one node": (instance([5], [], 3, transfer=[9]), 5),
    "a stage each": (instance([5, 4, 3], [(0, 1), (1, 2)], 3, transfer=[1, 1, 1]), 6),
    "more stages than nodes": (instance([5, 4, 3], [(0, 1)], 9, transfer=[0, 9, 9]), 5),
    "no work": (instance([0, 0, 0], [(0, 1), (0, 2)], 2, transfer=[4, 4, 4]), 0),
    "no work, but parameters": (instance([0, 0], [], 2, param_load=[5, 4], cache=2), 3),
    "nothing at all": (instance([0, 0], [], 4, transfer=[0, 0]), 0),
    "a node that fills a stage": (instance([9, 3, 3, 3], [(0, 1), (1, 2), (2, 3)], 2), 10),
}


@pytest.mark.parametrize("name", EXTREMES)
def test_extreme_instances(name: str) -> None:
    """One stage, more stages than nodes, no work: all are solved."""
    sample, expected = EXTREMES[name]
    bounds, cost = run(sample, 20)
    assert (bounds[-1].bound, cost) == (expected, expected)
    assert optimum(sample) == expected


MANY_BRANCHINGS = 1000


@settings(max_examples=examples(60))
@given(
    sample=instances(),
    threshold=st.integers(1, 30),
    price=st.sampled_from((0.0, 0.5, 1.0)),
)
def test_stages_keep_to_the_threshold(
    context: Callable[..., Context],
    sample: PipelineInstance,
    threshold: int,
    price: float,
) -> None:
    """Partitions are valid, and only the stage that takes the rest may cost too much."""
    found = prefix_bound.Greedy(context(sample), threshold, price, MANY_BRANCHINGS).partition()
    if found is None:
        return
    sample.objective(found)
    for stage in range(sample.k - 1):
        members = {v for v in range(sample.nodes) if found.stages[v] == stage}
        assert stage_cost(sample, members) <= threshold


@settings(max_examples=examples(60))
@given(sample=instances(), threshold=st.integers(5, 30))
def test_a_first_stage_has_all_the_work_it_can(
    context: Callable[..., Context], sample: PipelineInstance, threshold: int
) -> None:
    """Searched to its end and without a price, no stage of limited cost has more work."""
    found = prefix_bound.Greedy(context(sample), threshold, 0.0, MANY_BRANCHINGS).partition()
    if found is None or sample.k == 1:
        return
    work = sample.graph.work
    most = max(
        sum(int(work[v]) for v in after)
        for before, after in stages(sample, threshold)
        if not before
    )
    first = int(work[found.stages == 0].sum())
    assert first >= most - 0.001 * threshold


def test_a_chain_is_cut_where_it_has_to_be(context: Callable[..., Context]) -> None:
    """Stages are as long as fits, and what cannot be met is not."""
    work = [4, 1, 3, 2, 2, 3, 1, 4]
    chain = instance(work, [(v, v + 1) for v in range(7)], 3, transfer=[0] * 8)
    found = prefix_bound.Greedy(context(chain), 8, 0.0, MANY_BRANCHINGS).partition()
    assert found is not None
    assert found.stages.tolist() == [0, 0, 0, 1, 1, 1, 1, 2]
    best = min(
        max(sum(work[v] for v in range(8) if assignment[v] == stage) for stage in range(3))
        for assignment in partitions(chain)
    )
    below = prefix_bound.Greedy(context(chain), best - 1, 0.0, MANY_BRANCHINGS).partition()
    assert below is None or chain.objective(below) >= best
