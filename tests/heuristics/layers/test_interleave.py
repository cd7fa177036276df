"""`interleave`: assignments with virtual stages that fit, and better than even ones."""

import random
from dataclasses import replace

import pytest
from brute_force_layers import drawn, rounds
from recording import Recorder
from tiny_layers import LARGER, VIRTUAL

from boundmark.datasets.layers.language_models import load
from boundmark.heuristics.layers.interleave import run
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.layers import PROBLEM, LayersInstance
from boundmark.problems.method import Budget


def test_what_is_found_fits() -> None:
    """It is one of all assignments, at its cost; on equal layers, the optimum."""
    found = 0
    for seed in range(200):
        sample = drawn(random.Random(seed), "bottleneck", ("free", "given")[seed % 2], 7)
        if sample is None or len(sample.chain.devices) < 2:
            continue
        sample = replace(sample, virtual_stages=2, in_flight=(1, "interleaved")[seed // 2 % 2])
        recording = Recorder()
        try:
            run(sample, Budget(10, 1), 1, recording)
        except UnsupportedError:
            continue
        costs = [sample.objective(solution) for solution in recording.solutions]
        assert costs == sorted(costs, reverse=True)
        assert costs[-1] >= min(one for _, one in rounds(sample) if one is not None)
        found += 1
    assert found > 20


def test_equal_layers_are_optimal() -> None:
    """Three layers and as many transfers as there have to be on each device."""
    recording = Recorder()
    run(VIRTUAL, Budget(10, 1), 1, recording)
    assert VIRTUAL.objective(recording.solutions[-1]) == 21


def test_a_model_that_is_trained() -> None:
    """Within 1 % of what is proven for five virtual stages of Llama 3 70B on eight groups."""
    sample = PROBLEM.maker(load("llama-3-70b"))(
        {"devices": "64xH100", "tensor_parallel": 8, "phase": "training", "micro_batches": 16,
         "virtual_stages": 5}
    )  # fmt: skip
    assert isinstance(sample, LayersInstance)
    recording = Recorder()
    run(sample, Budget(20, 1), 1, recording)
    assert sample.objective(recording.solutions[-1]) <= 1.01 * 43_207_834


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"virtual_stages": 1, "in_flight": 1}, "there are no virtual stages"),
        ({"virtual_stages": 6, "in_flight": 1}, "do not go round two of 5 devices 6 times"),
    ],
)
def test_what_it_is_not_for(changed: dict[str, int], expected: str) -> None:
    """Each has its sentence."""
    sample = replace(LARGER, goal="bottleneck", **changed)  # type: ignore[arg-type]
    with pytest.raises(UnsupportedError, match=expected):
        run(sample, Budget(10, 1), 1, Recorder())
