"""`boundmark evaluate`: how far from optimal a solution of your own can be."""

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from boundmark.benchmarks.answer import Answer
    from boundmark.benchmarks.grading import GivenSolution

# Exit code beyond those that `solve` has, too; 2 is for mistakes.
WORSE = 1


@click.command(cls=ParameterCommand, problems=registered_problems)
@click.argument("model")
@click.argument("solution", type=click.Path(path_type=Path))
@solving_options
@click.option(
    "--bounds", metavar="DIR", type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Take the bound from this results folder instead of computing one.",
)  # fmt: skip
@click.option(
    "--max-gap", type=float, metavar="PERCENT",
    help="Exit with 1 if the cost may be more than this above the optimum; 3 without a bound.",
)  # fmt: skip
def evaluate(
    model: str, solution: Path, bounds: Path | None, max_gap: float | None, request: SolvingRequest
) -> None:
    """Grade a solution: what SOLUTION of MODEL costs, and how far above the optimum that can be.

    SOLUTION is a CSV file, for partitions with the header operator,stage, or JSON: an object with
    an integer for each name, a list of rows, or a stored solution. Operators are called by their
    names or numbers. MODEL and options are as for `solve`; parameters that are not given, such as
    the number of stages, are those that the solution uses.
    """
    from boundmark.benchmarks.cli.print_answer import print_answer, print_json, print_losses
    from boundmark.benchmarks.grading import bound_plan, graded, instance_and_solution
    from boundmark.benchmarks.terminal import wide_tables
    from boundmark.benchmarks.wall_clock import WallClock

    settings = request.settings()
    _check_options(max_gap, bounds, request.methods)
    clock = WallClock.of_command(settings.time_limit_seconds)
    given = instance_and_solution(model, solution, *request.source)
    if bounds is not None:
        answer = _with_stored_bound(given, bounds, clock.spent())
        files: dict[str, Path] = {}
    else:
        plan = bound_plan(given.source.instance.problem, request.methods)
        answer, files = search(
            given.source,
            plan,
            request,
            clock,
            given=given,
            grade=lambda found: graded(found, given),
        )
    grade = _grade(answer, max_gap)
    if request.as_json:
        print_json(answer, files, {"max_gap": max_gap, "grade": grade})
    else:
        with wide_tables(request.wide):
            print_answer(answer, files)
        print_losses(answer)
        if grade is not None:
            click.echo(f"grade            {grade} (at most {max_gap:g} % asked for)")
    if answer.interrupted:
        sys.exit(INTERRUPTED)
    if answer.certified_bound is None:
        click.echo("There is no certified bound, so nothing is known of the gap.", err=True)
        sys.exit(NOTHING_FOUND)
    sys.exit(WORSE if grade == "failed" else 0)


def _with_stored_bound(given: "GivenSolution", folder: Path, seconds: float) -> "Answer":
    from boundmark.benchmarks.answer import GIVEN, Answer
    from boundmark.benchmarks.grading import best_stored_bound
    from boundmark.benchmarks.solve import warnings_about

    best = best_stored_bound(folder, given.source.instance)
    notes = [*warnings_about(given.source), *given.notes]
    if best is None:
        notes.append(f"{folder} has no certified bound on instance {given.source.instance.sha256}")
    return Answer(
        source=given.source,
        objective=given.objective,
        certified_bound=best.bound if best else None,
        claimed_bound=None,
        solution=dict(given.document),
        certificate=best.certificate if best else None,
        method=GIVEN,
        bound_method=best.method if best else None,
        seconds=seconds,
        failures=(),
        warnings=tuple(notes),
    )


def _check_options(max_gap: float | None, bounds: Path | None, methods: Any) -> None:
    if max_gap is not None and not (math.isfinite(max_gap) and max_gap >= 0):
        raise click.UsageError(f"--max-gap is {max_gap}; expected a percentage of at least 0.")
    if bounds is not None and methods:
        raise click.UsageError("--method computes a bound, and --bounds takes one; expected one.")


def _grade(answer: "Answer", max_gap: float | None) -> str | None:
    if max_gap is None:
        return None
    if answer.optimal:
        return "passed"
    if answer.gap is None:
        return "no bound"
    return "passed" if 100 * answer.gap <= max_gap else "failed"
