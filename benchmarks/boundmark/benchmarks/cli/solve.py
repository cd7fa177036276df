"""`boundmark solve`: one model, its best solution, and how far from optimal it can be."""

import os
import tempfile
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from boundmark.benchmarks.cli.parameter_options import ParameterCommand, given_texts

if TYPE_CHECKING:
    from boundmark.problems.problem import Problem


def _problems() -> "Iterable[Problem]":
    from boundmark.problems.catalog import problems

    return problems().values()


@click.command(cls=ParameterCommand, problems=_problems)
@click.argument("model")
@click.option(
    "--problem", metavar="NAME",
    help="Which problem, if MODEL suits several; see `boundmark problems`.",
)  # fmt: skip
@click.option(
    "--device", metavar="NAME|FILE",
    help="Device or cluster that a model without costs runs on; see `boundmark devices`.",
)  # fmt: skip
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
    show_default="one per CPU", help="Methods at a time.",
)  # fmt: skip
@click.option(
    "--out", metavar="DIR", type=click.Path(path_type=Path, file_okay=False),
    help="Keep instance, solutions and certificates in this results folder.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--quiet", is_flag=True, help="No progress bar.")
def solve(
    model: str,
    problem: str | None,
    device: str | None,
    time_limit: float,
    memory_limit: float,
    methods: tuple[str, ...],
    seed: int,
    workers: int,
    out: Path | None,
    as_json: bool,
    quiet: bool,
    **parameters: str | None,
) -> None:
    """Solve one instance: MODEL is a file or a data set's member.

    Without --problem, it is the first problem listed by `boundmark problems` that is about such a
    MODEL and has all the parameters given. Options for parameters name the problems that use them.

    Files are ONNX models, CostGraphDef texts, PipeDream's profiles and stored instances. Members
    are written like onnx-light/resnet50 or shapes/nn-4-train; `boundmark datasets` lists the data
    sets.
    """
    from rich.console import Console

    from boundmark.benchmarks.cli.print_answer import print_answer, print_json
    from boundmark.benchmarks.cli.progress import task_progress
    from boundmark.benchmarks.engines import make_engine
    from boundmark.benchmarks.instance_choice import named_instance
    from boundmark.benchmarks.settings import RunSettings
    from boundmark.benchmarks.solve import rounds_of
    from boundmark.benchmarks.solve import solve as solve_instance
    from boundmark.problems.catalog import problems

    settings = RunSettings.checked(
        time_limit_seconds=time_limit, memory_limit_gib=memory_limit, seeds=(seed,)
    )
    source = named_instance(model, given_texts(parameters), problem, device)
    rounds = rounds_of(problems()[source.instance.problem], methods)
    folder = nullcontext(str(out)) if out else tempfile.TemporaryDirectory(prefix="boundmark-")
    console = Console(stderr=True, quiet=quiet or as_json)
    with folder as directory, task_progress(console, "solve") as (on_start, on_finish):
        answer = solve_instance(
            source,
            rounds,
            Path(directory),
            settings,
            make_engine("local", workers),
            on_start=on_start,
            on_finish=on_finish,
        )
    if as_json:
        print_json(answer)
    else:
        print_answer(answer)
