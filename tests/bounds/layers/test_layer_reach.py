"""The exact search against all assignments, and what is said where nothing fits."""

import random
from dataclasses import replace

import pytest
from brute_force_layers import drawn, optimum
from recording import Recorder, record
from tiny_layers import LARGER, with_goal

from boundmark.bounds import checker
from boundmark.problems.certificate import Certificate
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.layers import LayersInstance
from boundmark.problems.layers.instance import GOALS, ORDERS
from boundmark.problems.method import Budget, Progress
from boundmark.problems.problem import solution_document


def solve(sample: LayersInstance) -> tuple[Recorder, bool]:
    """Return what the method reports, and whether it says that nothing fits."""
    from boundmark.bounds.layers.layer_reach import run

    recorder = Recorder()
    try:
        run(sample, Budget(wall_seconds=20.0), 1, recorder)
    except UnsupportedError:
        return recorder, True
    return recorder, False


def check(seed: int, goal: str, order: str) -> None:
    """Compare with all assignments, and forge the certificate."""
    sample = drawn(random.Random(seed), goal, order)
    if sample is None:
        return
    best = optimum(sample)
    recorder, fits_nowhere = solve(sample)
    document = sample.to_json()
    assert fits_nowhere == (best == float("inf"))
    for bound in recorder.bounds:
        assert isinstance(bound, Certificate)
        assert checker.check_certificate(document, bound.to_json()) == bound.bound
    if fits_nowhere:
        assert recorder.bounds[-1].bound > sample.chain.time.max(axis=0).sum()
        return
    (solution,) = recorder.solutions
    assert checker.check_solution(document, solution_document(sample, solution, int(best))) == best
    assert [bound.bound for bound in recorder.bounds] == ([best] if best else [])
    for bound in recorder.bounds:
        forged = bound.to_json()
        more = forged["bound"] + 1
        name = "largest" if goal == "bottleneck" else "bound"
        forged |= {"bound": more, "payload": {**forged["payload"], name: more}}
        with pytest.raises(checker.Rejected, match="an assignment"):
            checker.check_certificate(document, forged)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("goal", GOALS)
def test_it_finds_and_proves_the_optimum(goal: str, order: str) -> None:
    """Or that nothing fits; and one more is not proven."""
    for seed in range(60):
        check(seed, goal, order)


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("goal", GOALS)
def test_it_does_so_on_many(goal: str, order: str) -> None:
    """With other seeds."""
    for seed in range(1000, 2500):
        check(seed, goal, order)


def test_any_prices_give_a_bound() -> None:
    """The checker believes no producer: prices only shorten its search."""
    sample = with_goal("latency")
    (certificate,) = record("layer-reach", sample).bounds
    assert isinstance(certificate, Certificate)
    for prices in ([0, 0, 0], [5, 0, 9], [1000, 1000, 1000]):
        payload = {**certificate.payload, "prices": prices}
        document = {**certificate.to_json(), "payload": payload}
        assert checker.check_certificate(sample.to_json(), document) == certificate.bound


def test_a_search_that_is_too_large_leaves_a_gap() -> None:
    """With few steps there is still a solution, and a bound that the checker accepts."""
    from boundmark.bounds.layers.layer_reach import run

    recorder: Recorder = Recorder()
    progress: Progress = recorder
    run(LARGER, Budget(wall_seconds=20.0), 1, progress, steps=200)
    exact, _ = solve(LARGER)
    assert exact.bounds[-1].bound == LARGER.objective(exact.solutions[-1])
    for bound in recorder.bounds:
        assert isinstance(bound, Certificate)
        assert checker.check_certificate(LARGER.to_json(), bound.to_json()) >= bound.bound
        assert bound.bound <= exact.bounds[-1].bound


def test_a_nearer_cut_may_be_better() -> None:
    """The furthest start of a stage is not enough where tensors differ."""
    chain = replace(
        LARGER.chain, time=[[4] * 10] * 3, transfer=[[9, 9, 9, 0, 9, 9, 0, 9, 9]] * 2,
        joined=(), held=[0] * 10, tied=(), capacity=[99] * 3,
    )  # fmt: skip
    sample = replace(LARGER, chain=chain, goal="bottleneck")
    recorder, _ = solve(sample)
    (solution,) = recorder.solutions
    assert {4, 7} <= {stage.first for stage in solution.stages}  # type: ignore[attr-defined]
    assert recorder.bounds[-1].bound == 13
