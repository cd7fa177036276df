"""Layers that a model repeats, and steps in all of them at once."""

import numpy as np
import pytest
from brute_force_placement import instance

from boundmark.heuristics.placement.placement_search import (
    PlacementSearchSettings,
    Repeats,
    moved,
    periods,
)
from boundmark.heuristics.placement.room import has_room
from boundmark.problems.placement import PlacementInstance


def layered(layers: int, memory: int = 0, room: int = 0) -> PlacementInstance:
    """Return layers of a chain of three operators each, behind one that stands alone."""
    rows = [[9, 9], *[[1, 2], [3, 1], [2, 2]] * layers]
    edges = [(v, v + 1) for v in range(3 * layers)]
    return instance(
        rows, edges, times=[[0, 1, 1, 0]], memory=[memory] * len(rows), capacity=[room] * 2
    )


def test_a_period_is_the_length_of_a_layer() -> None:
    """The first operator is like no other, and the last one reads but does not write."""
    repeats = Repeats(layered(5).graph)
    assert repeats.period.tolist() == [0, *[3] * 14, 0]


@pytest.mark.parametrize("layers", [3, 6])
def test_a_few_equal_operators_are_no_layers(layers: int) -> None:
    """Three layers behind ten operators that all differ are less than half, six are more."""
    rows = [*([v, v] for v in range(20, 30)), *[[1, 2], [3, 1], [2, 2]] * layers]
    sample = instance(rows, [(v, v + 1) for v in range(len(rows) - 1)])
    repeats = Repeats(sample.graph)
    assert repeats.period.any()
    assert repeats.are_most == (layers == 6)


def test_layers_of_two_sorts() -> None:
    """As those of an encoder and of a decoder: each has a period of its own."""
    kind = np.array([1, 2, 3] * 10 + [4, 5, 6, 7, 8, 9, 10] * 6)
    assert periods(kind).tolist() == [3] * 30 + [7] * 42


def test_nothing_is_repeated() -> None:
    """Operators of which each has its own costs have no twins."""
    sample = instance([[v, v] for v in range(1, 13)], [(v, v + 1) for v in range(11)])
    repeats = Repeats(sample.graph)
    assert not repeats.period.any()
    assert repeats.twins(4, 3).tolist() == [[4, 5, 6]]


def test_twins_are_whole_runs() -> None:
    """A run that the end of the model cuts off, or that is unlike, is none."""
    repeats = Repeats(layered(4).graph)
    assert repeats.twins(4, 3).tolist() == [[4, 5, 6], [1, 2, 3], [7, 8, 9]]
    assert repeats.twins(4, 2).tolist() == [[4, 5], [1, 2], [7, 8], [10, 11]]
    assert repeats.twins(0, 2).tolist() == [[0, 1]]


@pytest.mark.parametrize("copied", [0.0, 1.0])
def test_steps_in_all_layers(copied: float) -> None:
    """Where layers are placed alike, all steps keep them alike; copies bring that about."""
    sample = layered(6)
    repeats = Repeats(sample.graph)
    settings = PlacementSearchSettings(repeated=1.0, copied=copied, to_neighbour=0.0)
    generator = np.random.default_rng(3)
    devices = generator.integers(2, size=sample.nodes)
    seen = 0
    for _ in range(400):
        if not copied:
            devices = np.tile(generator.integers(2, size=3), 7)[: sample.nodes]
        changed = moved(sample, devices, generator, settings, repeats)
        if changed is not None:
            seen += 1
            assert (changed != devices).any()
            if copied:
                devices = changed
    assert seen
    if copied:
        # Operators at the same place of a layer end up together, but for the last layer's end.
        assert all(len(set(devices[at:18:3])) == 1 for at in (1, 2, 3))


def test_steps_in_all_layers_keep_to_the_room() -> None:
    """With room for ten of 19 operators on each device, none is given more."""
    sample = layered(6, memory=1, room=10)
    repeats = Repeats(sample.graph)
    settings = PlacementSearchSettings(repeated=1.0, copied=0.5)
    generator = np.random.default_rng(5)
    devices = np.arange(sample.nodes) % 2
    seen = 0
    for _ in range(400):
        changed = moved(sample, devices, generator, settings, repeats)
        if changed is not None:
            assert has_room(sample, changed)
            devices, seen = changed, seen + 1
    assert seen
