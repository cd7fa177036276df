"""Tests of weights that `packing` and `cut-tree` hand to each other."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from recording import Recorder

from boundmark.bounds.pipeline.weights import cut_tree
from boundmark.bounds.pipeline.weights import packing
from boundmark.bounds.pipeline.weights.packing import PackingSettings
from boundmark.bounds.pipeline.weights.set_weights import SetWeights
from boundmark.bounds.pipeline.weights.shared import Found, SharedWeights
from boundmark.bounds.pipeline.weights.tensors import Tensors, bits_of
from boundmark.bounds.pipeline.weights.weighing import Weigher
from boundmark.bounds.pipeline.quick_partition import quick_partition
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph

# Seconds that are never needed, also on a machine that is busy: the methods end by themselves.
LONG = 600.0


@pytest.mark.parametrize(
    ("first", "second", "weigher"),
    [(cut_tree, packing, Weigher), (packing, cut_tree, SetWeights)],
    ids=["cut-tree before packing", "packing before cut-tree"],
)
def test_the_second_begins_with_what_the_first_found(
    monkeypatch: pytest.MonkeyPatch,
    random_graph: Callable[..., PipelineGraph],
    first: ModuleType,
    second: ModuleType,
    weigher: type,
) -> None:
    """Its first weights are for that threshold, under sets found before, and it proves as much."""
    sample, k = PipelineInstance(random_graph(20, seed=1), 4), 4
    alone, shared, before = Recorder(), SharedWeights(), Recorder()
    second.run(sample, Budget(LONG), 0, alone)
    first.run(sample, Budget(LONG), 0, before, shared=shared)
    found = shared.found(is_loaded=False)
    tensors = Tensors.of(sample.graph)
    assert found
    assert found.weights.sum() > 0.9 * k
    assert all(tensors.is_convex(members) for members in found.sets)
    # The heaviest set is among them, of those up to the threshold that weights were found for.
    weighed = [found.weights[list(bits_of(members))].sum() for members in found.sets]
    assert max(weighed) == weighed[0] >= 0.98

    limits: list[int] = []
    sums: list[float] = []
    at = weigher.at

    def noted(self: Any, limit: int, start: np.ndarray, *arguments: Any, **named: Any) -> Any:
        limits.append(limit)
        sums.append(start.sum())
        return at(self, limit, start, *arguments, **named)

    monkeypatch.setattr(weigher, "at", noted)
    reports = Recorder()
    second.run(sample, Budget(LONG), 0, reports, shared=shared)
    assert (limits[0], sums[0]) == (found.threshold, pytest.approx(found.weights.sum()))
    assert reports.bounds[-1].bound >= 0.98 * alone.bounds[-1].bound


def test_few_sets_are_handed_over() -> None:
    """The first ones, which are the heaviest; with parameters as work, weights are others."""
    shared = SharedWeights(most_sets=2)
    shared.tell(False, Found(10, np.ones(3), (0b11, 0b100, 0b1)))
    found = shared.found(False)
    assert found
    assert (found.threshold, found.sets) == (10, (0b11, 0b100))
    assert shared.found(True) is None


@pytest.mark.parametrize("method", [cut_tree, packing])
def test_a_known_partition_is_not_searched_again(
    monkeypatch: pytest.MonkeyPatch,
    random_graph: Callable[..., PipelineGraph],
    method: ModuleType,
) -> None:
    """Its stages are sets that weights reckon with from the beginning."""
    sample = PipelineInstance(random_graph(20, seed=1), 4)
    start = quick_partition(sample, 1, Budget(1), 0)
    monkeypatch.delattr(method, "quick_partition")
    method.run(sample, Budget(0.0), 0, Recorder(), shared=SharedWeights(start))


@pytest.mark.parametrize(("nodes", "is_walked"), [(60, True), (59, False)])
def test_packing_begins_with_walks_where_stages_are_large(
    monkeypatch: pytest.MonkeyPatch,
    random_graph: Callable[..., PipelineGraph],
    nodes: int,
    is_walked: bool,
) -> None:
    """Its own weights begin with those that walks have found; others are told both."""
    sample, told, limits = PipelineInstance(random_graph(nodes, seed=1), 3), [], []
    at, tell = Weigher.at, SharedWeights.tell

    def noted_at(self: Weigher, limit: int, *arguments: Any) -> Any:
        limits.append(limit)
        return at(self, limit, *arguments)

    def noted_tell(self: SharedWeights, is_loaded: bool, found: Found) -> None:
        told.append(found)
        tell(self, is_loaded, found)

    monkeypatch.setattr(Weigher, "at", noted_at)
    monkeypatch.setattr(SharedWeights, "tell", noted_tell)
    # Only weights are of interest here.
    monkeypatch.setattr(packing._Rise, "prove_all", lambda self, precision: None)
    packing.run(
        sample, Budget(LONG), 0, Recorder(), settings=PackingSettings(walked_stage=20, easy=9.0)
    )
    # Once with overflow by parts, once with parameters as work.
    assert len(told) == (4 if is_walked else 2)
    assert (told[0].threshold == limits[0]) == is_walked
    for found in told:
        assert found.weights.sum() > 0.9 * 3
