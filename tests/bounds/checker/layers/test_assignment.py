"""Assignments with virtual stages: costs, memory, and what is none."""

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest
from brute_force_layers import all_rounds, assignments, drawn, interleaved_peak
from tiny_layers import VIRTUAL

from boundmark.bounds import checker
from boundmark.bounds.checker.layers.assignment import _peak
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.layers import PROBLEM, LayersInstance
from boundmark.problems.problem import solution_document


def virtual(seeds: range) -> Iterator[LayersInstance]:
    """Yield tiny instances with virtual stages."""
    for seed in seeds:
        dice = random.Random(seed)
        sample = drawn(dice, "bottleneck", ("free", "given")[seed % 2], 7)
        if sample is not None and len(sample.chain.devices) > 1:
            rule = dice.choice((1, 2, "stages", "interleaved", "interleaved"))
            yield replace(
                sample, virtual_stages=dice.choice((2, 2, 3)), micro_batches=dice.choice((2, 4, 6)),
                in_flight=rule,
            )  # fmt: skip


def test_virtual_stages_cost_what_they_cost() -> None:
    """By the definition, here and in the checker, whether they fit or not."""
    tried = refused = 0
    for sample in virtual(range(400)):
        for assignment, largest, fits in all_rounds(sample):
            document = solution_document(sample, assignment, largest)
            tried += 1
            if fits:
                assert sample.objective(assignment) == largest
                assert checker.check_solution(sample.to_json(), document) == largest
                continue
            refused += 1
            with pytest.raises(InvalidInputError, match=r"lacks|multiple"):
                sample.objective(assignment)
            with pytest.raises(checker.Rejected, match=r"its capacity|no multiple"):
                checker.check_solution(sample.to_json(), document)
    assert tried > 1000
    assert 200 < refused < tried - 200


def test_stages_that_do_not_go_round() -> None:
    """Refused, here and in the checker."""
    sample = next(one for one in virtual(range(100)) if one.chain.layers >= 6)
    sample = replace(sample, in_flight=1)
    for ends, used in assignments(replace(sample, virtual_stages=1)):
        starts = [0, *ends[:-1]]
        devices = [
            device for device, a, b in zip(used, starts, ends, strict=True) for _ in range(b - a)
        ]
        document = {
            "format": "boundmark-solution/1", "instance_sha256": sample.sha256,
            "problem": "layers", "objective": 1, "devices": devices,
        }  # fmt: skip
        with pytest.raises(InvalidInputError, match=r"expected \d for each of two or more"):
            sample.objective(PROBLEM.solution_from_json({"devices": devices}))
        with pytest.raises(checker.Rejected):
            checker.check_solution(sample.to_json(), document)


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
    document = {
        "format": "boundmark-solution/1", "instance_sha256": sample.sha256, "problem": "layers",
        "objective": 1, "devices": devices,
    }  # fmt: skip
    with pytest.raises(checker.Rejected, match=expected):
        checker.check_solution(sample.to_json(), document)
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
        document = solution_document(sample, PROBLEM.solution_from_json({"devices": [0, 1, 2]}), 7)
        if capacity == needed:
            assert checker.check_solution(sample.to_json(), document) == 7
        elif capacity:
            with pytest.raises(checker.Rejected, match="its capacity"):
                checker.check_solution(sample.to_json(), document)


def test_what_a_device_has_at_most() -> None:
    """As running every step of the schedule says; once, only the last turn shows it."""
    assert _peak([4, 8, 9], 1, 3, 3) == interleaved_peak([4, 8, 9], 1, 3, 3) == 63
    dice = random.Random(7)
    for _ in range(300):
        held = [dice.randint(0, 9) for _ in range(dice.randint(2, 4))]
        ranks = dice.randint(2, 4)
        rank, batches = dice.randrange(ranks), ranks * dice.randint(1, 4)
        assert _peak(held, rank, ranks, batches) == interleaved_peak(held, rank, ranks, batches)
