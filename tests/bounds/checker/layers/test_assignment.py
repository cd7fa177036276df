"""Assignments with virtual stages: costs, memory, and what is none."""

import random
from dataclasses import replace

import pytest
from brute_force_layers import interleaved_peak
from checking import cost_or_reason
from tiny_layers import VIRTUAL

from boundmark.bounds.checker.layers.assignment import _peak
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.layers import PROBLEM, LayersInstance


@pytest.mark.parametrize(
    ("devices", "expected"),
    [
        ([0, 1, 2, 1, 0, 2], "do not go round the devices in one order"),
        ([1, 0, 2, 1, 0, 2], "do not follow the order"),
        ([0, 1, 0, 1, 0, 1], "not as many as there should be"),
        ([0, 0, 1, 1, 2, 2], "not as many as there should be"),
        ([0, 0, 0, 0, 0, 0], "not as many as there should be"),
    ],
)
def test_rounds_that_are_none(devices: list[int], expected: str) -> None:
    """Six layers in two virtual stages of each of three devices, in their given order."""
    chain = replace(VIRTUAL.chain, devices=(0, 0, 0), device_names=("x", "y", "z"))
    sample = replace(VIRTUAL, chain=chain, virtual_stages=2, micro_batches=6, device_order="given")
    assert expected in str(cost_or_reason(sample, {"devices": devices}))
    with pytest.raises(InvalidInputError):
        sample.objective(PROBLEM.solution_from_json({"devices": devices}))


@pytest.mark.parametrize(
    ("rule", "needed"), [("zb-h2", 5), ("1f1b", 3), ("stages", 3), (2, 2), (1, 1)]
)
def test_the_first_of_three_stages(rule: int | str, needed: int) -> None:
    """What it holds fits exactly, and not into a byte less."""
    for capacity in (needed, needed - 1):
        chain = replace(
            VIRTUAL.chain, time=[[5] * 3], weights=[0] * 3, held=[1, 0, 0], sizes=[0] * 3,
            transfer=[[2] * 2], devices=(0, 0, 0), capacity=[max(1, capacity)],
            names=tuple("abc"), device_names=("x", "y", "z"),
        )  # fmt: skip
        sample = LayersInstance(chain, in_flight=rule)
        found = cost_or_reason(sample, {"devices": [0, 1, 2]})
        if capacity == needed:
            assert found == 7
        elif capacity:
            assert "its capacity" in str(found)


def test_what_a_device_has_at_most() -> None:
    """As running every step of the schedule says; once, only the last turn shows it."""
    assert _peak([4, 8, 9], 1, 3, 3) == interleaved_peak([4, 8, 9], 1, 3, 3) == 63
    dice = random.Random(7)
    for _ in range(300):
        held = [dice.randint(0, 9) for _ in range(dice.randint(2, 4))]
        ranks = dice.randint(2, 4)
        rank, batches = dice.randrange(ranks), ranks * dice.randint(1, 4)
        assert _peak(held, rank, ranks, batches) == interleaved_peak(held, rank, ranks, batches)
