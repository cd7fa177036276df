"""`boundmark solve`: one model, its best solution, and how far from optimal it can be."""

import sys
from pathlib import Path

import click

from boundmark.benchmarks.cli.options import ParameterCommand
from boundmark.benchmarks.cli.solving import (
    INTERRUPTED,
    NOTHING_FOUND,
    SolvingRequest,
    registered_problems,
    search,
    solving_options,
)


@click.command(cls=ParameterCommand, problems=registered_problems)
@click.argument("model")
@solving_options
@click.option(
    "--solution", "given", metavar="FILE", type=click.Path(path_type=Path),
    help="Begin with a solution of your own, in a form that `boundmark evaluate` reads.",
)  # fmt: skip
def solve(model: str, given: Path | None, request: SolvingRequest) -> None:
    """Solve one instance: MODEL is a file or a data set's member.

    Without --problem, it is the first problem listed by `boundmark problems` that is about such a
    MODEL and has all the parameters given. Options for parameters name the problems that use them.

    Files are ONNX models, programs of torch.export (.pt2), OpenVINO IR, CostGraphDef texts,
    PipeDream's profiles and stored instances. Members
    are written like onnx-light/resnet50 or shapes/nn-4-train; `boundmark datasets` lists the data
    sets.

    Ctrl-C ends the search: the best found so far is printed, with where it is stored.
    """
    from boundmark.benchmarks.cli.print_answer import print_answer, print_json, print_losses
    from boundmark.benchmarks.grading import instance_and_solution
    from boundmark.benchmarks.instance_choice import named_instance
    from boundmark.benchmarks.method_rounds import MethodPlan
    from boundmark.benchmarks.terminal import wide_tables
    from boundmark.benchmarks.wall_clock import WallClock
    from boundmark.problems.catalog import problems

    settings = request.settings()
    clock = WallClock.of_command(settings.time_limit_seconds)
    own = None
    if given is not None:
        own = instance_and_solution(model, given, *request.source)
    source = own.source if own else named_instance(model, *request.source)
    plan = MethodPlan.of(problems()[source.instance.problem], request.methods)
    answer, files = search(source, plan, request, clock, given=own)
    if request.as_json:
        print_json(answer, files)
    else:
        with wide_tables(request.wide):
            print_answer(answer, files)
        if own is not None:
            print_losses(answer)
    if answer.interrupted:
        sys.exit(INTERRUPTED)
    if answer.objective is None and answer.certified_bound is None:
        click.echo("No method found a solution or a bound; the notes say why.", err=True)
        sys.exit(NOTHING_FOUND)
