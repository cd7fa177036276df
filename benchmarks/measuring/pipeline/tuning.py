"""Find the partition that is best on this machine: solve, run the stages, estimate, solve again.

A model of costs orders operators badly enough that a partition which is optimal on it is some
percent above the optimum at measured times. Running the stages that were chosen says where it errs:
each round estimates the times of operators anew (`tuned_costs`) and solves on these, until the next
partition is expected to be no faster than the best that has run.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from boundmark.benchmarks.api import solve
from boundmark.benchmarks.arguments import check_flags, path_of
from boundmark.benchmarks.measuring import torch_execution
from boundmark.benchmarks.measuring.measured import TURN
from boundmark.benchmarks.measuring.operator_times import check_suffix
from boundmark.benchmarks.measuring.pipeline import stage_times, torch_stages
from boundmark.benchmarks.measuring.pipeline.stage_files import (
    CutModel,
    GivenPartition,
    is_available,
    written,
)
from boundmark.benchmarks.measuring.pipeline.stage_times import MeasurementSettings
from boundmark.benchmarks.measuring.pipeline.torch_stages import TorchSettings, stage_key
from boundmark.benchmarks.measuring.pipeline.tuned_costs import StageObservation, tuned_work
from boundmark.benchmarks.running.environment import cpu_name
from boundmark.benchmarks.running.settings import LONGEST_SECONDS, bounded_integer, positive_number
from boundmark.benchmarks.solving.model import choose, load
from boundmark.datasets.pipeline.onnx_split import split_model
from boundmark.problems.arrays import IntArray
from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.devices import TIMES_FORMAT, default_device, shipped
from boundmark.problems.errors import (
    BoundmarkError,
    InvalidInputError,
    MissingFileError,
    extra_with,
)
from boundmark.problems.pipeline import Partition, PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph
from boundmark.problems.pipeline.instance import in_pipeline_order, stage_costs, stage_work

if TYPE_CHECKING:
    import pandas as pd

# How often partitions that may both be the best run again.
MOST_TURNS = 2

# Runs of one partition minutes apart differ by so much on a shared processor, ten times as much as
# the standard error of either; partitions within it are told apart by runs in turns only.
BETWEEN_RUNS = 0.05

# Stages that run on a processor begin with the costs of one of its cores.
ONE_CORE = "x86-core"

# Runs of a PyTorch program that time its operators on a processor; they take less time than a
# partition's stages do. A stage says only what its operators take together: where all stages have
# the same mix, as in bert-base, rounds from other costs end early. onnxruntime's profiler makes
# small operators twice as long, and brings nothing.
PROFILE_REPEATS = 10

# Runs all stages of some partitions, each of shape (n,), in turns: nanoseconds of each run, by
# `stage_key`.
RunStages: TypeAlias = Callable[[Sequence[IntArray]], Mapping[bytes, Sequence[int]]]


@dataclass(frozen=True, eq=False)
class TuningRound:
    """A partition that has run.

    Attributes
    ----------
    number
        0 for the partition that is best on the costs at the beginning; 1 for the best one on a data
        sheet's costs, where those are others.
    stages
        The stage of each operator, shape (n,), numbered as data flow.
    predicted, real
        Nanoseconds of each stage with its transfers, which are predicted in both; real ones are
        those of the first round's machine, whose speed may change while partitions run.
    error
        Standard error of the slowest stage's time, as a part of it.
    bound
        No partition takes less on the costs of this round, certified; in nanoseconds.
    """

    number: int
    stages: IntArray
    predicted: tuple[int, ...]
    real: tuple[int, ...]
    error: float
    bound: int

    @property
    def slowest(self) -> int:
        """The number of the stage that took longest."""
        return self.real.index(max(self.real))


@dataclass(frozen=True, eq=False)
class Tuning:
    """Partitions that have run on this machine, and the times of operators that follow.

    Attributes
    ----------
    names
        The names of the model's operators.
    rounds
        The partitions that ran, in this order.
    times
        Nanoseconds of each operator, by the rounds.
    bound
        No partition takes less on these times, certified; in nanoseconds.
    ended
        Why no further round followed, as a sentence.
    model
        What the model is called.
    machine
        What ran the stages, in words.
    base
        The device whose link and memory go with the times.
    began_with
        The costs of round 0, in words.
    """

    names: tuple[str, ...]
    rounds: tuple[TuningRound, ...]
    times: Mapping[str, int]
    bound: int
    ended: str
    model: str = ""
    machine: str = ""
    base: str = ""
    began_with: str = ""

    @property
    def best(self) -> TuningRound:
        """The round whose slowest stage took least time."""
        return min(self.rounds, key=lambda one: max(one.real))

    @property
    def gap(self) -> float:
        """The fraction by which another partition may be faster at most, on the tuned times."""
        return max(0.0, max(self.best.real) / max(1, self.bound) - 1)

    @property
    def solution(self) -> "pd.DataFrame":
        """The best partition: a row for each operator, columns `operator` and `stage`."""
        import pandas as pd

        return pd.DataFrame({"operator": self.names, "stage": self.best.stages})

    def to_json(self) -> dict[str, Any]:
        """Return the object that `boundmark tune --json` prints."""
        best = self.best
        return {
            "model": self.model,
            "machine": self.machine,
            "rounds": [
                {
                    "round": one.number,
                    "predicted_ns": list(one.predicted),
                    "real_ns": list(one.real),
                    "slowest": one.slowest,
                    "error": round(one.error, 4),
                    "certified_bound_ns": one.bound,
                    "stages": one.stages.tolist(),
                }
                for one in self.rounds
            ],
            "best_round": best.number,
            "bottleneck_ns": max(best.real),
            "certified_bound_ns": self.bound,
            "gap": self.gap,
            "began_with": self.began_with,
            "ended": self.ended,
        }

    def document(self) -> dict[str, Any]:
        """Return the tuned times as the document that other commands read as ``--costs``."""
        return {
            "format": TIMES_FORMAT,
            "model": self.model,
            "base": self.base,
            "source": f"{self.machine}: times by {len(self.rounds)} partitions of {self.model} "
            "whose stages ran",
            "rank_correlation": None,
            "operators": dict(self.times),
        }

    def save(self, path: str | Path) -> None:
        """Store the tuned times in a ``.json`` file, which other commands read as ``--costs``."""
        from boundmark.reports.stored.durable import write_durably

        given = path_of("path", path, "file")
        check_suffix(given)
        write_durably(given, (json.dumps(self.document(), indent=1) + "\n").encode())


def tune(
    net: str | Path,
    k: int,
    *,
    rounds: int = 3,
    seconds: float = 20.0,
    device: str | None = None,
    costs: str | None = None,
    dims: Mapping[str, int] | None = None,
    torch_device: str | None = None,
    compiled: bool = False,
    threads: int = 1,
    repeats: int = 30,
    on_round: Callable[[TuningRound], None] = lambda found: None,
) -> Tuning:
    """Find the partition that is best on this machine, by running the stages of a few.

    Ctrl-C ends it; what has run by then counts, once the first partition has.
    """
    check_flags(compiled=compiled)
    bounded_integer("k", k, 1, 10_000)
    bounded_integer("rounds", rounds, 0, 100)
    positive_number("seconds", seconds, LONGEST_SECONDS)
    path = path_of("net", net, "file")
    is_measured = False
    with TemporaryDirectory(prefix="boundmark-") as folder:
        if device is None and costs is None and not _is_on_gpu(path, torch_device):
            device = ONE_CORE
            if is_measured := path.suffix.lower() == ".pt2":
                costs = _profiled(path, compiled, threads, Path(folder))
        given = {"k": k} if costs is None else {"k": k, "costs": costs}
        choice = choose(load(path, device=device, dims=dims), given, "pipeline", are_texts=False)
        source = choice.named(choice.make(choice.given))
    began_with = f"costs of {source.device}"
    if is_measured:
        began_with = "operator times measured here"
    instance, graph = source.instance, load(path, device=device, dims=dims).source
    if not isinstance(instance, PipelineInstance) or not isinstance(graph, ComputationGraph):
        raise InvalidInputError(f"{path} is no model; expected an ONNX file or a .pt2 file.")
    if instance.graph.phase:
        raise InvalidInputError(
            f"{path} has a backward pass; expected a model of inference, whose stages can run."
        )
    plain = choose(
        load(path, device=_base(source.device), dims=dims),
        {"k": k, "costs": "roofline"}, "pipeline", are_texts=False,
    )  # fmt: skip
    on_data_sheet = plain.make(plain.given)
    assert isinstance(on_data_sheet, PipelineInstance)
    run, machine = _runner(path, instance, dims, torch_device, compiled, threads, repeats)
    found = tuned(instance, graph, run, on_data_sheet.graph.work, rounds, seconds, on_round)
    return replace(
        found, model=path.name, machine=machine, base=_base(source.device), began_with=began_with
    )


def tuned(
    instance: PipelineInstance,
    graph: ComputationGraph,
    run: RunStages,
    on_data_sheet: IntArray,
    rounds: int,
    seconds: float,
    on_round: Callable[[TuningRound], None] = lambda found: None,
) -> Tuning:
    """Find the partition of a model that is best on whatever machine runs its stages.

    It begins with the instance's costs; the partition that is best on a data sheet's runs too, so
    that the answer is no worse than what is had without any runs.
    """
    loop = _Loop(instance, graph, run, seconds)
    ended = f"{rounds} rounds have run"
    try:
        for found in loop.rounds(rounds, on_data_sheet):
            on_round(found)
        ended = loop.ended or ended
        loop.settle()
    except KeyboardInterrupt:
        if not loop.ran:
            raise
        ended = "it was interrupted"
    except BoundmarkError as error:
        if not loop.ran:
            raise
        ended = f"the stages of another partition could not be run: {error}"
    work = np.rint(loop.work()).astype(np.int64)
    return Tuning(
        names=tuple(instance.graph.names),
        rounds=tuple(loop.ran),
        times=dict(zip(instance.graph.names, work.tolist(), strict=True)),
        bound=_solved(instance, work, seconds)[1],
        ended=ended,
    )


class _Loop:
    """Rounds on one model; what has run stays if a round fails."""

    def __init__(
        self, instance: PipelineInstance, graph: ComputationGraph, run: RunStages, seconds: float
    ) -> None:
        self._instance, self._run, self._seconds = instance, run, seconds
        self._classes = graph.op_types
        sizes = (graph.flops, graph.read_bytes, graph.output_bytes, graph.param_bytes)
        self._kinds = list(zip(graph.op_types, *(one.tolist() for one in sizes), strict=True))
        self._runs: dict[bytes, list[int]] = {}
        self.ran: list[TuningRound] = []
        self.ended = ""

    def work(self) -> np.ndarray:
        """Return the nanoseconds of operators by what has run, shape (n,)."""
        seen = [
            [
                StageObservation(found.stages == at, median(one) if one else 0, standard_error(one))
                for at, one in enumerate(self._runs_of(found.stages))
            ]
            for found in self.ran
        ]
        return tuned_work(self._instance.graph.work, self._classes, self._kinds, seen)

    def rounds(self, most: int, on_data_sheet: IntArray) -> Iterator[TuningRound]:
        """Yield the first rounds and up to so many others."""
        graph = self._instance.graph
        stages, bound = _solved(self._instance, graph.work, self._seconds)
        yield self._run_first(stages, graph.work, bound)
        if not np.array_equal(on_data_sheet, graph.work):
            plain, _ = _solved(self._instance, on_data_sheet, self._seconds)
            if not np.array_equal(plain, stages):
                yield self._run_first(plain, graph.work, bound)
        for _ in range(most):
            work = np.rint(self.work()).astype(np.int64)
            stages, bound = _solved(self._instance, work, self._seconds)
            if any(np.array_equal(stages, one.stages) for one in self.ran):
                self.ended = "the partition that is best on the tuned times has run"
                return
            predicted = stage_costs(with_work(graph, work), stages, self._instance.k)
            if predicted.max() >= max(self._best().real):
                self.ended = "the next partition is expected to be no faster than the best so far"
                return
            yield self._run_first(stages, work, bound)

    def settle(self) -> None:
        """Run the partitions again that may be the best, and judge them by these runs alone."""
        fresh: dict[bytes, list[int]] = {}
        for _ in range(MOST_TURNS):
            most = max(self._best().real) * (1 + BETWEEN_RUNS)
            close = [one.stages for one in self.ran if max(one.real) * (1 - one.error) <= most]
            if len(close) < 2:
                return
            for key, times in self._run_in_turns(close).items():
                fresh.setdefault(key, []).extend(times)
                self._runs[key] = fresh[key]
            self._judge()

    def _best(self) -> TuningRound:
        return min(self.ran, key=lambda one: max(one.real))

    def _runs_of(self, stages: IntArray) -> list[list[int]]:
        return [self._runs.get(stage_key(stages, at), []) for at in range(self._instance.k)]

    def _run_first(self, stages: IntArray, work: IntArray, bound: int) -> TuningRound:
        """Run a partition, in turns with the best so far, whose times are known."""
        graph, k = self._instance.graph, self._instance.k
        beside = [self._best().stages] if self.ran else []
        for key, times in self._run_in_turns([*beside, stages]).items():
            self._runs.setdefault(key, []).extend(times)
        predicted = tuple(stage_costs(with_work(graph, work), stages, k).tolist())
        self.ran.append(TuningRound(len(self.ran), stages, predicted, (), 0.0, bound))
        self._judge()
        return self.ran[-1]

    def _run_in_turns(self, partitions: Sequence[IntArray]) -> dict[bytes, list[int]]:
        """Return new times of stages, made those of the machine on which the first ones ran.

        A shared processor's speed changes by a quarter within minutes, more than partitions differ
        by.
        """
        fresh = {key: list(one) for key, one in self._run(partitions).items()}
        known = [key for key in fresh if self._runs.get(key)]
        now = sum(median(fresh[key]) for key in known)
        change = sum(median(self._runs[key]) for key in known) / now if now else 1.0
        return {key: [round(change * one) for one in times] for key, times in fresh.items()}

    def _judge(self) -> None:
        """State for each round what its stages take by all that has run."""
        graph, k = self._instance.graph, self._instance.k
        for at, one in enumerate(self.ran):
            runs = self._runs_of(one.stages)
            transfers = stage_costs(graph, one.stages, k) - stage_work(graph, one.stages, k)
            real = [round(median(times)) if times else 0 for times in runs] + transfers
            error = standard_error(runs[int(real.argmax())])
            self.ran[at] = replace(one, real=tuple(real.tolist()), error=error)


def _base(device: str) -> str:
    """Return the device whose link and memory go with the times: that of the first costs."""
    name = device.split("+")[0]
    return name if name in shipped().devices else default_device().name


def standard_error(runs: Sequence[int]) -> float:
    """Return the standard error of the median of some runs, as a part of it.

    For normal distributions, that of the median is 1.25 times that of the mean, and the standard
    deviation 1.48 times the median deviation, which single disturbed runs do not change.
    """
    middle = median(runs) if runs else 0
    if len(runs) < 2 or not middle:
        return 0.0
    deviation = 1.48 * median(abs(one - middle) for one in runs)
    return float(1.25 * deviation / len(runs) ** 0.5 / middle)


def with_work(graph: PipelineGraph, work: IntArray) -> PipelineGraph:
    """Return a graph with other times of its operators."""
    return PipelineGraph(
        graph.dag, work, graph.transfer, graph.param_load, graph.cache, graph.names, graph.tick
    )


def _solved(instance: PipelineInstance, work: IntArray, seconds: float) -> tuple[IntArray, int]:
    """Return the stages of the best partition on some times, and the certified bound."""
    graph = with_work(instance.graph, work)
    answer = solve(graph, "pipeline", k=instance.k, seconds=seconds, quiet=True, library=False)
    found = Partition.from_json(answer.record.solution or {})
    ordered = in_pipeline_order(PipelineInstance(graph, instance.k), found)
    return ordered.stages, answer.bound or 0


def _profiled(path: Path, is_compiled: bool, threads: int, folder: Path) -> str:
    """Return the file of the times that a program's operators take on this processor."""
    from boundmark.benchmarks.measuring.profiling import profile

    found = profile(
        path, base=ONE_CORE, torch_device="cpu", compiled=is_compiled, threads=threads,
        repeats=PROFILE_REPEATS,
    )  # fmt: skip
    found.save(folder / "times.json")
    return str(folder / "times.json")


def _is_on_gpu(path: Path, torch_device: str | None) -> bool:
    """Return whether the stages of a file run on a GPU."""
    if path.suffix.lower() != ".pt2":
        return False
    return (torch_device or torch_execution.default_device()) != "cpu"


def _runner(
    path: Path,
    instance: PipelineInstance,
    dims: Mapping[str, int] | None,
    torch_device: str | None,
    is_compiled: bool,
    threads: int,
    repeats: int,
) -> tuple[RunStages, str]:
    """Return the function that runs stages, and what runs them, in words."""
    if path.suffix.lower() == ".pt2":
        return _torch_runner(path, TorchSettings(is_compiled, torch_device, threads, repeats))
    if path.suffix.lower() != ".onnx":
        raise InvalidInputError(
            f"{path} has the suffix {path.suffix!r}; expected .onnx or .pt2, whose stages can run."
        )
    if is_compiled or torch_device is not None:
        raise InvalidInputError("compiled or torch_device is given; expected them for .pt2 files.")
    if not is_available():
        raise MissingFileError(f"onnxruntime is not installed{extra_with('onnxruntime')}.")
    import onnxruntime

    settings = MeasurementSettings(threads, repeats=repeats)

    def run(partitions: Sequence[IntArray]) -> Mapping[bytes, Sequence[int]]:
        keys, paths = [], []
        with TemporaryDirectory(prefix="boundmark-") as folder:
            for at, stages in enumerate(partitions):
                number = dict(zip(instance.graph.names, stages.tolist(), strict=True))
                models = split_model(path, number, range(instance.k), dims or {})
                given = GivenPartition(instance, Partition(stages), "", ())
                own = Path(folder) / str(at)
                own.mkdir()
                paths.append(written(CutModel(given, models), own))
                keys.append([stage_key(stages, model.stage) for model in models])
            found = stage_times.alone_in_turns(paths, settings)
        times: dict[bytes, list[int]] = {}
        for own_keys, runs in zip(keys, found, strict=True):
            for key, one in zip(own_keys, runs, strict=True):
                times.setdefault(key, []).extend(one)
        return times

    return run, f"onnxruntime {onnxruntime.__version__} on {cpu_name()}, {threads} thread(s)"


def _torch_runner(path: Path, settings: TorchSettings) -> tuple[RunStages, str]:
    program = torch_execution.runnable(path, device=settings.device)
    import torch

    timers: dict[bytes, torch_stages.Timer] = {}

    def run(partitions: Sequence[IntArray]) -> Mapping[bytes, Sequence[int]]:
        for stages in partitions:
            torch_stages.add_timers(timers, program, stages, settings)
        keys = {
            stage_key(stages, number) for stages in partitions for number in set(stages.tolist())
        }
        # A stage is captured anew for each turn on a GPU, whose clock changes less.
        turn = settings.repeats if program.device.type == "cuda" else TURN
        times: dict[bytes, list[int]] = {key: [] for key in keys}
        for _ in range(0, settings.repeats, turn):
            for key in keys:
                times[key] += timers[key](turn).times
        return times

    place = f"{cpu_name()}, {settings.threads} thread(s)"
    if program.device.type == "cuda":
        place = torch.cuda.get_device_name(program.device)
    how = ", compiled" if settings.is_compiled else ""
    return run, f"PyTorch {torch.__version__} on {place}{how}"
