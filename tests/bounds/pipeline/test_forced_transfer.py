import copy
from dataclasses import replace

import numpy as np
import pytest
from brute_force import instance, instances, optimum
from certified import certified
from hypothesis import given
from recording import record

from boundmark.benchmarks.model import named_instance
from boundmark.bounds import checker
from boundmark.bounds.checker.pipeline import limits
from boundmark.problems.arrays import frozen
from boundmark.problems.certificate import Certificate
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.pipeline import PipelineInstance


def best(sample: PipelineInstance) -> Certificate:
    """Return the last certificate, which is checked and better than those before."""
    reported = record("forced-transfer", sample, seconds=60)
    assert not reported.solutions
    bounds = [one.bound for one in reported.bounds]
    assert bounds == sorted(set(bounds))
    found = reported.bounds[-1]
    assert isinstance(found, Certificate)
    assert checker.check_certificate(sample.to_json(), found.to_json()) == found.bound
    return found


@given(instances())
def test_never_above_the_optimum(sample: PipelineInstance) -> None:
    """Tiny instances with every cost term, against all partitions."""
    assert best(sample).bound <= optimum(sample)


def there_and_back(layers: int, *, saved: int, k: int) -> PipelineInstance:
    """Return a chain forward and a chain back, in which each node reads what its mirror wrote."""
    n = 2 * layers
    edges = {(v, v + 1) for v in range(n - 1)} | {(v, n - 1 - v) for v in range(layers)}
    return instance([1] * n, sorted(edges), k, transfer=[saved] * layers + [0] * layers)


def test_saved_tensors_count_twice() -> None:
    """Of ten layers there and back, a stage of cost t holds the last t / 2 at most, both ways.

    The others' tensors leave a stage and enter one. So k t is at least 20 + 2 * 7 (10 - t / 2) for
    even t, where the mean work is 5: 4 * 18 < 20 + 14, but 4 * 16 >= 20 + 28.
    """
    sample = there_and_back(10, saved=7, k=4)
    work_and_transfers = {t: 20 + 14 * (10 - t // 2) for t in range(21)}
    expected = min(t for t in range(21) if 4 * t >= work_and_transfers[t])
    assert expected > 3 * 5
    assert best(sample).bound == expected


@pytest.mark.parametrize("name", ["forced-transfer", "separation, overflow"])
def test_pairs_follow_from_those_before(name: str) -> None:
    """In another order, one comes before the transfers that it rests on."""
    sample = certified("pipeline", name)
    changed = copy.deepcopy(sample.certificate)
    for end in ("first", "last"):
        changed["payload"][end].reverse()
    with pytest.raises(checker.Rejected, match="a stage can hold all nodes"):
        checker.check_certificate(sample.instance.to_json(), changed)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"first": [0], "last": []}, "not of one length"),
        ({"first": [4], "last": [1]}, "a stage can hold all nodes from 4 to 1"),
        ({"first": [2], "last": [4]}, "a stage can hold all nodes from 2 to 4"),
        ({"first": [], "last": []}, "do not refute the threshold"),
        ({"first": [6], "last": [1]}, "not an integer from 0 to 5"),
        ({"first": [-1], "last": [1]}, "not an integer from 0 to 5"),
        ({"first": 3}, "not a list"),
    ],
)
def test_false_pairs_are_rejected(changes: dict[str, object], reason: str) -> None:
    """The message says what is wrong with them."""
    sample = certified("pipeline", "forced-transfer")
    changed = copy.deepcopy(sample.certificate)
    changed["payload"].update(changes)
    with pytest.raises(checker.Rejected, match=reason):
        checker.check_certificate(sample.instance.to_json(), changed)


def test_graph_beyond_the_checker(monkeypatch: pytest.MonkeyPatch) -> None:
    """The method says so instead of filling the memory."""
    sample = certified("pipeline", "forced-transfer")
    monkeypatch.setattr(limits, "LARGEST_SEPARATION_GRAPH", 5)
    with pytest.raises(UnsupportedError, match="6 nodes; expected at most 5"):
        record("forced-transfer", sample.instance)


def test_training_graph() -> None:
    """A model with its backward pass: far above the mean work, by a handful of pairs."""
    sample = named_instance("zoo/gpt-2-training", {"k": "8"}, "pipeline").instance
    assert isinstance(sample, PipelineInstance)
    mean = -(-int(sample.graph.work.sum()) // 8)
    found = best(sample)
    assert found.bound > 1.9 * mean
    assert len(found.payload["first"]) < 20


def test_without_transfers_it_is_the_mean() -> None:
    """Nothing counts as work but work."""
    sample = there_and_back(6, saved=7, k=5)
    free = replace(sample.graph, transfer=frozen(np.zeros(12, dtype=np.int64)))
    assert best(PipelineInstance(free, 5)).bound == 3
