from typing import Any

import pytest
from brute_force_microbatch import instances, optimum
from hypothesis import given
from other_process import call
from recording import record

from boundmark.bounds import checker
from boundmark.datasets.microbatch import shapes
from boundmark.problems.microbatch import MicrobatchInstance


@given(instances((0,)))
def test_trees_prove_nothing_false(sample: MicrobatchInstance) -> None:
    """Whatever periods are refuted are below the optimum, and the checker agrees."""
    for bound in call(record, "modulo-tree", sample).bounds:
        document: Any = bound
        assert bound.bound <= optimum(sample)
        assert checker.check_certificate(sample.to_json(), document.to_json()) == bound.bound


@pytest.mark.parametrize(("member", "memory", "period"), [("m-4-train", 4, 7), ("v-4-train", 3, 8)])
def test_trees_prove_what_memory_costs(member: str, memory: int, period: int) -> None:
    """With little memory, periods without bubbles are refuted, up to the optimum."""
    sample = MicrobatchInstance.of(shapes.load(member), memory=memory)
    assert call(record, "modulo-tree", sample).bounds[-1].bound == period
    assert call(record, "modulo", sample).bounds[-1].bound == period
