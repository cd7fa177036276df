"""What attempts prove, against all pipelines and all stages of tiny graphs."""

import itertools
import operator
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from brute_force import all_dags, instance, instances, optimum
from brute_force_prefixes import pipelines, prefix_weights, stages
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import examples, first_now

from boundmark.bounds import checker
from boundmark.bounds.best import Best
from boundmark.bounds.checker import budget
from boundmark.bounds.pipeline.prefixes.attempt import (
    KIND,
    Attempt,
    Context,
    steps_from_an_end,
)
from boundmark.bounds.pipeline.prefixes.prefix_weights import Step
from boundmark.bounds.pipeline.prefixes.windows import SHARE_UNITS
from boundmark.problems.certificate import Certificate
from boundmark.problems.pipeline import PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph

MANY = 1000

# What rounding of multipliers may cost, in stages.
ROUNDING = 1e-4

SAMPLES = [
    instance(
        [3, 1, 4, 1, 5][:nodes],
        edges,
        k=2 + number % 3,
        transfer=[2, 7, 1, 3, 2][:nodes],
        param_load=[0, 6, 2, 0, 5][:nodes],
        cache=(100, 6)[number // 3 % 2],
    )
    for nodes in (1, 2, 3, 4, 5)
    for number, edges in enumerate(all_dags(nodes))
    if nodes < 5 or number % 6 == 0
]


def attempted(context: Context, threshold: int) -> Attempt | None:
    """Return an attempt, None where a node does not fit."""
    fits = int(context.instance.graph.work.max()) <= threshold
    return Attempt(context, threshold) if fits else None


def certificate(sample: PipelineInstance, attempt: Attempt) -> Certificate:
    """Return the certificate of an attempt that has refuted its threshold."""
    bound = attempt.threshold + 1
    return Certificate.of(sample, KIND, bound, attempt.payload(), "test")


class Nowhere:
    """Takes no reports."""

    def solution(self, solution: object) -> None:
        """Take none."""

    def bound(self, bound: object) -> None:
        """Take none."""


@pytest.mark.parametrize("part", first_now(range(4)))
def test_no_pipeline_is_beyond_what_is_proved(context: Callable[..., Context], part: int) -> None:
    """At every threshold, prefixes of all pipelines weigh what steps from either end say."""
    for sample in SAMPLES[part::4]:
        best = optimum(sample)
        for threshold in range(max(1, best - 2), best + 3):
            attempt = attempted(context(sample), threshold)
            if attempt is None:
                assert threshold < best
                continue
            for turn in (attempt.forward, attempt.backward):
                if not attempt.is_refuted:
                    turn(MANY)
            if attempt.is_refuted:
                assert threshold < best
                checked = certificate(sample, attempt).to_json()
                assert checker.check_certificate(sample.to_json(), checked) == threshold + 1
                continue
            prefixes = attempt.prefixes
            for assignment in pipelines(sample, threshold):
                found = prefix_weights(prefixes.weights.tolist(), assignment, sample.k)
                for s, weight in enumerate(found):
                    assert prefixes.at_least[s] <= weight <= prefixes.at_most[s]


@pytest.mark.parametrize("part", range(4))
def test_a_step_proves_the_best_stage(context: Callable[..., Context], part: int) -> None:
    """Searched to its end, a step of one stage finds the heaviest prefix that one leads to."""
    proved = 0
    for sample in SAMPLES[part::4]:
        threshold = optimum(sample)
        attempt = attempted(context(sample), threshold)
        assert attempt is not None
        prefixes = attempt.prefixes
        weights = prefixes.weights.tolist()
        for stage in range(sample.k):
            before = list(prefixes.at_least), list(prefixes.at_most)
            heaviest = max(
                sum(weights[v] for v in after)
                for first, after in stages(sample, threshold)
                if before[0][stage] <= sum(weights[v] for v in first) <= before[1][stage]
                and (stage > 0 or not first)
                and (stage < sample.k - 1 or len(after) == sample.nodes)
                and sum(weights[v] for v in after) >= before[0][stage + 1]
            )
            if attempt.take(Step(stage, stage, "upper"), MANY):
                proved += 1
            assert heaviest <= prefixes.at_most[stage + 1]
            limit = min(before[1][stage + 1], heaviest + ROUNDING * SHARE_UNITS)
            assert prefixes.at_most[stage + 1] <= limit
    assert proved > 10


@settings(max_examples=examples(60))
@given(sample=instances())
def test_all_stages_at_once_decide(
    context: Callable[..., Context], sample: PipelineInstance
) -> None:
    """`finish` refutes what is below the optimum, and nothing else."""
    best = optimum(sample)
    for threshold in (best - 1, best):
        attempt = attempted(context(sample), threshold) if threshold > 0 else None
        if attempt is None or attempt.is_refuted:
            continue
        is_refuted = attempt.finish(MANY, Best(sample, Nowhere()))  # type: ignore[arg-type]
        assert is_refuted == (threshold < best)
        if is_refuted:
            checked = certificate(sample, attempt).to_json()
            assert checker.check_certificate(sample.to_json(), checked) == best


@settings(max_examples=examples(40))
@given(sample=instances(), width=st.integers(1, 4))
def test_steps_of_several_stages(
    context: Callable[..., Context], sample: PipelineInstance, width: int
) -> None:
    """Steps of one to four stages, from both ends, are certified and never refute too much."""
    best = optimum(sample)
    turns = ("forward", "backward", "back_and_forth")
    for threshold, turn in itertools.product((best - 1, best), turns):
        attempt = attempted(context(sample), threshold) if threshold > 0 else None
        if attempt is None:
            continue
        if not attempt.is_refuted:
            getattr(attempt, turn)(MANY, width)
        if attempt.is_refuted:
            assert threshold < best
            checked = certificate(sample, attempt).to_json()
            assert checker.check_certificate(sample.to_json(), checked) == best


@pytest.mark.parametrize("stages", [1, 2, 3, 4])
def test_the_longest_steps_cover_all_stages(stages: int) -> None:
    """From an end, each stage is in a longest step, and some step reaches each stage."""
    for k in (1, 2, 3, 4, 7, 12):
        steps = [*steps_from_an_end(k, MANY, stages)]
        assert {reached for reached, _, _ in steps} == set(range(1, k + 1))
        longest = [(reached, length) for reached, length, most in steps if most == MANY]
        assert {length for _, length in longest} == {stages}
        covered = {s for reached, length in longest for s in range(reached - length, reached)}
        assert covered >= set(range(k))


def test_steps_from_both_ends_narrow_prefixes(
    context: Callable[..., Context],
    random_graph: Callable[..., PipelineGraph],
) -> None:
    """What steps from one end leave open, those from the other end narrow, and nothing is lost."""
    sample = PipelineInstance(random_graph(24, seed=1), 4)
    mean = -(-int(sample.graph.work.sum()) // sample.k)
    for threshold in range(mean, 2 * mean, mean // 20):
        attempt = attempted(context(sample), threshold)
        if attempt is not None and not attempt.is_refuted and not attempt.forward(3):
            break
    assert attempt is not None
    before = attempt.width
    at_most = list(attempt.prefixes.at_most)
    attempt.back_and_forth(3, 1, nearly_refuted=2.0)
    assert 0 <= attempt.width < before
    assert all(map(operator.le, attempt.prefixes.at_most, at_most))


@pytest.mark.parametrize("turn", ["forward", "backward"])
def test_effort_is_that_of_the_check(
    context: Callable[..., Context],
    random_graph: Callable[..., PipelineGraph],
    monkeypatch: pytest.MonkeyPatch,
    turn: str,
) -> None:
    """The checker takes no more steps than were counted, and not many less."""
    sample = PipelineInstance(random_graph(24, seed=1), 3)
    mean = -(-int(sample.graph.work.sum()) // sample.k)
    for threshold in (mean, mean + mean // 10, mean + mean // 5):
        attempt = attempted(context(sample), threshold)
        assert attempt is not None
        if attempt.is_refuted or not getattr(attempt, turn)(MANY):
            continue
        document = certificate(sample, attempt).to_json()
        with monkeypatch.context() as limited:
            limited.setattr(budget, "MOST_STEPS", attempt.effort.steps)
            assert checker.check_certificate(sample.to_json(), document) == threshold + 1
            limited.setattr(budget, "MOST_STEPS", attempt.effort.steps * 8 // 10)
            with pytest.raises(checker.TooLarge):
                checker.check_certificate(sample.to_json(), document)
        values = sum(type(token) is int for token in _flat(document["payload"]["steps"]))
        assert attempt.effort.values >= values - 3 * len(document["payload"]["steps"])
        return
    raise AssertionError("no threshold was refuted")


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _flat(part)
    else:
        yield value


@pytest.mark.parametrize("turn", ["forward", "backward"])
def test_a_node_that_nothing_gets_past(context: Callable[..., Context], turn: str) -> None:
    """If a step in the middle leads nowhere, none after it has to be taken."""
    tensors = [1, 1, 1, 4, 4, 1, 1, 1]
    sample = instance([5] * 8, [(v, v + 1) for v in range(7)], 7, transfer=tensors)
    # Node 4 costs 13 by itself, and no less together with others.
    attempt = attempted(context(sample), 12)
    assert attempt is not None
    assert getattr(attempt, turn)(MANY)
    payload = attempt.payload()
    # The other end is not reached, nor would the limits alone refute the threshold.
    taken = payload["steps"]
    assert len(taken) < sample.k
    assert 0 < taken[-1]["first"] == taken[-1]["last"] < sample.k - 1
    assert all(
        low <= high
        for low, high in zip(attempt.prefixes.at_least, attempt.prefixes.at_most, strict=True)
    )
    document = certificate(sample, attempt).to_json()
    assert checker.check_certificate(sample.to_json(), document) == 13
    payload["steps"] = taken[:-1]
    with pytest.raises(checker.Rejected, match="the steps do not refute the threshold"):
        checker.check_certificate(sample.to_json(), {**document, "payload": payload})
