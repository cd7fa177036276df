"""`boundmark solve`: one model, its best solution, and how far from optimal it can be."""

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from boundmark.benchmarks.cli.options import PATH, ParameterCommand
from boundmark.benchmarks.cli.request import (
    INTERRUPTED,
    NOTHING_FOUND,
    SolvingRequest,
    registered_problems,
    search,
    solving_options,
)

if TYPE_CHECKING:
    from boundmark.benchmarks.running.suite import NamedInstance
    from boundmark.benchmarks.solving.answer import Answer
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
    from boundmark.benchmarks.cli.terminal import echo, wide_tables
    from boundmark.benchmarks.solving.answer import (
        LABEL_WIDTH,
        print_answer,
        print_json,
        print_losses,
    )
    from boundmark.benchmarks.solving.model import named_instance
    from boundmark.benchmarks.solving.presentation import presentation_of
    from boundmark.benchmarks.solving.wall_clock import WallClock

    settings = request.settings()
    if order is not None and (given is not None or len(request.several()) > 1):
        raise click.UsageError(
            "--order makes one instance; expected no --solution, and one value per parameter."
        )
    if len(request.several()) > 1:
        if tool is not None:
            raise click.UsageError("--as prints one solution; expected one value per parameter.")
        _solve_several(model, given, request)
        return
    request = replace(request, parameters=request.several()[0])
    clock = WallClock(settings.time_limit_seconds)
    if tool is not None:
        request = _with_rules_of(tool, model, request)
    own = None
    if given is not None:
        # Takes long to import.
        from boundmark.benchmarks.solving.grading import instance_and_solution

        own = instance_and_solution(model, given, *request.source)
    source = own.source if own else named_instance(model, *request.source)
    if order is not None:
        source = _in_order(source, model, order, clock.remaining() / 2, request.dims)
    answer, files = search(source, request, clock, given=own)
    if tool is not None and answer.solution is not None:
        click.echo(presentation_of(source.instance.problem).as_tool(answer, tool))
        if free := _without_rules(answer, model, request, clock):
            click.echo(_cost_of_rules(answer, free), err=True)
    elif request.as_json:
        free = _without_rules(answer, model, request, clock)
        print_json(answer, files, {"without_rules": free.to_json()} if free else None)
    else:
        with wide_tables(request.wide):
            print_answer(answer, files)
        if free := _without_rules(answer, model, request, clock):
            echo(f"{'rules':{LABEL_WIDTH}}{_cost_of_rules(answer, free)}")
        if own is not None:
            print_losses(answer)
    if answer.interrupted:
        sys.exit(INTERRUPTED)
    if answer.is_empty:
        click.echo("No method found a solution or a bound; the notes say why.", err=True)
        sys.exit(NOTHING_FOUND)


def _in_order(
    source: "NamedInstance", model: str, order: str, seconds: float, dims: Mapping[str, int]
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
    return in_order(source, model, order, seconds, dims)


def _check_tool(tool: str, problem: str) -> None:
    """Refuse a tool that does not exist, or that the problem's solutions cannot be written for."""
    from boundmark.benchmarks.solving.presentation import presentation_of
    from boundmark.problems.catalog import problems
    from boundmark.problems.errors import find

    owners = {one: name for name in problems() for one in presentation_of(name).tools}
    owner = find("tool in --as", tool, owners)
    known = presentation_of(problem).tools
    if tool not in known:
        expected = f"one of {', '.join(known)}" if known else "no --as"
        raise click.UsageError(
            f"--as is {tool!r}, a tool for problem {owner!r}; for problem {problem!r}, "
            f"expected {expected}."
        )


def _with_rules_of(tool: str, model: str, request: SolvingRequest) -> SolvingRequest:
    """Return the request with a tool's rules, unless it asks for some or its instance is stored."""
    from boundmark.benchmarks.solving.model import choose

    chosen = choose(model, *request.source)
    _check_tool(tool, chosen.problem.name)
    known = {parameter.name for parameter in chosen.problem.parameters}
    if chosen.is_stored or "rules" not in known:
        return request
    return replace(
        request, parameters={"rules": tool, **request.parameters}, problem=chosen.problem.name
    )


def _without_rules(
    answer: "Answer", model: str, request: SolvingRequest, clock: "WallClock"
) -> "Answer | None":
    """Return the answer where solutions follow no tool's rules; None if they follow none here.

    None, too, if there is nothing to compare with, or no time is left.
    """
    from boundmark.benchmarks.solving.model import named_instance
    from boundmark.benchmarks.solving.wall_clock import WallClock

    instance = answer.source.instance
    if answer.objective is None or answer.interrupted or "rules" not in instance.parameters:
        return None
    parameters = {name: text for name, text in request.parameters.items() if name != "rules"}
    free = named_instance(model, parameters, instance.problem, request.device, request.dims)
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


def _solve_several(model: str, given: Path | None, request: SolvingRequest) -> None:
    """Solve a model with each of several values of its parameters, and print one table."""
    import json

    from boundmark.benchmarks.cli.listing import print_rows
    from boundmark.benchmarks.cli.terminal import echo
    from boundmark.benchmarks.solving.answer import json_of
    from boundmark.benchmarks.solving.model import load, named_instance
    from boundmark.benchmarks.solving.presentation import presentation_of
    from boundmark.benchmarks.solving.wall_clock import WallClock
    from boundmark.problems.errors import InvalidInputError

    if given is not None:
        raise InvalidInputError(
            "a solution is given for several instances; expected one value of each parameter."
        )
    loaded = load(model, dims=request.dims, device=request.device)
    sources = [named_instance(loaded, one, request.problem) for one in request.several()]
    answers, documents = [], []
    for source in sources:
        answer, files = search(source, request, WallClock(request.time_limit))
        answers.append(answer)
        documents.append(json_of(answer, files))
        if answer.interrupted:
            break
    if request.as_json:
        click.echo(json.dumps(documents))
    else:
        given_values = [answer.source.instance.parameters for answer in answers]
        differing = [
            name
            for name in dict.fromkeys(name for values in given_values for name in values)
            if len({values.get(name) for values in given_values}) > 1
        ]
        common = {k: v for k, v in given_values[0].items() if k not in differing}
        have_same_costs = len({answer.source.costs for answer in answers}) == 1
        rows: list[dict[str, Any]] = []
        for answer in answers:
            presentation = presentation_of(answer.source.instance.problem)
            gap = "0" if answer.optimal else "" if answer.gap is None else f"{answer.gap:.2%}"
            name = f"{presentation.objective_name(answer)}{presentation.unit(answer)}"
            values = answer.source.instance.parameters
            rows.append(
                {
                    **{name: values.get(name, "") for name in differing},
                    name: f"{answer.objective:,}" if answer.objective is not None else "",
                    "bound": f"{answer.certified_bound:,}" if answer.certified_bound else "",
                    "gap": gap,
                    "by": answer.method or "",
                    "bound by": answer.bound_method or "",
                    "s": f"{answer.seconds:.1f}",
                    **({} if have_same_costs else {"costs": answer.source.costs}),
                }
            )
        source = answers[0].source
        costs = f", on {source.costs}" if source.costs and have_same_costs else ""
        shared = "".join(f" {name}={value}" for name, value in common.items())
        echo(f"{source.dataset}/{source.member}{shared}{costs}")
        print_rows(rows, False, request.wide)
        said = (presentation_of(one.source.instance.problem).cost_accuracy(one) for one in answers)
        for sentence in filter(None, dict.fromkeys(said)):
            echo(f"such costs: {sentence}")
        for note in dict.fromkeys(text for one in answers for text in one.warnings):
            echo(f"warning: {note}")
        if request.out is not None:
            echo(f"results: {request.out}")
    if any(answer.interrupted for answer in answers):
        sys.exit(INTERRUPTED)
    if all(one.is_empty for one in answers):
        click.echo("No method found a solution or a bound.", err=True)
        sys.exit(NOTHING_FOUND)
