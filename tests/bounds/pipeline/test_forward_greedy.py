import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from brute_force import instance, instances, optimum
from hypothesis import given, settings
from recording import Recorder
from selection import examples

from boundmark.bounds.pipeline import forward_greedy
from boundmark.bounds.pipeline.quick_partition import quick_partition
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph


def costs(sample: PipelineInstance, seconds: float, seed: int = 0) -> list[int]:
    """Return what the partitions reported cost, each less than the one before."""
    reports = Recorder()
    forward_greedy.run(sample, Budget(seconds), seed, reports)
    found = [sample.objective(solution) for solution in reports.solutions]
    assert found == sorted(set(found), reverse=True)
    return found


@settings(max_examples=examples(25))
@given(sample=instances())
def test_partitions_of_small_graphs(sample: PipelineInstance) -> None:
    """Whatever the graph, partitions are valid and not below OPT."""
    assert costs(sample, 1)[-1] >= optimum(sample)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_a_chain_is_solved(k: int) -> None:
    """On a chain, the longest stage that fits is the best one, if tensors cost the same."""
    rng = np.random.default_rng(k)
    work = rng.integers(1, 50, 24).tolist()
    sample = instance(work, [(v, v + 1) for v in range(23)], k, transfer=[3] * 24)
    slicings = quick_partition(sample, 0, Budget(5), 0)
    assert costs(sample, 20)[-1] == sample.objective(slicings)


@pytest.mark.slow
def test_beats_where_it_starts(random_graph: Callable[..., PipelineGraph]) -> None:
    """On a random graph, partitions are better than the slicings that it starts from."""
    found = costs(PipelineInstance(random_graph(40, seed=2), 3), 6)
    assert found[-1] < found[0]


def test_a_missing_solver_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The partition to start from is reported all the same."""
    monkeypatch.setitem(sys.modules, "highspy", None)
    reports: Any = Recorder()
    with pytest.raises(UnsupportedError, match="solver module highspy is not installed"):
        forward_greedy.run(instance([4, 4, 5, 1], [(0, 2)], 2), Budget(5), 0, reports)
    assert reports.solutions
