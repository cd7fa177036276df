"""`boundmark measure`: a partition's stages run as a pipeline, beside the predicted times."""

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from boundmark.benchmarks.cli.options import FILE, PATH, dim_option

if TYPE_CHECKING:
    from boundmark.benchmarks.pipeline.stage_times import MeasurementSettings, StageTimes

# A stage that takes so much longer while the others run shares something with them.
SLOWED = 1.25

# Load of a machine from which on times say little.
BUSY = 0.5


@click.command()
@click.argument("model", type=PATH)
@click.argument("solution", type=PATH)
@click.option(
    "-k",
    "--k",
    metavar="INTEGER",
    help="Number of stages; by default, as many as the partition uses.",
)
@click.option(
    "--device", metavar="NAME|FILE",
    help="Device whose predicted costs are compared: one of `boundmark devices`, or a file of "
    "times from `boundmark profile`; by default, the problem's usual one.",
)  # fmt: skip
@dim_option
@click.option("--threads", type=click.IntRange(1, 1024), default=1, show_default=True,
              help="Number of threads that each stage's process computes with.")  # fmt: skip
@click.option("--repeats", type=click.IntRange(2, 100_000), default=30, show_default=True,
              help="Number of inputs that are timed, after some that warm up.")  # fmt: skip
@click.option(
    "--out", metavar="FILE", type=FILE,
    help="Also time single operators, unfused, while the stages run together, and store the times "
    "in this .json file, as `boundmark profile` does.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def measure(
    model: Path,
    solution: Path,
    k: str | None,
    device: str | None,
    dims: dict[str, int],
    threads: int,
    repeats: int,
    out: Path | None,
    as_json: bool,
) -> None:
    """Run a partition's stages as a pipeline and time them.

    The measured times are compared with the predicted costs. MODEL is an ONNX file, SOLUTION a
    partition in a file that `boundmark evaluate` reads. Each stage is a process of this machine
    with processors of its own, where onnxruntime runs it; inputs follow one another. Needs the
    extra `onnxruntime`.
    """
    from boundmark.benchmarks.pipeline.stage_files import cut_stages, written
    from boundmark.benchmarks.pipeline.stage_times import MeasurementSettings
    from boundmark.benchmarks.terminal import echo
    from boundmark.problems.errors import InvalidInputError
    from boundmark.reports.stored.durable import write_durably

    if out is not None and out.suffix.lower() != ".json":
        raise InvalidInputError(f"{out} has the suffix {out.suffix!r}; expected .json.")
    cut = cut_stages(model, solution, k, device, dims)
    settings = MeasurementSettings(threads, repeats=repeats, is_profiled=out is not None)
    with tempfile.TemporaryDirectory(prefix="boundmark-") as folder:
        comparison = compared(cut, written(cut, Path(folder)), settings)
    if out is not None:
        write_durably(
            out,
            (
                json.dumps(_times(model, cut.instance.graph.names, comparison), indent=1) + "\n"
            ).encode(),
        )
    if as_json:
        click.echo(json.dumps(comparison.to_json(), indent=2))
        return
    for note in cut.notes:
        echo(f"warning: {note}", err=True)
    comparison.print()
    if out is not None:
        echo(f"operators timed together are stored in {out}")


def _times(model: Path, names: Sequence[str], comparison: "Comparison") -> dict[str, Any]:
    """Return the operators' times as the document of a device."""
    from boundmark.benchmarks.environment import cpu_name
    from boundmark.problems.devices import TIMES_FORMAT, default_device

    threads = comparison.settings.threads
    return {
        "format": TIMES_FORMAT,
        "model": model.name,
        "base": default_device().name,
        "source": f"onnxruntime, {threads} threads, {cpu_name()}: median of "
        f"{comparison.settings.repeats} runs of {model.name} in {len(comparison.numbers)} stages "
        "that run together",
        "rank_correlation": None,
        "operators": {
            name: stage[name]
            for stage in comparison.times.operators
            for name in names
            if name in stage
        },
    }


@dataclass(frozen=True)
class Comparison:
    """Predicted and measured times of stages, in the order in which data flows.

    Attributes
    ----------
    numbers
        Of the stages, as the partition has them.
    predicted_work, predicted_cost
        Ticks of each stage without transfers, and with them.
    unit
        Of these; empty if ticks are no time.
    costs
        What they rest on, in words.
    """

    numbers: tuple[int, ...]
    predicted_work: tuple[int, ...]
    predicted_cost: tuple[int, ...]
    unit: str
    costs: str
    times: "StageTimes"
    settings: "MeasurementSettings"

    def to_json(self) -> dict[str, Any]:
        """Return the object that `--json` prints."""
        return {
            "stages": list(self.numbers),
            "predicted_work": list(self.predicted_work),
            "predicted_cost": list(self.predicted_cost),
            "unit": self.unit,
            "costs": self.costs,
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
        from rich.table import Table

        from boundmark.benchmarks.environment import cpu_name
        from boundmark.benchmarks.terminal import echo, print_table

        count = f"{len(self.numbers)} stages, {self.settings.threads} thread(s) each"
        echo(f"onnxruntime on {cpu_name()}: {count}")
        echo(
            f"medians of {self.settings.repeats} inputs after {self.settings.warm_up} that warm up;"
            f" in brackets, relative to the slowest stage"
        )
        table = Table(box=None, header_style="bold", pad_edge=False)
        predicted = f"predicted {self.unit}".strip()
        for column in (
            "stage", "CPUs", predicted, "alone us", "together us", "slower", "hand on us",
        ):  # fmt: skip
            table.add_column(column, justify="right", no_wrap=True)
        times = self.times
        for at, number in enumerate(self.numbers):
            table.add_row(
                str(number),
                ",".join(map(str, times.processors[at])),
                _with_share(self.predicted_cost, at, 1),
                _with_share(times.alone, at, 1000),
                _with_share(times.together, at, 1000),
                f"{times.together[at] / max(1, times.alone[at]):.2f}x",
                f"{times.handing[at] / 1000:,.0f}",
            )
        print_table(table)
        for sentence in self.sentences():
            echo(sentence)

    def sentences(self) -> list[str]:
        """Return where predictions hold and where they do not, a sentence each."""
        from boundmark.benchmarks.pipeline.stage_times import sharing

        times = self.times
        slowest = max(self.predicted_cost)
        found = [
            f"a result every {times.period / 1000:,.0f} us; the slowest stage is predicted to take "
            f"{slowest:,} {self.unit}".rstrip()
            + (f", on {self.costs}" if self.costs else "")
        ]
        expected = self.numbers[self.predicted_cost.index(slowest)]
        actual = self.numbers[times.together.index(max(times.together))]
        found.append(
            f"stage {expected} is the slowest, as predicted"
            if expected == actual
            else f"stage {actual} is the slowest, and stage {expected} was predicted to be"
        )
        if self.unit == "ns":
            factors = [
                measured / max(1, work)
                for measured, work in zip(times.alone, self.predicted_work, strict=True)
            ]
            found.append(
                f"alone, stages compute {min(factors):.2f} to {max(factors):.2f} times as long as "
                "predicted without transfers: equal factors would mean that the balance is right"
            )
        slowed = [
            number
            for number, one, other in zip(self.numbers, times.alone, times.together, strict=True)
            if other > SLOWED * one
        ]
        if slowed:
            plural = "s" * (len(slowed) > 1)
            found.append(
                f"over {SLOWED - 1:.0%} longer while the others run, which costs do not know of: "
                f"stage{plural} {', '.join(map(str, slowed))}"
            )
        if times.load > BUSY:
            found.append(f"other processes kept the machine busy: its load was {times.load:.1f}")
        return found + sharing(self.numbers, times.processors)


def _with_share(values: Sequence[int], at: int, scale: int) -> str:
    return f"{values[at] / scale:,.0f} ({values[at] / max(1, *values):.0%})"


def compared(cut: Any, paths: Sequence[Path], settings: "MeasurementSettings") -> Comparison:
    """Run the stages in files, and return their times beside those predicted.

    Raises
    ------
    BoundmarkError
        If onnxruntime is not installed, or a stage cannot be run.
    """
    from boundmark.benchmarks.pipeline.stage_files import is_available
    from boundmark.benchmarks.pipeline.stage_times import measure_stages
    from boundmark.problems.errors import MissingFileError
    from boundmark.problems.pipeline.instance import stage_costs, stage_work

    if not is_available():
        raise MissingFileError(
            "onnxruntime is not installed; pip install 'boundmark[onnxruntime]'."
        )
    graph, k = cut.instance.graph, cut.instance.k
    numbers = tuple(one.stage for one in cut.models)
    work = stage_work(graph, cut.partition.stages, k)
    costs = stage_costs(graph, cut.partition.stages, k)
    return Comparison(
        numbers=numbers,
        predicted_work=tuple(int(work[number]) for number in numbers),
        predicted_cost=tuple(int(costs[number]) for number in numbers),
        unit="" if graph.tick == "unit" else graph.tick,
        costs=cut.costs,
        times=measure_stages(paths, settings),
        settings=settings,
    )
