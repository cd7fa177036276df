"""`boundmark solve`: one model, its best partition, and how far from optimal it can be."""

import json
import os
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from boundmark.benchmarks.solve import Answer


@click.command()
@click.argument("model")
@click.option("-k", "--stages", type=int, help="pipeline: number of stages.")
@click.option("--memory", type=int, help="microbatch: memory of each device.")
@click.option("--micro-batches", type=int, help="microbatch: how many, if their makespan counts.")
@click.option(
    "--time-limit", type=click.FloatRange(min=0, min_open=True), default=60.0,
    show_default=True, metavar="SECONDS", help="Wall-clock limit of each method.",
)  # fmt: skip
@click.option(
    "--memory-limit", type=click.FloatRange(min=0, min_open=True), default=4.0,
    show_default=True, metavar="GIB", help="Memory limit of each method.",
)  # fmt: skip
@click.option(
    "--method", "methods", multiple=True, metavar="NAME",
    help="Use this method instead of the default ones; may be repeated.",
)  # fmt: skip
@click.option("--seed", type=int, default=1, show_default=True)
@click.option(
    "--workers", type=click.IntRange(min=1), default=len(os.sched_getaffinity(0)),
    show_default="one a CPU", help="Methods at a time.",
)  # fmt: skip
@click.option(
    "--out", metavar="DIR", type=click.Path(path_type=Path, file_okay=False),
    help="Keep instance, solutions and certificates in this results folder.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--quiet", is_flag=True, help="No progress bar.")
def solve(
    model: str,
    stages: int | None,
    memory: int | None,
    micro_batches: int | None,
    time_limit: float,
    memory_limit: float,
    methods: tuple[str, ...],
    seed: int,
    workers: int,
    out: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Partition a graph, or schedule a layout: MODEL is a file or a data set's member.

    Files are ONNX models, CostGraphDef texts, PipeDream's profiles and stored instances. Members
    are written like onnx-light/resnet50 or shapes/nn-4-train; `boundmark datasets` lists the data
    sets.
    """
    from rich.console import Console

    from boundmark.benchmarks.cli import answers
    from boundmark.benchmarks.cli.progress import task_progress
    from boundmark.benchmarks.execution.local_engine import LocalEngine
    from boundmark.benchmarks.settings import GIB, RunSettings
    from boundmark.benchmarks.solve import DEFAULT_ROUNDS, named_instance
    from boundmark.benchmarks.solve import solve as solve_instance

    given = {"k": stages, "memory": memory, "micro_batches": micro_batches}
    source = named_instance(
        model, {name: value for name, value in given.items() if value is not None}
    )
    folder = nullcontext(str(out)) if out else tempfile.TemporaryDirectory(prefix="boundmark-")
    console = Console(stderr=True, quiet=quiet or as_json)
    with folder as directory, task_progress(console, "solve") as (on_start, on_finish):
        answer = solve_instance(
            source,
            (methods,) if methods else DEFAULT_ROUNDS[source.instance.problem],
            Path(directory),
            RunSettings(time_limit, int(memory_limit * GIB), seeds=(seed,)),
            LocalEngine(workers),
            on_start=on_start,
            on_finish=on_finish,
        )
    if as_json:
        facts = answers.BY_PROBLEM[answer.source.instance.problem].facts(answer)
        click.echo(json.dumps({**answer.to_json(), **facts}))
    else:
        _print(answer)


def _print(answer: "Answer") -> None:
    from boundmark.benchmarks.cli import answers

    instance = answer.source.instance
    presentation = answers.BY_PROBLEM[instance.problem]
    click.echo(
        f"{answer.source.label}: {instance.nodes} nodes, {instance.edges} edges, "
        f"instance {instance.sha256[:12]}"
    )
    presentation.print_solution(answer)
    unit, name = presentation.unit(answer), presentation.objective_name(answer)
    if answer.objective is None:
        click.echo(f"{name:16} none found")
    else:
        click.echo(f"{name:16} {answer.objective:,}{unit} (by {answer.method}, verified)")
    if answer.certified_bound is None:
        click.echo("certified bound  none found")
    else:
        click.echo(
            f"certified bound  {answer.certified_bound:,}{unit} (by {answer.bound_method}, checked)"
        )
    if answer.claimed_bound is not None:
        click.echo(f"claimed bound    {answer.claimed_bound:,.3f}{unit} (not certified)")
    if answer.optimal:
        click.echo("gap              0 (optimal, certified)")
    elif answer.gap is not None:
        click.echo(f"gap              {answer.gap:.2%} at most above the optimum")
    click.echo(f"seconds          {answer.seconds:.1f}")
    for failure in answer.failures:
        click.echo(f"note             {failure}")
