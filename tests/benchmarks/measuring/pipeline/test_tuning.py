"""`tune`: partitions that run tell what operators take, and the next one is better."""

import importlib.util
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from command_line import boundmark_here as command

import boundmark
from boundmark.benchmarks.measuring.pipeline import tuning
from boundmark.benchmarks.measuring.pipeline.tuning import (
    RunStages,
    standard_error,
    tune,
    with_work,
)
from boundmark.benchmarks.solving.model import choose, load
from boundmark.problems.devices import find_device
from boundmark.problems.errors import BoundmarkError, InvalidInputError
from boundmark.problems.pipeline import PipelineInstance

HAS_RUNTIME = importlib.util.find_spec("onnxruntime") is not None
SQUEEZENET = Path(onnx.__file__).parent / "backend/test/data/light/light_squeezenet.onnx"

K = 4


@pytest.fixture
def true_times() -> np.ndarray:
    """Return times that differ from the roofline by a factor for each type, and by some noise."""
    model = load(SQUEEZENET)
    choice = choose(model, {"k": K}, "pipeline", are_texts=False)
    instance = choice.make(choice.given)
    assert isinstance(instance, PipelineInstance)
    generator = np.random.default_rng(1)
    types = model.source.op_types
    factor = {name: generator.uniform(0.5, 6) for name in sorted(set(types))}
    factors = np.array([factor[name] for name in types]) * generator.uniform(0.8, 1.2, len(types))
    return np.rint(instance.graph.work * factors).astype(np.int64)


def stages_take(times: np.ndarray, fails_after: int = 100) -> Callable[..., tuple[RunStages, str]]:
    """Return a stand-in for what runs stages: each takes what its operators do together."""
    ran = []

    def run(stages: np.ndarray) -> Sequence[Sequence[int]]:
        ran.append(stages)
        if len(ran) > fails_after:
            raise BoundmarkError("stage 2: memory is short.")
        return [[int(times[stages == at].sum())] * 3 for at in range(K)]

    return lambda *_: (run, "a machine of this test")


def test_it_gets_to_the_optimum(monkeypatch: pytest.MonkeyPatch, true_times: np.ndarray) -> None:
    """Where stages take the sum of their operators, a few rounds are within 2 % of it."""
    monkeypatch.setattr(tuning, "_runner", stages_take(true_times))
    found = tune(SQUEEZENET, K, rounds=6, seconds=5, device="nvidia-h100")
    choice = choose(load(SQUEEZENET), {"k": K}, "pipeline", are_texts=False)
    instance = choice.make(choice.given)
    assert isinstance(instance, PipelineInstance)
    optimum = boundmark.solve(
        with_work(instance.graph, true_times), "pipeline", k=K, seconds=20, quiet=True
    )
    assert optimum.is_optimal
    assert max(found.rounds[0].real) > 1.02 * optimum.cost
    assert max(found.best.real) <= 1.02 * optimum.cost
    assert found.bound <= max(found.best.real)
    assert found.solution.columns.tolist() == ["operator", "stage"]


def test_times_of_the_last_partition_are_those_that_were_measured(
    monkeypatch: pytest.MonkeyPatch, true_times: np.ndarray, tmp_path: Path
) -> None:
    """Stored, they are costs of a device for the same model."""
    monkeypatch.setattr(tuning, "_runner", stages_take(true_times))
    found = tune(SQUEEZENET, K, rounds=1, seconds=5, device="nvidia-h100")
    times = np.array([*found.times.values()])
    last = found.rounds[-1].stages
    for at in range(K):
        assert times[last == at].sum() == pytest.approx(true_times[last == at].sum(), abs=100)
    path = tmp_path / "tuned.json"
    found.save(path)
    device = find_device(str(path))
    assert device.measured is not None
    assert set(device.measured) == set(found.names)
    assert "a machine of this test: times by" in device.source


def test_a_stage_that_fails_ends_it(
    monkeypatch: pytest.MonkeyPatch, true_times: np.ndarray
) -> None:
    """One sentence says why, and what has run is kept; nothing has if the first one fails."""
    monkeypatch.setattr(tuning, "_runner", stages_take(true_times, fails_after=1))
    found = tune(SQUEEZENET, K, seconds=5, device="nvidia-h100")
    assert len(found.rounds) == 1
    assert found.ended.endswith("could not be run: stage 2: memory is short.")
    monkeypatch.setattr(tuning, "_runner", stages_take(true_times, fails_after=0))
    with pytest.raises(BoundmarkError, match="memory is short"):
        tune(SQUEEZENET, K, seconds=5, device="nvidia-h100")


def test_it_ends_when_nothing_is_promising(
    monkeypatch: pytest.MonkeyPatch, true_times: np.ndarray
) -> None:
    """Rounds are not used up where the next partition has run, or is expected to be no faster."""
    monkeypatch.setattr(tuning, "_runner", stages_take(true_times))
    found = tune(SQUEEZENET, K, rounds=50, seconds=5, device="nvidia-h100")
    assert len(found.rounds) < 20
    assert "has run" in found.ended or "no faster" in found.ended


def test_close_partitions_run_again(
    monkeypatch: pytest.MonkeyPatch, true_times: np.ndarray
) -> None:
    """Where errors do not tell them apart, repeats do: a lucky first run does not decide."""
    ran: list[np.ndarray] = []

    def run(stages: np.ndarray) -> Sequence[Sequence[int]]:
        luck = 0.9 if not ran else 1.0
        ran.append(stages)
        totals = [luck * int(true_times[stages == at].sum()) for at in range(K)]
        return [[round(part * total) for part in (0.8, 1.0, 1.3)] for total in totals]

    monkeypatch.setattr(tuning, "_runner", lambda *_: (run, "a machine of this test"))
    found = tune(SQUEEZENET, K, rounds=3, seconds=5, device="nvidia-h100")
    assert len(ran) > len(found.rounds) > 1
    real = [max(true_times[one.stages == at].sum() for at in range(K)) for one in found.rounds]
    assert real[found.best.number] == min(real)


@pytest.mark.parametrize(
    ("runs", "expected"),
    [([], 0.0), ([5], 0.0), ([10, 10, 10], 0.0), ([9, 10, 11, 10], 1.25 * 1.48 * 0.5 / 2 / 10)],
)
def test_standard_errors(runs: list[int], expected: float) -> None:
    """They are parts of the median."""
    assert standard_error(runs) == pytest.approx(expected, rel=1e-3)


def test_what_cannot_be_tuned(tmp_path: Path) -> None:
    """A sentence says what was expected."""
    with pytest.raises(InvalidInputError, match=r"expected \.onnx or \.pt2"):
        tune(write_json_graph(tmp_path), 2)
    with pytest.raises(InvalidInputError, match=r"expected them for \.pt2 files"):
        tune(SQUEEZENET, 2, compiled=True)


def write_json_graph(folder: Path) -> Path:
    """Write a model that cannot run."""
    path = folder / "graph.json"
    command("datasets", "export", "onnx-light/squeezenet", path)
    return path


@pytest.mark.slow
@pytest.mark.skipif(not HAS_RUNTIME, reason="onnxruntime is not installed")
def test_the_command(tmp_path: Path) -> None:
    """A real run of a small model, in processes with onnxruntime."""
    out = tmp_path / "tuned.json"
    options = ("-k", 2, "--rounds", 1, "--time-limit", 5, "--repeats", 5, "--out", out)
    told = json.loads(command("tune", SQUEEZENET, *options, "--json").stdout)
    assert told["bottleneck_ns"] == min(max(one["real_ns"]) for one in told["rounds"])
    assert told["certified_bound_ns"] <= told["bottleneck_ns"]
    shown = command("solve", SQUEEZENET, "-k", 2, "--costs", out).stdout
    assert "operator times" in shown
