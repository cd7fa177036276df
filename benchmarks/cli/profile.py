"""`boundmark profile`: how long the operators of a model take on this machine."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from boundmark.benchmarks.cli.listing import as_json
from boundmark.benchmarks.cli.options import FILE, PATH, dim_option

if TYPE_CHECKING:
    from boundmark.benchmarks.measuring.operator_times import Profile

SHOWN = 5


@click.command()
@click.argument("model", type=PATH)
@dim_option
@click.option(
    "--out", metavar="FILE", type=FILE,
    help="Store the times in this .json file, which other commands read as --device.",
)  # fmt: skip
@click.option(
    "--from", "trace", metavar="FILE", type=FILE,
    help="Run nothing: take the times from a trace of torch.profiler (export_chrome_trace), for a "
    ".pt2 file, or from a profile of onnxruntime, for an .onnx file.",
)  # fmt: skip
@click.option(
    "--base", metavar="NAME",
    show_default="the GPU that was used, if it is known, or the default device",
    help="Device whose link and memory are stored with the times.",
)  # fmt: skip
@click.option(
    "--torch-device", type=click.Choice(["cpu", "cuda"]), show_default="a GPU if there is one",
    help="What PyTorch runs the model on.",
)  # fmt: skip
@click.option(
    "--compiled", is_flag=True,
    help="Compile a PyTorch program by torch.compile, which fuses operators, before it runs.",
)  # fmt: skip
@click.option(
    "--provider", metavar="NAME", show_default="the processor",
    help="Execution provider of onnxruntime, e.g. CUDAExecutionProvider.",
)  # fmt: skip
@click.option(
    "--repeats", type=click.IntRange(1, 10_000), default=20, show_default=True,
    help="Number of times that the model runs.",
)  # fmt: skip
@click.option(
    "--threads", type=click.IntRange(1, 1024), default=1, show_default=True,
    help="Number of threads that the runtime uses on a processor.",
)  # fmt: skip
@as_json
def profile(
    model: Path,
    dims: dict[str, int],
    out: Path | None,
    trace: Path | None,
    base: str | None,
    torch_device: str | None,
    compiled: bool,
    provider: str | None,
    repeats: int,
    threads: int,
    as_json: bool,
) -> None:
    """Run a MODEL on this machine and time its operators.

    MODEL is an ONNX file, or a program that `torch.export.save` wrote, which torch loads: that may
    run what its writer put there, so profile your own. Needs the extra `onnxruntime` or `torch`.

    Also prints how well the roofline model orders the operators: the rank correlation of its times
    on the base device with the measured ones.

    To time operators while the stages of a partition run together, see `boundmark measure --out`.
    """
    from boundmark.benchmarks.measuring.operator_times import check_suffix
    from boundmark.benchmarks.measuring.profiling import profile as profiled

    if out is not None:
        check_suffix(out)
    found = profiled(
        model,
        torch_device=torch_device,
        compiled=compiled,
        provider=provider,
        repeats=repeats,
        threads=threads,
        base=base,
        dims=dims,
        trace=trace,
    )
    if out is not None:
        found.save(out)
    if as_json:
        click.echo(json.dumps(found.to_json(), indent=2))
        return
    _print(found, out)


def _print(found: "Profile", out: Path | None) -> None:
    from boundmark.benchmarks.cli.terminal import echo
    from boundmark.problems.errors import printable

    total = found.total_ns
    for note in (*found.notes, *(f"{name}: {found.untimed[name]}." for name in found.estimated)):
        echo(f"note: {note}")
    echo(found.source)
    click.echo(f"{len(found.times)} operators take {total / 1e6:,.3f} ms together", nl=False)
    if found.whole_ns:
        click.echo(
            f", the whole model in one piece {found.whole_ns / 1e6:,.3f} ms "
            f"(ratio {total / found.whole_ns:.2f})",
            nl=False,
        )
    click.echo("; the longest are")
    slowest = sorted(found.times.items(), key=lambda item: -item[1])
    for name, time in slowest[:SHOWN]:
        line = f"{time / 1e6:10,.3f} ms  {time / max(1, total):6.1%}  {printable(name)}"
        if name in found.intervals:
            low, high = found.intervals[name]
            line += f" ({low / 1e6:,.3f} to {high / 1e6:,.3f} in 8 of 10 runs)"
        click.echo(line)
    correlation = found.rank_correlation
    shown = "undefined" if correlation is None else f"{correlation:.2f}"
    click.echo(f"rank correlation with the roofline model on {found.base.name}: {shown}")
    if out is not None:
        echo(f"stored in {out}; use it as --device {out}, or CLUSTER+MEMBER={out}")
