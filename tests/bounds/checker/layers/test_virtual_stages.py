"""Assignments with virtual stages: costs, memory, and what is none."""

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest
from brute_force_layers import assignments, drawn, rounds

from boundmark.bounds import checker
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
    tried = 0
    for sample in virtual(range(150)):
        for assignment, expected in rounds(sample):
            document = solution_document(sample, assignment, expected or 0)
            tried += 1
            if expected is None:
                with pytest.raises(InvalidInputError):
                    sample.objective(assignment)
                with pytest.raises(checker.Rejected):
                    checker.check_solution(sample.to_json(), document)
            else:
                assert sample.objective(assignment) == expected
                assert checker.check_solution(sample.to_json(), document) == expected
    assert tried > 500


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
