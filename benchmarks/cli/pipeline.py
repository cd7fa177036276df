"""`boundmark split`, `measure` and `tune`: parts of a model as files, and its stages' times."""

import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from boundmark.benchmarks.cli.options import FILE, FOLDER, PATH, dim_option

if TYPE_CHECKING:
    from boundmark.benchmarks.measuring.pipeline.comparison import Comparison, TorchComparison
    from boundmark.benchmarks.measuring.pipeline.tuning import Tuning, TuningRound


@click.command()
@click.argument("model", type=PATH)
@click.option(
    "--solution", required=True, metavar="FILE", type=PATH,
    help="Partition or placement, a file that `boundmark evaluate` reads.",
)  # fmt: skip
@click.option(
    "--problem", type=click.Choice(["pipeline", "placement"]), default="pipeline",
    show_default=True, help="Problem that the solution is for.",
)  # fmt: skip
@click.option(
    "--out", required=True, metavar="DIR", type=FOLDER,
    help="Folder that the files are written to.",
)  # fmt: skip
@click.option(
    "-k",
    "--k",
    metavar="INTEGER",
    help="Number of stages; by default, as many as the partition uses.",
)
@click.option(
    "--device",
    metavar="NAME|FILE",
    help="Device or cluster that the solution is for; by default, the problem's usual one.",
)
@dim_option
@click.option(
    "--check/--no-check", default=True, show_default=True,
    help="Run the model and its parts on random inputs and compare the outputs; needs the extra "
    "`onnxruntime`.",
)  # fmt: skip
@click.option(
    "--time", "is_timed", is_flag=True,
    help="Also run the stages as a pipeline and time them, as `boundmark measure` does.",
)  # fmt: skip
def split(
    model: Path,
    solution: Path,
    problem: str,
    out: Path,
    k: str | None,
    device: str | None,
    dims: dict[str, int],
    check: bool,
    is_timed: bool,
) -> None:
    """Cut an ONNX MODEL into a file for each stage.

    With --problem placement, there is a file for each segment: the operators that a device runs
    before it needs a tensor of another device. Files are numbered in the order in which data flows.
    Inputs and outputs have the names of the model's tensors, and fixed sizes. Weights are copied to
    every file that reads them.
    """
    from boundmark.benchmarks.cli.terminal import echo
    from boundmark.benchmarks.measuring.pipeline.comparison import compared
    from boundmark.benchmarks.measuring.pipeline.stage_files import (
        CutModel,
        cut_segments,
        cut_stages,
        is_available,
        written,
    )
    from boundmark.benchmarks.measuring.pipeline.stage_times import MeasurementSettings
    from boundmark.problems.errors import extra_with

    if problem == "placement" and (k is not None or is_timed):
        raise click.UsageError("-k and --time are for partitions; expected neither.")
    cut = (
        cut_segments(model, solution, device, dims)
        if problem == "placement"
        else cut_stages(model, solution, k, device, dims)
    )
    devices = [""] * len(cut.models) if isinstance(cut, CutModel) else cut.devices
    paths = written(cut, out)
    for note in cut.notes:
        echo(f"warning: {note}", err=True)
    for one, path, where in zip(cut.models, paths, devices, strict=True):
        graph = one.model.graph
        on = f" on {where}" if where else ""
        echo(
            f"{path}: {one.operators} operators{on}, {len(graph.input)} inputs, "
            f"{len(graph.output)} outputs"
        )
    if check and not is_available():
        click.echo(f"not run: onnxruntime is not installed{extra_with('onnxruntime')}")
    elif check:
        _check(model, paths, dims)
    if is_timed and isinstance(cut, CutModel):
        compared(cut, paths, MeasurementSettings()).print()


def _check(model: Path, paths: list[Path], dims: dict[str, int]) -> None:
    """Compare the parts with the model, and end the command if they compute something else."""
    from boundmark.benchmarks.measuring.pipeline.stage_files import TOLERANCE, largest_difference

    difference, largest = largest_difference(model, paths, dims)
    click.echo(f"largest difference {difference:g}, where values are up to {largest:g}")
    if not difference and not largest:
        click.echo("all outputs are 0 or no numbers, which shows nothing", err=True)
    if not difference <= TOLERANCE * largest:
        click.echo("the parts do not compute what the model does", err=True)
        sys.exit(1)


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
              help="Number of threads that each stage computes with, on a processor.")  # fmt: skip
@click.option("--repeats", type=click.IntRange(2, 100_000), default=30, show_default=True,
              help="Number of runs that are timed, after some that warm up.")  # fmt: skip
@click.option("--compiled", is_flag=True,
              help="Compile each stage of a PyTorch program, as torch.compile does.")  # fmt: skip
@click.option(
    "--torch-device", type=click.Choice(["cpu", "cuda"]), show_default="a GPU if there is one",
    help="What PyTorch runs the stages on.",
)  # fmt: skip
@click.option(
    "--out", metavar="FILE", type=FILE,
    help="Also time single operators of an ONNX file, unfused, while the stages run together, and "
    "store the times in this .json file, as `boundmark profile` does.",
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
    compiled: bool,
    torch_device: str | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Run a partition's stages and time them.

    The measured times are compared with the predicted costs. SOLUTION is a partition in a file that
    `boundmark evaluate` reads.

    If MODEL is an ONNX file, each stage is a process of this machine with processors of its own,
    where onnxruntime runs it; inputs follow one another. Needs the extra `onnxruntime`.

    If MODEL is a program that `torch.export.save` wrote, PyTorch loads it, which may run what
    its writer put there, and runs its stages one after another on one device, each alone. Needs the
    extra `torch`.
    """
    from boundmark.benchmarks.cli.terminal import echo
    from boundmark.benchmarks.measuring.operator_times import check_suffix
    from boundmark.benchmarks.measuring.pipeline.comparison import compared, compared_with_torch
    from boundmark.benchmarks.measuring.pipeline.stage_files import (
        GivenPartition,
        cut_stages,
        written,
    )
    from boundmark.benchmarks.measuring.pipeline.stage_times import MeasurementSettings
    from boundmark.benchmarks.measuring.pipeline.torch_stages import TorchSettings
    from boundmark.reports.stored.durable import write_durably

    if model.suffix.lower() == ".pt2":
        if dims or out is not None:
            raise click.UsageError("--dim and --out are for ONNX files; expected neither.")
        given = GivenPartition.read(model, solution, k, device, dims)
        chosen = TorchSettings(compiled, torch_device, threads, repeats)
        _show(compared_with_torch(model, given, chosen), given.notes, as_json)
        return
    if compiled or torch_device is not None:
        raise click.UsageError(
            "--compiled and --torch-device are for .pt2 files; expected neither."
        )
    if out is not None:
        check_suffix(out)
    cut = cut_stages(model, solution, k, device, dims)
    settings = MeasurementSettings(threads, repeats=repeats, is_profiled=out is not None)
    with tempfile.TemporaryDirectory(prefix="boundmark-") as folder:
        comparison = compared(cut, written(cut, Path(folder)), settings)
    if out is not None:
        times = _times(model, cut.given.instance.graph.names, comparison)
        write_durably(out, (json.dumps(times, indent=1) + "\n").encode())
    _show(comparison, cut.notes, as_json)
    if out is not None and not as_json:
        echo(f"operators timed together are stored in {out}")


def _show(comparison: "Comparison | TorchComparison", notes: Sequence[str], as_json: bool) -> None:
    from boundmark.benchmarks.cli.terminal import echo

    if as_json:
        click.echo(json.dumps(comparison.to_json(), indent=2))
        return
    for note in notes:
        echo(f"warning: {note}", err=True)
    comparison.print()


def _times(model: Path, names: Sequence[str], comparison: "Comparison") -> dict[str, Any]:
    """Return the operators' times as the document of a device."""
    from boundmark.benchmarks.running.environment import cpu_name
    from boundmark.problems.devices import TIMES_FORMAT, default_device

    threads, count = comparison.settings.threads, len(comparison.predicted.numbers)
    return {
        "format": TIMES_FORMAT,
        "model": model.name,
        "base": default_device().name,
        "source": f"onnxruntime, {threads} threads, {cpu_name()}: median of "
        f"{comparison.settings.repeats} runs of {model.name} in {count} stages that run together",
        "rank_correlation": None,
        "operators": {
            name: stage[name]
            for stage in comparison.times.operators
            for name in names
            if name in stage
        },
    }


@click.command()
@click.argument("model", type=PATH)
@click.option("-k", "--k", type=click.IntRange(1, 10_000), required=True,
              help="Number of stages.")  # fmt: skip
@click.option("--rounds", type=click.IntRange(0, 100), default=3, show_default=True,
              help="Most partitions that run after the first one.")  # fmt: skip
@click.option("--time-limit", type=click.FloatRange(0.1, 86_400), default=20.0, show_default=True,
              help="Seconds for each partition that is searched.")  # fmt: skip
@click.option("--device", metavar="NAME|FILE",
              help="Device whose costs the first partition is best on.")  # fmt: skip
@click.option("--costs", metavar="NAME|FILE",
              help="Where these costs come from, as for `boundmark solve`.")  # fmt: skip
@dim_option
@click.option("--threads", type=click.IntRange(1, 1024), default=1, show_default=True,
              help="Number of threads that each stage computes with, on a processor.")  # fmt: skip
@click.option("--repeats", type=click.IntRange(2, 100_000), default=30, show_default=True,
              help="Number of runs of each stage that are timed.")  # fmt: skip
@click.option("--compiled", is_flag=True,
              help="Compile each stage of a PyTorch program, as torch.compile does.")  # fmt: skip
@click.option(
    "--torch-device", type=click.Choice(["cpu", "cuda"]), show_default="a GPU if there is one",
    help="What PyTorch runs the stages on.",
)  # fmt: skip
@click.option(
    "--out", metavar="FILE", type=FILE,
    help="Store the tuned times in this .json file, which other commands read as --costs.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def tune(
    model: Path,
    k: int,
    rounds: int,
    time_limit: float,
    device: str | None,
    costs: str | None,
    dims: dict[str, int],
    threads: int,
    repeats: int,
    compiled: bool,
    torch_device: str | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Find the best partition for this machine by running stages.

    MODEL is an ONNX file (needs the extra `onnxruntime`), or a program that `torch.export.save`
    wrote (`torch`). The partition that is best on the costs that you give runs first; or else, for
    a program on a processor, on operator times that are measured here, for an ONNX file on the
    costs of one core, and on a GPU on calibrated costs. Then the one that is best on a data sheet's
    costs, where it is another: it is had without any runs. What their stages take says what
    operators take, and the partition that is best on these times runs next, until none is expected
    to be faster. Transfers are those of the costs.
    """
    from boundmark.benchmarks.cli.terminal import echo
    from boundmark.benchmarks.measuring.operator_times import check_suffix
    from boundmark.benchmarks.measuring.pipeline.tuning import tune as tuned

    if out is not None:
        check_suffix(out)
    if not as_json:
        echo("round  predicted slowest ns  real slowest ns  stage  best so far ns", err=False)
    best = [2**63]

    def show(found: "TuningRound") -> None:
        real = max(found.real)
        best[0] = min(best[0], real)
        if not as_json:
            echo(
                f"{found.number:5}  {max(found.predicted):20,}  {real:15,}  {found.slowest:5}  "
                f"{best[0]:14,}"
            )

    found = tuned(
        model, k, rounds=rounds, seconds=time_limit, device=device, costs=costs, dims=dims,
        torch_device=torch_device, compiled=compiled, threads=threads, repeats=repeats,
        on_round=show,
    )  # fmt: skip
    if out is not None:
        found.save(out)
    if as_json:
        click.echo(json.dumps(found.to_json(), indent=2))
        return
    _show_tuning(found)
    if out is not None:
        echo(f"tuned times are stored in {out}; use them as --costs {out}")


def _show_tuning(found: "Tuning") -> None:
    from boundmark.benchmarks.cli.terminal import echo
    from boundmark.reports.text import gap_percent

    best = found.best
    echo(f"began with {found.began_with}; ended: {found.ended}")
    echo(f"ran on {found.machine}; transfers are predicted")
    echo(f"best: round {best.number}, a result every {max(best.real):,} ns")
    if found.gap == 0:
        echo("certified: on the tuned times, no partition is faster")
    else:
        gap = gap_percent(found.gap, "%", 2)
        echo(f"certified: on the tuned times, no partition is more than {gap} faster")
    counts = [int((best.stages == at).sum()) for at in range(len(best.real))]
    for at, (count, real) in enumerate(zip(counts, best.real, strict=True)):
        echo(f"  stage {at}: {count} operators, {real:,} ns")
