"""`layer-load`: its bounds are accepted, and below every assignment."""

import random
from dataclasses import replace

import pytest
from brute_force_layers import drawn, optimum
from recording import Recorder
from tiny_layers import LARGER

from boundmark.bounds import checker
from boundmark.bounds.layers.layer_load import run
from boundmark.problems.certificate import Certificate
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.layers import LayersInstance
from boundmark.problems.method import Budget


def tiny(seed: int) -> LayersInstance | None:
    """Return a tiny instance, with virtual stages or without."""
    dice = random.Random(seed)
    sample = drawn(dice, "bottleneck", "free", 6)
    if sample is None or seed % 2:
        return sample
    return replace(sample, virtual_stages=2, in_flight=dice.choice((1, "interleaved")))


def test_below_every_assignment() -> None:
    """The bound is accepted, and is at most the optimum."""
    met = 0
    for seed in range(250):
        sample = tiny(seed)
        if sample is None:
            continue
        recording = Recorder()
        run(sample, Budget(10, 1), 1, recording)
        best = optimum(sample)
        for bound in recording.bounds:
            assert isinstance(bound, Certificate)
            assert checker.check_certificate(sample.to_json(), bound.to_json()) == bound.bound
            assert bound.bound <= best
            met += bound.bound == best
    assert met > 10


@pytest.mark.parametrize("goal", ["latency", "makespan"])
def test_other_goals(goal: str) -> None:
    """Nothing is claimed of them."""
    with pytest.raises(UnsupportedError, match="expects bottleneck"):
        run(replace(LARGER, goal=goal), Budget(10, 1), 1, Recorder())
