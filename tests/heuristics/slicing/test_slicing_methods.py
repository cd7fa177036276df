"""What heuristics find on instances where that can be said."""

import contextlib

import numpy as np
import pytest
from brute_force_slicing import instance, needs, needs_all, optimum
from recording import record
from tiny_slicing import LARGER, tiny

from boundmark.heuristics.slicing.simple_plans import layers, patterns, speeds
from boundmark.problems.errors import InvalidInputError, UnsupportedError
from boundmark.problems.slicing import SlicingInstance

FAST_AND_SLOW = instance([8, 8], [[10, 30], [20, 60]], [needs(0, 1, 8)])


def best(method: str, sample: SlicingInstance, **params: int) -> int:
    """Return the last objective that a method reports."""
    return sample.objective(record(method, sample, params=params).solutions[-1])


def test_simple_plans() -> None:
    """One device takes the faster one's work; equal parts the slower one's half; speeds, 3 to 1."""
    assert best("one-device", FAST_AND_SLOW) == 30
    assert best("equal-slices", FAST_AND_SLOW) == 15 + 30
    assert best("speed-slices", FAST_AND_SLOW) == 8 + 15
    # The second operator is on the slower device, and gets all of its input.
    assert best("layer-pipeline", instance([4, 4], [[6, 6], [6, 6]], [needs(0, 1, 4)])) == 16


def test_speeds_and_patterns() -> None:
    """Patterns are single devices, and the fastest ones equally or by their speeds."""
    assert speeds(FAST_AND_SLOW).tolist() == [1 / 30, 1 / 90]
    assert patterns(FAST_AND_SLOW).tolist() == [[0, 0, 1], [0, 0.5, 1], [0, 0.75, 1], [0, 1, 1]]


def test_layers_are_whole_operators_in_order() -> None:
    """Each on one device, and no device before one of an earlier operator."""
    vectors = layers(LARGER)
    widths = np.diff(vectors, axis=1)
    assert ((widths > 0).sum(axis=1) == 1).all()
    devices = widths.argmax(axis=1).tolist()
    assert devices == sorted(devices)
    assert set(devices) == {0, 1, 2}


@pytest.mark.parametrize("method", ["best-response", "slice-search"])
def test_no_worse_than_simple_plans(method: str) -> None:
    """They start from these."""
    for sample in (FAST_AND_SLOW, LARGER):
        simple = [best(name, sample) for name in ("speed-slices", "one-device")]
        assert best(method, sample, **SEARCH[method]) <= min(simple)


SEARCH = {"best-response": {}, "slice-search": {"evaluations": 3000}}


def test_search_finds_most_optima() -> None:
    """Of the tiny instances, all but a few."""
    found = [best("slice-search", sample, evaluations=3000) == least for sample, least in tiny()]
    assert sum(found) >= 0.9 * len(found)


def test_genetic_algorithm_evolves() -> None:
    """It has the plans of one device and of equal parts to begin with, and gets better."""
    pytest.importorskip("pymoo")
    simple = min(best(name, LARGER) for name in ("equal-slices", "one-device"))
    assert best("geneflow", LARGER, population=40, generations=60) < simple


def test_memory_that_simple_plans_exceed() -> None:
    """Methods without a plan say so; those that search find one that is best."""
    sample = instance(
        [4, 4], [[9, 9], [9, 9]], [needs(0, 1, 4, unit=3)], weights=[0, 4], output=[3, 1],
        axis=[0, 0], capacity=[13, 14],
    )  # fmt: skip
    for method, words in (
        ("one-device", "no device has memory for the whole model"),
        ("layer-pipeline", "does not fit into the devices' memory"),
    ):
        with pytest.raises(UnsupportedError, match=words):
            record(method, sample)
    least = optimum(sample)
    assert best("slice-search", sample, evaluations=3000) == least


def test_memory_that_no_plan_meets() -> None:
    """Each operator alone would fit, but not with what is live beside it."""
    sample = instance(
        [2, 2, 2], [[1, 1]] * 3, [needs_all(0, 2, 2, 2), needs(1, 2, 2)], output=[4, 4, 1],
        capacity=[8, 8],
    )  # fmt: skip
    assert optimum(sample) == float("inf")
    for method in ("best-response", "slice-search", "geneflow"):
        params = {"slice-search": {"evaluations": 200}, "geneflow": {"generations": 3}}
        with pytest.raises(UnsupportedError, match="fits into the devices' memory"):
            record(method, sample, params=params.get(method, {}))


@pytest.mark.slow
def test_plans_are_found_where_there_are_some() -> None:
    """However little memory is left: of random instances that have a plan, all are solved."""
    dice, solved, solvable = np.random.default_rng(3), 0, 0
    while solvable < 40:
        capacity = dice.integers(12, 30, size=2).tolist()
        weights, output = dice.integers(0, 9, size=3).tolist(), dice.integers(2, 6, size=3).tolist()
        try:
            sample = instance(
                [3, 4, 3], [[9, 9]] * 3,
                [needs(0, 1, 3, unit=2), needs(1, 2, 4), needs_all(0, 2, 3)],
                axis=[0, 0, 0], weights=weights, output=output, capacity=capacity,
            )  # fmt: skip
        except InvalidInputError:
            continue
        if optimum(sample) == float("inf"):
            continue
        solvable += 1
        with contextlib.suppress(UnsupportedError):
            solved += bool(record("slice-search", sample, params={"evaluations": 60_000}).solutions)
    assert solved == solvable
