"""Methods that learn: reproducible, better with training, and clear about what they cannot do."""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from brute_force_placement import instance, optimum
from learned_policy import SAMPLE, mean_latencies, placeto_gradients
from other_process import call
from recording import Recorder, record
from selection import first_now

from boundmark.heuristics.placement.learned.graphs import FeatureLayout
from boundmark.heuristics.placement.learned.hsdag import Checkpoint, load_checkpoint
from boundmark.heuristics.placement.learned.methods import learn
from boundmark.problems.catalog import methods
from boundmark.problems.errors import InvalidInputError, UnsupportedError
from boundmark.problems.method import Budget

needs_jax = pytest.mark.skipif(
    importlib.util.find_spec("jax") is None, reason="the extra `learned` is not installed"
)

LEARNED = ("hsdag", "placeto", "rnn-seq2seq")
ONE_DEVICE = instance([[2], [3]], [(0, 1)])
ONE_NODE = instance([[5, 3]], [])
# Devices can run every second operator each.
DIVIDED = instance([[2, -1], [-1, 3], [2, -1], [-1, 3]], [(0, 1), (1, 2), (2, 3)])


def objectives(method: str, sample: Any, **params: Any) -> list[int]:
    """Return the makespans that a method reports, in another process."""
    found = call(record, method, sample, seed=1, seconds=60, params=params).solutions
    return [sample.objective(solution) for solution in found]


@needs_jax
@pytest.mark.parametrize("method", first_now(LEARNED))
@pytest.mark.parametrize(
    ("sample", "least"),
    [
        pytest.param(DIVIDED, 13, id="divided"),
        pytest.param(ONE_DEVICE, 5, id="1", marks=pytest.mark.slow),
        pytest.param(ONE_NODE, 3, id="n1", marks=pytest.mark.slow),
    ],
)
def test_small_instances(method: str, sample: Any, least: int) -> None:
    """One device, one operator, and operators that not every device supports."""
    assert optimum(sample) == least
    assert objectives(method, sample, evaluations=40)[-1] == least


@needs_jax
@pytest.mark.parametrize("method", LEARNED)
def test_one_evaluation_is_one_placement(method: str) -> None:
    """Evaluations are a limit, whatever a batch holds."""
    assert len(objectives(method, SAMPLE, evaluations=1)) == 1


@needs_jax
def test_placeto_learns_the_same_in_parts() -> None:
    """Taking an episode's turns in parts saves memory and leaves the gradient as it is."""
    whole, parts = call(placeto_gradients)
    assert max(np.abs(one).max() for one in whole.values()) > 0.1
    for name, one in whole.items():
        np.testing.assert_allclose(parts[name], one, rtol=1e-4, atol=1e-5)


@needs_jax
def test_networks_without_room() -> None:
    """A lack of memory that JAX reports is a `MemoryError`; other errors stay as they are."""

    def train(text: str) -> None:
        def fail(evaluations: Any) -> None:
            raise RuntimeError(text)

        learn(DIVIDED, Budget(10), Recorder(), 10, fail)

    with pytest.raises(MemoryError, match="Out of memory allocating 7 bytes"):
        train("INTERNAL: Error dispatching computation: Out of memory allocating 7 bytes.")
    with pytest.raises(RuntimeError, match="another") as caught:
        train("another")
    assert not isinstance(caught.value, MemoryError)


@needs_jax
@pytest.mark.slow
def test_learning_improves_what_is_drawn() -> None:
    """A device is three times as fast: the last draws are better than the first, on average."""
    first, last = call(mean_latencies, evaluations=800)
    # Sums in floating point depend on the number of cores: 0.76 with two, 0.93 with one.
    assert last < 0.95 * first


@needs_jax
def test_checkpoints_place_without_training(tmp_path: Path) -> None:
    """What was saved is loaded; it places another graph of its layout, the same way each time."""
    path = str(tmp_path / "policy.npz")
    objectives("hsdag", SAMPLE, evaluations=40, hidden=8, save=path)
    kept = load_checkpoint(Path(path))
    assert (kept.policy, kept.devices) == ("hsdag", 2)
    given = {"load": path, "train": False, "evaluations": 3}
    other = instance([[9, 2]] * 8, [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (3, 6), (4, 6), (5, 6)])
    for sample in (SAMPLE, other):
        first = objectives("hsdag", sample, **given)
        assert first == objectives("hsdag", sample, **given)


@needs_jax
def test_shared_columns_place_any_graph(tmp_path: Path) -> None:
    """A policy of columns for whatever graph is trained on one, then on another, and places it."""
    path = str(tmp_path / "policy.npz")
    star = instance([[1, 1]] * 12, [(0, v) for v in range(1, 12)])
    given = {"shared_columns": True, "evaluations": 40, "hidden": 8}
    objectives("hsdag", SAMPLE, save=path, **given)
    kept = load_checkpoint(Path(path))
    objectives("hsdag", star, load=path, save=path, **given)
    trained = load_checkpoint(Path(path))
    assert kept.layout == trained.layout
    assert any(
        (kept.parameters[name] != trained.parameters[name]).any() for name in kept.parameters
    )
    assert len(objectives("hsdag", star, load=path, train=False, evaluations=1)) == 1


@needs_jax
@pytest.mark.parametrize(
    ("sample", "words"),
    [
        (instance([[1, 1]] * 5, [(0, v) for v in range(1, 5)]), "out-degree 4"),
        (instance([[1, 1, 1]] * 3, [(0, 1), (0, 2)]), "chooses among 2 devices"),
    ],
)
def test_checkpoints_of_other_graphs(sample: Any, words: str, tmp_path: Path) -> None:
    """A graph that the policy's features do not cover is refused with the reason."""
    path = str(tmp_path / "policy.npz")
    objectives("hsdag", SAMPLE, evaluations=1, hidden=8, save=path)
    with pytest.raises(InvalidInputError, match=words):
        objectives("hsdag", sample, load=path)


def test_checkpoints_of_other_policies(tmp_path: Path) -> None:
    """A policy is of a method and for a number of devices."""
    layout = FeatureLayout((), (), (), 0, True, 16, True)
    path = tmp_path / "policy.npz"
    Checkpoint("other", 3, layout, {}).save(path)
    kept = load_checkpoint(path)
    assert kept == Checkpoint("other", 3, layout, {})
    with pytest.raises(InvalidInputError, match="policy of 'other'; expected one of 'hsdag'"):
        kept.require("hsdag", 3)
    with pytest.raises(InvalidInputError, match="chooses among 3 devices; the instance has 2"):
        kept.require("other", 2)
    with pytest.raises(InvalidInputError, match="cannot be written"):
        kept.save(tmp_path)


@pytest.mark.parametrize("content", [b"", b"PK", b"{}", b"\x93NUMPY"])
def test_files_that_are_no_checkpoints(content: bytes, tmp_path: Path) -> None:
    """The error names the file and says what was expected."""
    path = tmp_path / "policy.npz"
    path.write_bytes(content)
    with pytest.raises(InvalidInputError, match=r"policy.npz: cannot be read as a policy"):
        load_checkpoint(path)


@pytest.mark.parametrize(
    ("method", "params", "words"),
    [
        ("hsdag", {"evaluations": 0}, "evaluations is 0; expected at least 1"),
        ("hsdag", {"steps": 0}, "steps is 0; expected at least 1"),
        ("hsdag", {"updates": 0}, "updates is 0; expected at least 1"),
        ("hsdag", {"hidden": -1}, "hidden is -1; expected at least 1"),
        ("hsdag", {"dropped_edges": 1.5}, "dropped_edges is 1.5; expected a number from 0 to 1"),
        ("hsdag", {"discount": -1}, "discount is -1; expected a number from 0 to 1"),
        ("hsdag", {"learning_rate": 0}, "learning_rate is 0; expected a positive number"),
        ("hsdag", {"train": False}, "train is false and load is empty"),
        (
            "hsdag",
            {"types": False, "structure": False, "shapes": False, "positions": False},
            "all features are left out",
        ),
        ("hsdag", {"load": "/nowhere.npz"}, "nowhere.npz: cannot be read as a policy"),
        ("preferred-device", {"first": 2}, "first is 2; expected a device, 0 to 1"),
    ],
)
def test_bad_parameters(method: str, params: dict[str, Any], words: str) -> None:
    """Sentences, before anything is learned."""
    if "load" in params and importlib.util.find_spec("jax") is None:
        pytest.skip("the extra `learned` is not installed")
    with pytest.raises(InvalidInputError, match=words):
        call(record, method, SAMPLE, params=params)


@pytest.mark.parametrize("method", LEARNED)
def test_without_the_extra(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The method says what to install, and the runner knows what it needs."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UnsupportedError, match=r"jax is not installed; .* extra 'learned': pip"):
        record(method, SAMPLE)
    assert methods()[method].requires == ("jax",)


def test_no_room() -> None:
    """Without any placement there is an end, with the reason."""
    sample = instance([[1, 1]] * 3, [], memory=[2, 2, 2], capacity=[3, 3])
    with pytest.raises(UnsupportedError, match="no placement was found"):
        record("random-sets", sample, params={"samples": 5})


def test_preferred_device_falls_back() -> None:
    """To the next device if the first one does not support everything."""
    sample = instance([[1, 2], [-1, 2]], [(0, 1)])
    assert [
        sample.objective(record("preferred-device", sample, params={"first": first}).solutions[0])
        for first in (0, 1)
    ] == [4, 4]
    with pytest.raises(UnsupportedError, match="no device supports all operators"):
        record("preferred-device", DIVIDED)
