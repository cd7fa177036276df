"""`boundmark split`: one ONNX file for each stage of a partition or segment of a placement."""

import sys
from pathlib import Path

import click

from boundmark.benchmarks.cli.options import FOLDER, PATH, dim_option


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
    from boundmark.benchmarks.measuring.stage_comparison import compared
    from boundmark.benchmarks.measuring.stage_files import (
        CutModel,
        cut_segments,
        cut_stages,
        is_available,
        written,
    )
    from boundmark.benchmarks.measuring.stage_times import MeasurementSettings
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
    from boundmark.benchmarks.measuring.stage_files import TOLERANCE, largest_difference

    difference, largest = largest_difference(model, paths, dims)
    click.echo(f"largest difference {difference:g}, where values are up to {largest:g}")
    if not difference and not largest:
        click.echo("all outputs are 0 or no numbers, which shows nothing", err=True)
    if not difference <= TOLERANCE * largest:
        click.echo("the parts do not compute what the model does", err=True)
        sys.exit(1)
