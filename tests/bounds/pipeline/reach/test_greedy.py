from collections.abc import Callable

import pytest
from brute_force import instance, instances, partitions, stage_cost
from brute_force_prefixes import stages
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import examples

from boundmark.bounds.pipeline.reach.attempt import Context
from boundmark.bounds.pipeline.reach.greedy import Greedy
from boundmark.bounds.pipeline.reach.prefixes import Side
from boundmark.problems.pipeline import PipelineInstance

MANY = 1000


@settings(max_examples=examples(60))
@given(
    sample=instances(),
    threshold=st.integers(1, 30),
    side=st.sampled_from(("upper", "lower")),
    price=st.sampled_from((0.0, 0.5, 1.0)),
)
def test_stages_keep_to_the_threshold(
    context: Callable[..., Context],
    sample: PipelineInstance,
    threshold: int,
    side: Side,
    price: float,
) -> None:
    """Partitions are valid, and only the stage that takes the rest may cost too much."""
    found = Greedy(context(sample), threshold, side, price, MANY).partition()
    if found is None:
        return
    sample.objective(found)
    rest = sample.k - 1 if side == "upper" else 0
    for stage in set(range(sample.k)) - {rest}:
        members = {v for v in range(sample.nodes) if found.stages[v] == stage}
        assert stage_cost(sample, members) <= threshold


@settings(max_examples=examples(60))
@given(sample=instances(), threshold=st.integers(5, 30))
def test_a_first_stage_has_all_the_work_it_can(
    context: Callable[..., Context], sample: PipelineInstance, threshold: int
) -> None:
    """Searched to its end and without a price, no stage of limited cost has more work."""
    greedy = Greedy(context(sample), threshold, "upper", 0.0, MANY)
    found = greedy.partition()
    if found is None or sample.k == 1:
        return
    work = sample.graph.work
    most = max(
        sum(int(work[v]) for v in after)
        for before, after in stages(sample, threshold)
        if not before
    )
    first = int(work[found.stages == 0].sum())
    assert not greedy.is_cut_off
    assert first >= most - 0.001 * threshold


@pytest.mark.parametrize("side", ["upper", "lower"])
def test_a_chain_is_cut_where_it_has_to_be(context: Callable[..., Context], side: Side) -> None:
    """From either end, stages are as long as fits, and what cannot be met is not."""
    work = [4, 1, 3, 2, 2, 3, 1, 4]
    chain = instance(work, [(v, v + 1) for v in range(7)], 3, transfer=[0] * 8)
    found = Greedy(context(chain), 8, side, 0.0, MANY).partition()
    assert found is not None
    expected = [0, 0, 0, 1, 1, 1, 1, 2] if side == "upper" else [0, 1, 1, 1, 1, 2, 2, 2]
    assert found.stages.tolist() == expected
    best = min(
        max(sum(work[v] for v in range(8) if assignment[v] == stage) for stage in range(3))
        for assignment in partitions(chain)
    )
    below = Greedy(context(chain), best - 1, side, 0.0, MANY).partition()
    assert below is None or chain.objective(below) >= best
