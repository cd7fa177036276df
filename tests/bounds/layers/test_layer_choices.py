"""Questions against all configurations and assignments, and what is said where nothing fits."""

import random

import pytest
from brute_force_layers import drawn, host_costs, with_host
from recording import Recorder
from tiny_layers import LARGER

from boundmark.bounds import checker
from boundmark.bounds.layers.layer_choices import answer, run
from boundmark.problems.certificate import Certificate
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.layers import LayersInstance
from boundmark.problems.layers.instance import GOALS, ORDERS
from boundmark.problems.method import Budget


def samples(seeds: range) -> list[LayersInstance]:
    """Return questions of all goals and orders."""
    found = []
    for seed in seeds:
        dice = random.Random(seed)
        sample = drawn(dice, GOALS[seed % 3], ORDERS[seed // 3 % 2], 5)
        if sample is not None:
            found.append(with_host(sample, dice))
    return found


def test_it_finds_and_proves_the_best_configuration() -> None:
    """Or that nothing fits; the last solution costs as much as the certificate proves."""
    asked, nowhere = samples(range(2000, 2420)), 0
    assert len(asked) >= 300
    for sample in asked:
        recorder, best = Recorder(), min(host_costs(sample).values())
        try:
            run(sample, Budget(wall_seconds=20.0), 1, recorder)
        except UnsupportedError:
            assert best == float("inf")
            assert recorder.bounds[-1].bound > sample.most()
            nowhere += 1
            continue
        assert sample.objective(recorder.solutions[-1]) == best
        assert [bound.bound for bound in recorder.bounds] == ([best] if best else [])
        for bound in recorder.bounds:
            assert isinstance(bound, Certificate)
            assert checker.check_certificate(sample.to_json(), bound.to_json()) == best
    assert nowhere > 10


def test_a_document_without_the_best_configuration_is_refused() -> None:
    """A bound that holds for all others is forged by leaving the best one out."""
    forged = 0
    for sample in samples(range(2000, 2120)):
        costs = sorted(host_costs(sample).items(), key=lambda item: item[1])
        (best, cost), *others = costs
        if not others or not cost < others[0][1] < float("inf"):
            continue
        bound = int(others[0][1])
        question, found = checker.check_instance(sample.to_json()), None
        found = answer(
            question._replace(
                configurations=lambda question=question, best=best: (
                    one for one in question.configurations() if one.name != (best,)
                )
            ),
            lambda one, sample=sample: sample.split_into(one.name[0]),
            sample.most() + 1,
            Budget(wall_seconds=20.0),
        )
        assert found.bound == bound
        document = Certificate.of(sample, "layer-choices/1", bound, found.payload, "test").to_json()
        with pytest.raises(checker.Rejected, match=f"configuration {best} may cost less"):
            checker.check_certificate(sample.to_json(), document)
        forged += 1
    assert forged > 20


def test_few_steps_leave_a_gap() -> None:
    """There is a bound that the checker accepts, no larger than the optimum."""
    gaps = 0
    for sample in samples(range(2000, 2060)):
        recorder, best = Recorder(), min(host_costs(sample).values())
        try:
            run(sample, Budget(wall_seconds=20.0), 1, recorder, steps=60)
        except UnsupportedError:
            continue
        for bound in recorder.bounds:
            assert isinstance(bound, Certificate)
            assert checker.check_certificate(sample.to_json(), bound.to_json()) == bound.bound
            assert bound.bound <= best
            gaps += bound.bound < best
    assert gaps > 5


def test_whole_layers_are_for_other_methods() -> None:
    """An instance that is no question is refused, and questions by methods for instances."""
    from boundmark.bounds.layers import layer_load, layer_reach

    with pytest.raises(UnsupportedError, match="expects a question"):
        run(LARGER, Budget(1.0), 1, Recorder())
    (sample, *_) = samples(range(2000, 2010))
    for method in (layer_load, layer_reach):
        with pytest.raises(UnsupportedError, match="expects whole layers"):
            method.run(sample, Budget(1.0), 1, Recorder())
