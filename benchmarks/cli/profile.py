"""`boundmark profile`: how long the operators of a model take on this machine."""

import json
from dataclasses import replace
from pathlib import Path

import click

from boundmark.benchmarks.cli.listing import as_json
from boundmark.benchmarks.cli.options import FILE, PATH, dim_option

SHOWN = 5


@click.command()
@click.argument("model", type=PATH)
@dim_option
@click.option(
    "--out", metavar="FILE", type=FILE,
    help="Store the times in this .json file, which other commands read as --device.",
)  # fmt: skip
@click.option(
    "--base", metavar="NAME", show_default="that of `boundmark solve`",
    help="Device whose link and memory are stored with the times.",
)  # fmt: skip
@click.option(
    "--runtime", type=click.Choice(["onnxruntime", "openvino"]), default="onnxruntime",
    show_default=True, help="Program that runs the model: onnxruntime, which runs operators one by "
    "one, or OpenVINO, which fuses some.",
)  # fmt: skip
@click.option(
    "--repeats", type=click.IntRange(1, 10_000), default=20, show_default=True,
    help="Number of times that the model runs.",
)  # fmt: skip
@click.option(
    "--threads", type=click.IntRange(1, 1024), default=1, show_default=True,
    help="Number of threads that the runtime uses.",
)  # fmt: skip
@as_json
def profile(
    model: Path,
    dims: dict[str, int],
    out: Path | None,
    base: str | None,
    runtime: str,
    repeats: int,
    threads: int,
    as_json: bool,
) -> None:
    """Run an ONNX MODEL on this processor and time its operators.

    Also prints how well the roofline model orders the operators: the rank correlation of its times
    on the base device with the measured ones.

    To time operators while the stages of a partition run together, see `boundmark measure --out`.
    """
    from importlib.metadata import version

    from boundmark.benchmarks.environment import cpu_name
    from boundmark.benchmarks.operator_times import RUNTIMES, measured_times, of_graph
    from boundmark.datasets.onnx_file import load
    from boundmark.problems.devices import TIMES_FORMAT, Cluster, default_device, find_device
    from boundmark.problems.errors import InvalidInputError, MissingFileError
    from boundmark.problems.roofline import operation_seconds
    from boundmark.reports.stored.durable import write_durably

    if model.suffix.lower() != ".onnx":
        raise InvalidInputError(f"{model} is no ONNX file; expected the suffix .onnx.")
    if out is not None and out.suffix.lower() != ".json":
        raise InvalidInputError(f"{out} has the suffix {out.suffix!r}; expected .json.")
    title = RUNTIMES[runtime].title
    try:
        title = f"{title} {version(runtime)}"
    except ModuleNotFoundError as error:
        raise MissingFileError(
            f"{title} is not installed; pip install 'boundmark[{runtime}]'."
        ) from error
    device = default_device() if base is None else find_device(base)
    if isinstance(device, Cluster) or device.measured is not None:
        raise InvalidInputError(f"base is {base!r}; expected a device with rates.")
    graph = load(model, dims)
    measured = measured_times(model, dims, repeats, threads, runtime)
    times = of_graph(graph, measured, model, runtime)
    # Operators are timed one by one.
    estimated = operation_seconds(replace(graph, kernels=()), device)
    correlation = rank_correlation(estimated.tolist(), list(times.values()))
    source = (
        f"{title}, {threads} thread{'s' * (threads > 1)}, {cpu_name()}: median of "
        f"{repeats} runs of {model.name}"
    )
    document = {
        "format": TIMES_FORMAT,
        "model": model.name,
        "base": device.name,
        "source": source,
        "rank_correlation": correlation,
        "operators": times,
    }
    if out is not None:
        write_durably(out, (json.dumps(document, indent=1) + "\n").encode())
    if as_json:
        click.echo(json.dumps(document, indent=2))
        return
    _print(times, source, correlation, device.name, out)


def rank_correlation(one: list[float], other: list[int]) -> float | None:
    """Return Spearman's rank correlation, None where one side does not vary."""
    from scipy.stats import spearmanr

    if len(set(one)) < 2 or len(set(other)) < 2:
        return None
    return float(spearmanr(one, other).statistic)


def _print(
    times: dict[str, int], source: str, correlation: float | None, device: str, out: Path | None
) -> None:
    from boundmark.benchmarks.terminal import echo, printable

    total = sum(times.values())
    echo(source)
    click.echo(f"{len(times)} operators take {total / 1e6:,.3f} ms together; the longest are")
    slowest = sorted(times.items(), key=lambda item: -item[1])
    for name, time in slowest[:SHOWN]:
        click.echo(f"{time / 1e6:10,.3f} ms  {time / max(1, total):6.1%}  {printable(name)}")
    shown = "undefined, all are equal" if correlation is None else f"{correlation:.2f}"
    click.echo(f"rank correlation with the roofline model on {device}: {shown}")
    if out is not None:
        echo(f"stored in {out}; use it as --device {out}, or CLUSTER+MEMBER={out}")
