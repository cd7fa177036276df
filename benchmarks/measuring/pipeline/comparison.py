"""Measured times of a partition's stages beside those that its costs predict."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from rich.table import Table

from boundmark.benchmarks.cli.terminal import echo, print_table
from boundmark.benchmarks.measuring.measured import waiting
from boundmark.benchmarks.measuring.pipeline import stage_times, torch_stages
from boundmark.benchmarks.measuring.pipeline.stage_files import (
    CutModel,
    GivenPartition,
    is_available,
)
from boundmark.benchmarks.measuring.pipeline.stage_times import MeasurementSettings, StageTimes
from boundmark.benchmarks.measuring.pipeline.torch_stages import TorchSettings
from boundmark.benchmarks.measuring.torch_execution import runnable
from boundmark.benchmarks.running.environment import cpu_name
from boundmark.problems.errors import MissingFileError, extra_with
from boundmark.problems.pipeline.instance import stage_costs, stage_work

# A stage that takes so much longer while the others run shares something with them.
SLOWED = 1.25

# Load of a machine from which on times say little.
BUSY = 0.5


@dataclass(frozen=True)
class Predicted:
    """Predicted times of stages, in the order in which data flows.

    Attributes
    ----------
    numbers
        Numbers of the stages, as the partition has them.
    work, cost
        Ticks of each stage without transfers, and with them.
    unit
        Unit of these; empty if ticks are no time.
    costs
        What they rest on, in words.
    """

    numbers: tuple[int, ...]
    work: tuple[int, ...]
    cost: tuple[int, ...]
    unit: str
    costs: str

    @classmethod
    def of(cls, given: GivenPartition, numbers: Sequence[int]) -> "Predicted":
        """Return what some stages of a partition are predicted to take."""
        graph, k, stages = given.instance.graph, given.instance.k, given.partition.stages
        work, cost = stage_work(graph, stages, k), stage_costs(graph, stages, k)
        return cls(
            numbers=tuple(numbers),
            work=tuple(int(work[number]) for number in numbers),
            cost=tuple(int(cost[number]) for number in numbers),
            unit="" if graph.tick == "unit" else graph.tick,
            costs=given.costs,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the first fields of what `--json` prints."""
        return {
            "stages": list(self.numbers),
            "predicted_work": list(self.work),
            "predicted_cost": list(self.cost),
            "unit": self.unit,
            "costs": self.costs,
        }

    @property
    def slowest(self) -> str:
        """The predicted time of the slowest stage, in words."""
        took = f"the slowest stage is predicted to take {max(self.cost):,} {self.unit}".rstrip()
        return took + (f", on {self.costs}" if self.costs else "")

    def which_is_slowest(self, predicted: Sequence[int], measured: Sequence[int]) -> str:
        """Say whether another stage is the slowest than was predicted."""
        expected = self.numbers[predicted.index(max(predicted))]
        actual = self.numbers[measured.index(max(measured))]
        if expected == actual:
            return f"stage {expected} is the slowest, as predicted"
        return f"stage {actual} is the slowest, and stage {expected} was predicted to be"


@dataclass(frozen=True)
class Comparison:
    """Predicted and measured times of stages that run as a pipeline of processes."""

    predicted: Predicted
    times: StageTimes
    settings: MeasurementSettings

    def to_json(self) -> dict[str, Any]:
        """Return the object that `--json` prints."""
        return {
            **self.predicted.to_json(),
            "processors": [list(one) for one in self.times.processors],
            "threads": self.settings.threads,
            "repeats": self.settings.repeats,
            "alone_ns": list(self.times.alone),
            "together_ns": list(self.times.together),
            "handing_ns": list(self.times.handing),
            "period_ns": self.times.period,
            "load": self.times.load,
            "sentences": self.sentences(),
        }

    def print(self) -> None:
        """Print a line for each stage, and conclusions below."""
        times, numbers = self.times, self.predicted.numbers
        echo(
            f"onnxruntime on {cpu_name()}: {len(numbers)} stages, {self.settings.threads} "
            "thread(s) each"
        )
        echo(
            f"medians of {self.settings.repeats} inputs after {self.settings.warm_up} that warm up;"
            f" in brackets, relative to the slowest stage"
        )
        predicted = f"predicted {self.predicted.unit}".strip()
        rows = [
            (
                str(number),
                ",".join(map(str, times.processors[at])),
                _with_share(self.predicted.cost, at, 1),
                _with_share(times.alone, at, 1000),
                _with_share(times.together, at, 1000),
                f"{times.together[at] / max(1, times.alone[at]):.2f}x",
                f"{times.handing[at] / 1000:,.0f}",
            )
            for at, number in enumerate(numbers)
        ]
        columns = ("stage", "CPUs", predicted, "alone us", "together us", "slower", "hand on us")
        _print(columns, rows, self.sentences())

    def sentences(self) -> list[str]:
        """Return where predictions hold and where they do not, a sentence each."""
        times, predicted = self.times, self.predicted
        found = [
            f"a result every {times.period / 1000:,.0f} us; {predicted.slowest}",
            predicted.which_is_slowest(predicted.cost, times.together),
        ]
        if predicted.unit == "ns":
            factors = [
                measured / max(1, work)
                for measured, work in zip(times.alone, predicted.work, strict=True)
            ]
            found.append(
                f"alone, stages compute {min(factors):.2f} to {max(factors):.2f} times as long as "
                "predicted without transfers: equal factors would mean that the balance is right"
            )
        slowed = [
            number
            for number, one, other in zip(
                predicted.numbers, times.alone, times.together, strict=True
            )
            if other > SLOWED * one
        ]
        if slowed:
            plural = "s" * (len(slowed) > 1)
            found.append(
                f"over {SLOWED - 1:.0%} longer while the others run, which costs do not know of: "
                f"stage{plural} {', '.join(map(str, slowed))}"
            )
        found += waiting(times.waited) or _busy(times.load)
        return found + stage_times.sharing(predicted.numbers, times.processors)


@dataclass(frozen=True)
class TorchComparison:
    """Predicted and measured times of stages that PyTorch runs one after another.

    Attributes
    ----------
    runtime
        What ran them on what, in words.
    times
        Median time of each stage alone, in nanoseconds.
    launched
        Numbers of stages that Python launches on a GPU, since no CUDA graph takes them.
    load
        How many other processes wanted a processor in the minute before.
    """

    predicted: Predicted
    runtime: str
    times: tuple[int, ...]
    launched: tuple[int, ...]
    settings: TorchSettings
    load: float

    @property
    def ratio(self) -> float | None:
        """Predicted time of the slowest stage by the measured one; None if costs are no times."""
        if self.predicted.unit != "ns":
            return None
        return max(self.predicted.work) / max(1, *self.times)

    def to_json(self) -> dict[str, Any]:
        """Return the object that `--json` prints."""
        return {
            **self.predicted.to_json(),
            "runtime": self.runtime,
            "mode": "compiled" if self.settings.is_compiled else "eager",
            "repeats": self.settings.repeats,
            "alone_ns": list(self.times),
            "bottleneck_ratio": self.ratio,
            "load": self.load,
            "sentences": self.sentences(),
        }

    def print(self) -> None:
        """Print a line for each stage, and conclusions below."""
        predicted = self.predicted
        how = "compiled by itself" if self.settings.is_compiled else "operator by operator"
        echo(f"{self.runtime}: {len(predicted.numbers)} stages one after another, each {how}")
        echo(f"medians of {self.settings.repeats} runs; in brackets, relative to the slowest stage")
        rows = [
            (
                str(number),
                _with_share(predicted.work, at, 1),
                _with_share(predicted.cost, at, 1),
                _with_share(self.times, at, 1),
                f"{predicted.work[at] / max(1, self.times[at]):.2f}" if predicted.unit else "",
            )
            for at, number in enumerate(predicted.numbers)
        ]
        unit = predicted.unit
        columns = ("stage", f"predicted {unit}", "with transfers", "takes ns", "predicted/takes")
        _print(columns, rows, self.sentences())

    def sentences(self) -> list[str]:
        """Return where predictions hold and where they do not, a sentence each."""
        predicted = self.predicted
        found = [
            f"with transfers, {predicted.slowest}",
            predicted.which_is_slowest(predicted.work, self.times),
        ]
        if self.ratio is not None:
            found.append(
                f"bottleneck without transfers: predicted {max(predicted.work):,} ns, measured "
                f"{max(self.times):,} ns, ratio {self.ratio:.2f}"
            )
        if self.launched:
            found.append(
                "Python launches what no CUDA graph takes, and its time counts: stages "
                + ", ".join(map(str, self.launched))
            )
        return found + _busy(self.load)


def _busy(load: float) -> list[str]:
    if load <= BUSY:
        return []
    return [f"other processes kept the machine busy: its load was {load:.1f}"]


def _print(columns: Sequence[str], rows: Sequence[Sequence[str]], sentences: Sequence[str]) -> None:

    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    print_table(table)
    for sentence in sentences:
        echo(sentence)


def _with_share(values: Sequence[int], at: int, scale: int) -> str:
    return f"{values[at] / scale:,.0f} ({values[at] / max(1, *values):.0%})"


def compared(cut: CutModel, paths: Sequence[Path], settings: MeasurementSettings) -> Comparison:
    """Run the stages in ONNX files, and return their times beside those predicted."""
    if not is_available():
        raise MissingFileError(f"onnxruntime is not installed{extra_with('onnxruntime')}.")
    numbers = [one.stage for one in cut.models]
    return Comparison(
        Predicted.of(cut.given, numbers), stage_times.measure_stages(paths, settings), settings
    )


def compared_with_torch(
    model: Path, given: GivenPartition, settings: TorchSettings
) -> TorchComparison:
    """Run the stages of a program of torch.export and return their times beside those predicted."""
    load = os.getloadavg()[0]
    program = runnable(model, device=settings.device)
    import torch

    stages = torch_stages.cut_program(program, given.partition.stages.tolist())
    found = torch_stages.measure_stages(program, stages, settings)
    place = f"{cpu_name()}, {settings.threads} thread(s)"
    if program.device.type == "cuda":
        place = torch.cuda.get_device_name(program.device)
    return TorchComparison(
        predicted=Predicted.of(given, [one.number for one in stages]),
        runtime=f"PyTorch {torch.__version__} on {place}",
        times=tuple(round(median(one.times)) for one in found),
        launched=tuple(
            stage.number for stage, one in zip(stages, found, strict=True) if one.is_launched
        ),
        settings=settings,
        load=load,
    )
