"""`tune`: partitions that run tell what operators take, and the next one is better."""

import importlib.util
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from command_line import boundmark_here as command

import boundmark
from boundmark.benchmarks.measuring.pipeline.torch_stages import stage_key
from boundmark.benchmarks.measuring.pipeline.tuning import (
    Tuning,
    standard_error,
    tune,
    tuned,
    with_work,
)
from boundmark.benchmarks.solving.model import choose, load
from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.devices import find_device
from boundmark.problems.errors import BoundmarkError, InvalidInputError
from boundmark.problems.pipeline import PipelineInstance

HAS_RUNTIME = importlib.util.find_spec("onnxruntime") is not None
SQUEEZENET = Path(onnx.__file__).parent / "backend/test/data/light/light_squeezenet.onnx"

K = 4

# A stage's runs differ by so much.
PARTS = 0.95, 1.0, 1.1


@pytest.fixture(scope="module")
def instance() -> PipelineInstance:
    """Return a question about a real model, on a data sheet's costs."""
    choice = choose(load(SQUEEZENET), {"k": K}, "pipeline", are_texts=False)
    found = choice.make(choice.given)
    assert isinstance(found, PipelineInstance)
    return found


@pytest.fixture(scope="module")
def true_times(instance: PipelineInstance) -> np.ndarray:
    """Return times that differ from the roofline by a factor for each type, and by some noise."""
    generator = np.random.default_rng(1)
    types = load(SQUEEZENET).source.op_types
    factor = {name: generator.uniform(0.5, 6) for name in sorted(set(types))}
    factors = np.array([factor[name] for name in types]) * generator.uniform(0.8, 1.2, len(types))
    return np.rint(instance.graph.work * factors).astype(np.int64)


class Stages:
    """A stand-in for a machine: a stage takes what its operators do together, times its luck."""

    def __init__(
        self, times: np.ndarray, fails_after: int = 100, luck: Sequence[float] = ()
    ) -> None:
        self.times, self.fails_after, self.luck = times, fails_after, list(luck)
        self.ran: list[Sequence[np.ndarray]] = []

    def __call__(self, partitions: Sequence[np.ndarray]) -> dict[bytes, list[int]]:
        """Run partitions."""
        if len(self.ran) >= self.fails_after:
            raise BoundmarkError("stage 2: memory is short.")
        luck = self.luck[len(self.ran)] if len(self.ran) < len(self.luck) else 1.0
        self.ran.append(partitions)
        return {
            stage_key(stages, at): [round(luck * part * self.total(stages, at)) for part in PARTS]
            for stages in partitions
            for at in range(K)
        }

    def total(self, stages: np.ndarray, at: int) -> int:
        """Return what a stage takes."""
        return int(self.times[stages == at].sum())


def run_rounds(
    instance: PipelineInstance, machine: Stages, rounds: int, data_sheet: np.ndarray | None = None
) -> Tuning:
    """Tune on a machine of a test."""
    graph = load(SQUEEZENET).source
    assert isinstance(graph, ComputationGraph)
    other = instance.graph.work if data_sheet is None else data_sheet
    return tuned(instance, graph, machine, other, rounds, seconds=5)


def test_it_gets_to_the_optimum(instance: PipelineInstance, true_times: np.ndarray) -> None:
    """Where stages take the sum of their operators, a few rounds are within 2 % of it."""
    found = run_rounds(instance, Stages(true_times), 6)
    optimum = boundmark.solve(
        with_work(instance.graph, true_times), "pipeline", k=K, seconds=20, quiet=True
    )
    assert optimum.is_optimal
    assert max(found.rounds[0].real) > 1.02 * optimum.cost
    assert max(found.best.real) <= 1.02 * optimum.cost
    assert found.bound <= max(found.best.real)
    assert found.solution.columns.tolist() == ["operator", "stage"]


def test_times_of_the_last_partition_are_those_that_were_measured(
    instance: PipelineInstance, true_times: np.ndarray, tmp_path: Path
) -> None:
    """Stored, they are costs of a device for the same model."""
    found = run_rounds(instance, Stages(true_times), 1)
    times = np.array([*found.times.values()])
    last = found.rounds[-1].stages
    for at in range(K):
        assert times[last == at].sum() == pytest.approx(true_times[last == at].sum(), abs=100)
    path = tmp_path / "tuned.json"
    replace(found, machine="a machine of this test", base="nvidia-h100").save(path)
    device = find_device(str(path))
    assert device.measured is not None
    assert set(device.measured) == set(found.names)
    assert "a machine of this test: times by" in device.source


def test_a_stage_that_fails_ends_it(instance: PipelineInstance, true_times: np.ndarray) -> None:
    """One sentence says why, and what has run is kept; nothing has if the first one fails."""
    found = run_rounds(instance, Stages(true_times, fails_after=1), 3)
    assert len(found.rounds) == 1
    assert found.ended.endswith("could not be run: stage 2: memory is short.")
    with pytest.raises(BoundmarkError, match="memory is short"):
        run_rounds(instance, Stages(true_times, fails_after=0), 3)


def test_it_ends_when_nothing_is_promising(
    instance: PipelineInstance, true_times: np.ndarray
) -> None:
    """Rounds are not used up where the next partition has run, or is expected to be no faster."""
    found = run_rounds(instance, Stages(true_times), 50)
    assert len(found.rounds) < 20
    assert "has run" in found.ended or "no faster" in found.ended


def test_the_partition_of_a_data_sheet_runs_too(
    instance: PipelineInstance, true_times: np.ndarray
) -> None:
    """The answer is no worse than the one that is had without runs."""
    generator = np.random.default_rng(3)
    bad = (instance.graph.work * generator.uniform(0.01, 1, len(instance.graph.names))).astype(int)
    begun = PipelineInstance(with_work(instance.graph, bad), K)
    found = run_rounds(begun, Stages(true_times), 0, data_sheet=true_times)
    assert [one.number for one in found.rounds] == [0, 1]
    assert found.best.number == 1
    assert max(found.rounds[1].real) < max(found.rounds[0].real)


def test_close_partitions_run_again(instance: PipelineInstance, true_times: np.ndarray) -> None:
    """A lucky first run does not decide: the judgement is by runs of all that are close."""
    machine = Stages(true_times, luck=[0.9])
    found = run_rounds(instance, machine, 3)
    assert len(machine.ran) > len(found.rounds) > 1
    assert len(machine.ran[-1]) > 1
    real = [max(machine.total(one.stages, at) for at in range(K)) for one in found.rounds]
    assert real[found.best.number] == min(real)


def test_a_slower_machine_changes_no_order(
    instance: PipelineInstance, true_times: np.ndarray
) -> None:
    """Later rounds are compared with the best one as it runs beside them."""
    calm = run_rounds(instance, Stages(true_times), 3)
    slower = run_rounds(instance, Stages(true_times, luck=[1.0, 1.5, 2.0, 0.8, 1.2]), 3)
    for one, other in zip(calm.rounds, slower.rounds, strict=True):
        assert other.real == pytest.approx(one.real, rel=0.01)


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
