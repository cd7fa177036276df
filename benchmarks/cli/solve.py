"""`boundmark solve`: one model, its best solution, and how far from optimal it can be."""

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from boundmark.benchmarks.cli.options import PATH, ParameterCommand
from boundmark.benchmarks.cli.request import (
    INTERRUPTED,
    NOTHING_FOUND,
    SolvingRequest,
    registered_problems,
    search,
    solving_options,
    stored_files,
)

if TYPE_CHECKING:
    from boundmark.benchmarks.running.planning import NamedInstance
    from boundmark.benchmarks.solving.answer import Answer
    from boundmark.benchmarks.solving.model import Model
    from boundmark.benchmarks.solving.wall_clock import WallClock

# Seconds below which the instance without rules is not solved.
LEAST_SECONDS = 1.0


@click.command(cls=ParameterCommand, problems=registered_problems)
@click.argument("model")
@solving_options
@click.option(
    "--solution", "given", metavar="FILE", type=PATH,
    help="Begin with this solution of your own, a file that `boundmark evaluate` reads.",
)  # fmt: skip
@click.option(
    "--as", "tool", metavar="TOOL",
    help="Print only the solution, in the form that this tool takes, for problem layers: vllm, "
    "device-map, llama.cpp, megatron, torch, torchtitan, deepspeed or onnxruntime; by its rules, "
    "unless --rules names others.",
)  # fmt: skip
@click.option(
    "--order", metavar="FILE|METHOD",
    help="For edge devices, run the operators in the order of this file (one that `evaluate` "
    "reads), or in the order that this method finds for little memory, e.g. btsearch; by default, "
    "in the model's order.",
)  # fmt: skip
def solve(
    model: str, given: Path | None, tool: str | None, order: str | None, request: SolvingRequest
) -> None:
    """Find the best solution and bound of one instance.

    MODEL is a file, or a member of a data set such as onnx-light/resnet50 or shapes/nn-4-train;
    `boundmark datasets` lists the data sets. Files are ONNX models, programs of torch.export
    (.pt2), OpenVINO IR, CostGraphDef texts, PipeDream's profiles and stored instances.

    Without --problem, the first problem of `boundmark problems` is solved that MODEL suits and that
    has all the parameters given. Each problem's parameters are listed last.

    Several values of a parameter, such as -k 2,4,8, are solved one after the other, each within the
    time limit, and printed as one table. Values of --devices are separated by semicolons.

    Ctrl-C ends the search and prints the best found so far and where it is stored.
    """
    from boundmark.benchmarks.cli.answers.printer import LABEL_WIDTH, print_answers, print_losses
    from boundmark.benchmarks.cli.terminal import echo
    from boundmark.benchmarks.solving.model import choose, load
    from boundmark.benchmarks.solving.presentation import presentation_of
    from boundmark.benchmarks.solving.wall_clock import WallClock

    settings, wanted = request.settings(), request.several()
    is_one = len(wanted) == 1
    _check_one(is_one, given, tool, order)
    loaded = load(model, dims=request.dims, device=request.device)
    if tool is not None:
        wanted = [_with_rules_of(tool, loaded, wanted[0], request.problem)]
    chosen = [choose(loaded, parameters, request.problem) for parameters in wanted]
    own = None
    if given is not None:
        # Takes long to import.
        from boundmark.benchmarks.solving.grading import solution_in

        own = solution_in(given, chosen[0])
    sources = [own.source] if own else [one.named(one.make(one.given)) for one in chosen]
    if order is not None:
        sources = [_in_order(sources[0], loaded, order, request.time_limit / 2)]
    found = []
    for source in sources:
        clock = WallClock(settings.time_limit_seconds)
        answer, folder = search(source, request, clock, given=own)
        found.append((answer, stored_files(answer, folder, "best")))
        if answer.interrupted:
            break
    free = _without_rules(answer, loaded, wanted[0], request, clock) if is_one else None
    if tool is not None and answer.solution is not None:
        click.echo(presentation_of(answer.source.instance.problem).as_tool(answer, tool))
        if free is not None:
            click.echo(_cost_of_rules(answer, free), err=True)
    else:
        more = {"without_rules": free.to_json()} if free else {}
        print_answers(found, request, more, is_table=not is_one)
        if free is not None and not request.as_json:
            echo(f"{'rules':{LABEL_WIDTH}}{_cost_of_rules(answer, free)}")
        if own is not None and not request.as_json:
            print_losses(answer)
    if answer.interrupted:
        sys.exit(INTERRUPTED)
    if all(one.is_empty for one, _ in found):
        why = "; the notes say why" * is_one
        click.echo(f"No method found a solution or a bound{why}.", err=True)
        sys.exit(NOTHING_FOUND)


def _check_one(is_one: bool, given: Path | None, tool: str | None, order: str | None) -> None:
    """Refuse options that are about one instance where several are asked for."""
    from boundmark.problems.errors import InvalidInputError

    if order is not None and (given is not None or not is_one):
        raise click.UsageError(
            "--order makes one instance; expected no --solution, and one value per parameter."
        )
    if tool is not None and not is_one:
        raise click.UsageError("--as prints one solution; expected one value per parameter.")
    if given is not None and not is_one:
        raise InvalidInputError(
            "a solution is given for several instances; expected one value of each parameter."
        )


def _with_rules_of(
    tool: str, model: "Model", parameters: Mapping[str, str], problem: str | None
) -> Mapping[str, str]:
    """Return the parameters with a tool's rules, unless they name some or the instance is stored.

    Raises
    ------
    click.UsageError
        If the problem's solutions cannot be written for the tool.
    """
    from boundmark.benchmarks.solving.model import choose
    from boundmark.benchmarks.solving.presentation import presentation_of
    from boundmark.problems.catalog import problems
    from boundmark.problems.errors import find

    chosen = choose(model, parameters, problem)
    owners = {one: name for name in problems() for one in presentation_of(name).tools}
    owner = find("tool in --as", tool, owners)
    if owner != (name := chosen.problem.name):
        known = presentation_of(name).tools
        expected = f"one of {', '.join(known)}" if known else "no --as"
        raise click.UsageError(
            f"--as is {tool!r}, a tool for problem {owner!r}; for problem {name!r}, "
            f"expected {expected}."
        )
    has_rules = any(parameter.name == "rules" for parameter in chosen.problem.parameters)
    return {"rules": tool, **parameters} if has_rules and not chosen.is_stored else parameters


def _in_order(
    source: "NamedInstance", model: "Model", order: str, seconds: float
) -> "NamedInstance":
    """Return the instance with its operators in an order; refuse problems that know none."""
    from boundmark.benchmarks.solving.presentation import presentation_of
    from boundmark.problems.catalog import problems

    problem = source.instance.problem
    in_order = presentation_of(problem).in_order
    if in_order is None:
        able = [name for name in problems() if presentation_of(name).in_order is not None]
        raise click.UsageError(
            f"--order is given for problem {problem!r}; expected one of {', '.join(able)}."
        )
    return in_order(source, model, order, seconds)


def _without_rules(
    answer: "Answer",
    model: "Model",
    parameters: Mapping[str, str],
    request: SolvingRequest,
    clock: "WallClock",
) -> "Answer | None":
    """Return the answer where solutions follow no tool's rules; None if they follow none here.

    None, too, if there is nothing to compare with, or no time is left.
    """
    from boundmark.benchmarks.solving.model import named_instance
    from boundmark.benchmarks.solving.wall_clock import WallClock

    instance = answer.source.instance
    if answer.objective is None or answer.interrupted or "rules" not in instance.parameters:
        return None
    others = {name: text for name, text in parameters.items() if name != "rules"}
    free = named_instance(model, others, instance.problem)
    seconds = clock.remaining()
    if free.instance.sha256 == instance.sha256 or seconds < LEAST_SECONDS:
        return None
    found, _ = search(free, replace(request, quiet=True, out=None), WallClock(seconds))
    return found if found.objective is not None else None


def _cost_of_rules(answer: "Answer", free: "Answer") -> str:
    """Return a sentence on what a tool's rules cost, beside solutions that follow none."""
    from boundmark.benchmarks.solving.presentation import presentation_of

    presentation = presentation_of(answer.source.instance.problem)
    title = presentation.tool_title(str(answer.source.instance.parameters["rules"]))
    unit = presentation.unit(answer)
    assert answer.objective is not None
    assert free.objective is not None
    with_them, without = f"{answer.objective:,}{unit}", f"{free.objective:,}{unit}"
    if not (answer.optimal and free.optimal):
        return (
            f"With {title}'s rules {with_them}, without them {without} (not both proven optimal)."
        )
    if answer.objective == free.objective:
        return f"{title}'s rules cost nothing: {with_them} with and without them (certified)."
    change = answer.objective / max(1, free.objective) - 1
    verb = "cost" if change > 0 else "save"
    return (
        f"{title}'s rules {verb} {abs(change):.2%}: {with_them} against {without} without them "
        "(both optimal, certified)."
    ).replace("%", " %")
