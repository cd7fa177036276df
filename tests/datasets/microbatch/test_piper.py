"""Stages as Piper plans them, beside all that there are."""

import itertools
from collections.abc import Iterator, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import examples

from boundmark.datasets.microbatch.piper import Degrees, LayerCosts, PlannedStage, plan
from boundmark.problems.errors import InvalidInputError

WAYS = (Degrees(), Degrees(2), Degrees(1, 2))

Costs = Mapping[Degrees, LayerCosts]


@st.composite
def costs(draw: st.DrawFn) -> Costs:
    """Draw what up to 4 layers take under each of some degrees, without any rule."""
    layers = draw(st.integers(1, 4))

    def column(most: int) -> list[float]:
        return [float(draw(st.integers(0, most))) for _ in range(layers)]

    return {ways: LayerCosts(column(9), column(6), column(3)) for ways in WAYS}


def all_stages(layers: int, gpus: int, start: int = 0) -> Iterator[list[PlannedStage]]:
    """Yield all ways to divide layers into stages with degrees on at most so many GPUs."""
    if start == layers:
        yield []
        return
    for end, degrees in itertools.product(range(start + 1, layers + 1), WAYS):
        if degrees.gpus <= gpus:
            for rest in all_stages(layers, gpus - degrees.gpus, end):
                yield [PlannedStage(start, end, degrees), *rest]


def slowest(given: Costs, stages: list[PlannedStage], memory: float, in_flight: int) -> float:
    """Return the time of the slowest stage, infinity if one does not fit."""
    most = 0.0
    for number, stage in enumerate(stages):
        behind = sum(other.degrees.replicas for other in stages[number:])
        count = in_flight or -(-behind // stage.degrees.replicas)
        own = given[stage.degrees]
        seconds, held, kept = (
            sum(column[stage.start : stage.end]) for column in (own.seconds, own.held, own.kept)
        )
        most = max(most, seconds if held + count * kept <= memory else float("inf"))
    return most


@settings(max_examples=examples(150), deadline=None)
@given(
    given=costs(), gpus=st.integers(1, 5), memory=st.integers(0, 25), in_flight=st.integers(0, 2),
    is_all=st.booleans(),
)  # fmt: skip
def test_no_other_stages_are_quicker(
    given: Costs, gpus: int, memory: int, in_flight: int, is_all: bool
) -> None:
    """Those planned fit, and of all that fit the slowest stage of none is quicker."""
    layers = len(given[WAYS[0]].seconds)
    every = [
        slowest(given, stages, memory, in_flight)
        for stages in all_stages(layers, gpus)
        if not is_all or sum(stage.degrees.gpus for stage in stages) == gpus
    ]
    best = min(every, default=float("inf"))
    try:
        found = plan(given, given, gpus, memory, in_flight=in_flight, is_all=is_all)
    except InvalidInputError:
        assert best == float("inf")
        return
    used = sum(stage.degrees.gpus for stage in found)
    assert used == gpus if is_all else used <= gpus
    assert [stage.start for stage in found] == [0, *(stage.end for stage in found[:-1])]
    assert found[-1].end == layers
    assert slowest(given, found, memory, in_flight) == best


def test_replicas_keep_fewer_micro_batches_each() -> None:
    """Memory for one micro-batch a GPU is enough for two replicas at the end, not for a chain."""
    two = LayerCosts([1.0, 1.0], [0.0, 0.0], [1.0, 1.0])
    alone = {Degrees(): two}
    with pytest.raises(InvalidInputError, match="no stages of 2 layers fit on 2 GPUs"):
        plan(alone, alone, 2, 1.0)
    assert [stage.end for stage in plan(alone, alone, 2, 2.0)] == [1, 2]
    ways = {Degrees(1, 2): LayerCosts([0.5, 0.5], [0.0, 0.0], [0.5, 0.5])}
    assert plan(ways, ways, 2, 1.0) == [PlannedStage(0, 2, Degrees(1, 2))]


def test_the_first_stage_may_have_other_degrees() -> None:
    """The words are on two GPUs, and every other stage is on one."""
    layers = LayerCosts([0.0, 4.0, 4.0, 4.0], [9.0, 1.0, 1.0, 1.0], [0.0] * 4)
    halves = LayerCosts([0.0, 2.0, 2.0, 2.0], [4.5, 0.5, 0.5, 0.5], [0.0] * 4)
    found = plan({Degrees(2): halves}, {Degrees(): layers}, 3, 6.0, in_flight=1, is_all=True)
    assert found == [PlannedStage(0, 3, Degrees(2)), PlannedStage(3, 4, Degrees())]
