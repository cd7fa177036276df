"""`boundmark evaluate`: how far from optimal a solution of your own can be."""

import math
import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from boundmark.benchmarks.cli.options import INTERRUPTED, PATH, ParameterCommand
from boundmark.benchmarks.cli.solve import (
    NOTHING_FOUND,
    SolvingRequest,
    registered_problems,
    solving_options,
)

if TYPE_CHECKING:
    from boundmark.benchmarks.solving.answer import Answer
    from boundmark.benchmarks.solving.grading import GivenSolution

# Exit code beyond those that `solve` has, too; 2 is for mistakes.
WORSE = 1


class _Command(ParameterCommand):
    """A command that takes a split that begins with a dash, in quotes, wherever it stands."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words of the command line."""
        own = {name for one in self.get_params(ctx) for name in one.opts}
        # With a space before it, a text is no option.
        args = [f" {x}" if re.match(r"-\S*\s", x) and not _begins(x, own) else x for x in args]
        return super().parse_args(ctx, args)


def _begins(text: str, options: set[str]) -> bool:
    """Whether a text begins with one of the options."""
    return re.split(r"[\s=]", text, maxsplit=1)[0] in options or text[:2] in options


@click.command(cls=_Command, problems=registered_problems)
@click.argument("model")
@click.argument("solution", type=PATH)
@solving_options
@click.option(
    "--bounds", metavar="DIR", type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Take the best certified bound from this results folder; by default, methods compute one.",
)  # fmt: skip
@click.option(
    "--max-gap", type=float, metavar="PERCENT",
    help="Exit with 1 if the gap is larger than this, with 3 if there is no bound; by default, the "
    "gap does not matter.",
)  # fmt: skip
def evaluate(
    model: str,
    solution: Path,
    bounds: Path | None,
    max_gap: float | None,
    request: SolvingRequest,
) -> None:
    """Grade a solution of your own: its cost and its gap.

    MODEL and the options are as for `solve`. SOLUTION is a CSV file with a line for each operator
    (for partitions, its header is operator,stage), or a JSON file: an object with an integer for
    each operator, a list of rows, or a solution that boundmark has stored. Operators are called by
    their names or numbers. Parameters that are not given, such as the number of stages, are those
    that the solution uses.

    For layers, SOLUTION may be what `solve --as` prints, in a file or in quotes, options of vLLM,
    SGLang, llama.cpp, Megatron-LM and others, or how many layers each stage has: 9,14,9. The rules
    of the tool count, unless --rules names others, or none.
    """
    from boundmark.benchmarks.cli.answers.printer import (
        print_answers,
        print_losses,
        stored_files,
    )
    from boundmark.benchmarks.solving.grading import bound_plan, graded, solution_in
    from boundmark.benchmarks.solving.model import choose
    from boundmark.benchmarks.solving.search import solve

    options = request.options()
    _check_options(max_gap, bounds, request.methods)
    began = time.monotonic()
    chosen = choose(model, request.parameters, request.problem, request.device, request.dims)
    given = solution_in(solution, chosen)
    files: dict[str, Path] = {}
    if bounds is not None:
        answer = _with_stored_bound(given, bounds, time.monotonic() - began)
    else:
        plan = bound_plan(chosen.problem.name, request.methods)
        found, folder = solve(given.source, options, plan, given)
        answer = graded(found, given)
        files = stored_files(answer, folder, "graded")
    grade = _grade(answer.optimal, answer.gap, max_gap)
    more = {"max_gap": max_gap, "grade": grade}
    print_answers([(answer, files)], as_json=request.as_json, is_wide=request.wide, more=more)
    if not request.as_json:
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
    from boundmark.benchmarks.solving.answer import GIVEN, Answer, warnings_about
    from boundmark.benchmarks.solving.grading import best_stored_bound

    best = best_stored_bound(folder, given.source.instance)
    notes = [*warnings_about(given.source), *given.notes]
    if best is None:
        notes.append(f"{folder} has no certified bound on instance {given.source.instance.sha256}")
    return Answer(
        source=given.source,
        objective=given.objective,
        certified_bound=best.bound if best else None,
        solution=dict(given.document),
        certificate=best.certificate if best else None,
        method=GIVEN,
        bound_method=best.method if best else None,
        seconds=seconds,
        warnings=tuple(notes),
    )


def _check_options(max_gap: float | None, bounds: Path | None, methods: Any) -> None:
    if max_gap is not None and not (math.isfinite(max_gap) and max_gap >= 0):
        raise click.UsageError(f"--max-gap is {max_gap}; expected a percentage of at least 0.")
    if bounds is not None and methods:
        raise click.UsageError("--method computes a bound, and --bounds takes one; expected one.")


def _grade(is_optimal: bool, gap: float | None, max_gap: float | None) -> str | None:
    if max_gap is None:
        return None
    if is_optimal:
        return "passed"
    if gap is None:
        return "no bound"
    return "passed" if 100 * gap <= max_gap else "failed"
