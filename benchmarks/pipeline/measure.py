"""`boundmark measure`: a partition's stages run, beside the predicted times."""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from boundmark.benchmarks.cli.options import FILE, PATH, dim_option

if TYPE_CHECKING:
    from boundmark.benchmarks.pipeline.comparison import Comparison, TorchComparison


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
    from boundmark.benchmarks.operator_times import check_suffix
    from boundmark.benchmarks.pipeline.comparison import compared, compared_with_torch
    from boundmark.benchmarks.pipeline.stage_files import GivenPartition, cut_stages, written
    from boundmark.benchmarks.pipeline.stage_times import MeasurementSettings
    from boundmark.benchmarks.pipeline.torch_stages import TorchSettings
    from boundmark.benchmarks.terminal import echo
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
    from boundmark.benchmarks.terminal import echo

    if as_json:
        click.echo(json.dumps(comparison.to_json(), indent=2))
        return
    for note in notes:
        echo(f"warning: {note}", err=True)
    comparison.print()


def _times(model: Path, names: Sequence[str], comparison: "Comparison") -> dict[str, Any]:
    """Return the operators' times as the document of a device."""
    from boundmark.benchmarks.environment import cpu_name
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
