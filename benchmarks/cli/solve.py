"""`boundmark solve`: one model, its best solution, and how far from optimal it can be."""

import functools
import itertools
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from boundmark.benchmarks.cli.options import (
    FILE,
    FOLDER,
    GIBIBYTES,
    INTERRUPTED,
    PATH,
    SECONDS,
    ParameterCommand,
    dim_option,
)
from boundmark.benchmarks.running.settings import USUAL_GIB, RunSettings

if TYPE_CHECKING:
    from boundmark.benchmarks.running.planning import NamedInstance
    from boundmark.benchmarks.solving.answer import Answer
    from boundmark.benchmarks.solving.model import Model
    from boundmark.benchmarks.solving.rounds import SolvingOptions
    from boundmark.problems.problem import Problem

# No solution and no bound, or no bound to grade a solution with.
NOTHING_FOUND = 3

# Seconds below which the instance without rules is not solved.
LEAST_SECONDS = 1.0


def registered_problems() -> "Iterable[Problem]":
    """Return all problems, whose parameters are options."""
    from boundmark.problems.catalog import problems

    return problems().values()


@dataclass(frozen=True)
class SolvingRequest:
    """The options that `solve` and `evaluate` share, as given on the command line.

    Attributes
    ----------
    parameters
        Texts of the problem's parameters that were given, by name.
    problem, device, dims
        Which instance, see `model.named_instance`.
    time_limit
        Seconds.
    memory_limit
        GiB for each method.
    methods
        Names; empty for the problem's default methods.
    workers
        Methods at a time.
    library
        Folder of the library to begin with, empty for none; None for the usual one.
    out
        Results folder to keep; None for one that is deleted at the end.
    as_json, quiet, wide
        How the answer is printed.
    """

    parameters: "Mapping[str, str]"
    problem: str | None
    device: str | None
    dims: "dict[str, int]"
    time_limit: float
    memory_limit: float
    methods: tuple[str, ...]
    seed: int
    workers: int
    library: str | None
    out: Path | None
    as_json: bool
    quiet: bool
    wide: bool

    def several(self) -> "list[Mapping[str, str]]":
        """Return the parameters for each instance: one, or more where several values are given.

        A value that is given twice counts once.
        """
        from boundmark.problems.catalog import problems

        separators = {
            parameter.name: parameter.separator
            for name, problem in problems().items()
            if self.problem in (None, name)
            for parameter in problem.options
        }
        values = [
            list(dict.fromkeys(text.split(separators.get(name, ","))))
            for name, text in self.parameters.items()
        ]
        return [
            dict(zip(self.parameters, chosen, strict=True)) for chosen in itertools.product(*values)
        ]

    def options(self) -> "SolvingOptions":
        """Return the checked options of a search.

        Methods that are asked for by name are to show what they can do: they begin with no library
        unless it is asked for, too.
        """
        from boundmark.benchmarks.solving.rounds import SolvingOptions

        settings = RunSettings.of_search(self.time_limit, self.seed, self.memory_limit)
        library = None
        if self.library not in ("", "none") and not (self.methods and self.library is None):
            from boundmark.benchmarks.library import usual_library

            library = usual_library(self.library)
        return SolvingOptions(
            settings,
            self.workers,
            self.methods,
            library,
            self.out,
            quiet=self.quiet or self.as_json,
            keeps_interrupted=True,
        )


def solving_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options about the instance, the limits and the methods.

    The command gets them as one argument, ``request``, beside those that it declares itself.
    """
    options = (
        click.option(
            "--problem", metavar="NAME",
            help="Problem to solve, one of `boundmark problems`; by default, the first that suits "
            "MODEL.",
        ),
        click.option(
            "--device", metavar="NAME|FILE",
            help="Device or cluster that the costs of a model are computed for, one of `boundmark "
            "devices` or a .toml file; by default, the problem's usual one.",
        ),
        dim_option,
        click.option(
            "--time-limit", type=SECONDS, default=60.0,
            show_default=True, metavar="SECONDS",
            help="Wall-clock limit of the search, checks included; reading the model and importing "
            "methods come before.",
        ),
        click.option(
            "--memory-limit", type=GIBIBYTES, default=USUAL_GIB,
            show_default=True, metavar="GIB", help="Memory limit of each method.",
        ),
        click.option(
            "--method", "methods", multiple=True, metavar="NAME|FILE",
            help="Run only this method, one of `boundmark methods`, a Python file with a function "
            "`run`, or a command such as './solver --seed {seed}'; may be repeated. By default, "
            "the problem's usual methods run.",
        ),
        click.option(
            "--seed", type=int, default=1, show_default=True, help="Seed of random choices.",
        ),
        click.option(
            "--workers", type=click.IntRange(min=1), default=len(os.sched_getaffinity(0)),
            show_default="one per CPU", help="Number of methods that run at a time.",
        ),
        click.option(
            "--library", metavar="DIR|none", show_default="library/ of the checkout, if any",
            help="Begin with what the library in this folder has of the instance; with --method, "
            "only if you name it.",
        ),
        click.option(
            "--out", metavar="DIR", type=FOLDER,
            help="Keep instance, solutions and certificates in this results folder; by default, "
            "nothing is kept.",
        ),
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
        click.option("--quiet", is_flag=True, help="Show no progress."),
        click.option(
            "--wide", is_flag=True,
            help="Print tables as wide as they are, whatever the terminal's width.",
        ),
    )  # fmt: skip
    shared = [field.name for field in fields(SolvingRequest)]

    @functools.wraps(command)
    def with_request(**given: Any) -> None:
        request = SolvingRequest(**{name: given.pop(name) for name in shared})
        command(request=request, **given)

    decorated: Callable[..., None] = with_request
    for option in reversed(options):
        decorated = option(decorated)
    return decorated


@click.command(cls=ParameterCommand, problems=registered_problems)
@click.argument("model")
@solving_options
@click.option(
    "--solution", "given", metavar="FILE", type=PATH,
    help="Begin with this solution of your own, a file that `boundmark evaluate` reads.",
)  # fmt: skip
@click.option(
    "--as", "tool", metavar="TOOL",
    help="Print only what starts the solution in this tool, for problem layers: vllm, sglang, "
    "tensorrt-llm, llama.cpp, accelerate, megatron, torchtitan, deepspeed or torch-pipelining; by "
    "its rules, unless --rules names others.",
)  # fmt: skip
@click.option(
    "--hosts", metavar="N,N,...", default="",
    help="Devices of each host in turn, such as 8,4 or 2x8, for --as; by default, eight each.",
)  # fmt: skip
@click.option(
    "--use-fewer", is_flag=True,
    help="Leave devices empty that more stages of the same cost could use.",
)  # fmt: skip
@click.option(
    "--out-model", metavar="FILE", type=FILE,
    help="Write the ONNX model again with its nodes in the order found, if the solution is one.",
)  # fmt: skip
@click.option(
    "--order", metavar="FILE|METHOD",
    help="For edge devices, run the operators in the order of this file (one that `evaluate` "
    "reads), or in the order that this method finds for little memory, e.g. btsearch; by default, "
    "in the model's order.",
)  # fmt: skip
def solve(
    model: str,
    given: Path | None,
    tool: str | None,
    hosts: str,
    use_fewer: bool,
    out_model: Path | None,
    order: str | None,
    request: SolvingRequest,
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
    from boundmark.benchmarks.cli.answers.printer import (
        LABEL_WIDTH,
        print_answers,
        print_losses,
        stored_files,
    )
    from boundmark.benchmarks.cli.terminal import echo
    from boundmark.benchmarks.solving import search
    from boundmark.benchmarks.solving.model import choose, load
    from boundmark.benchmarks.solving.presentation import presentation_of

    options, wanted = replace(request.options(), use_fewer=use_fewer), request.several()
    is_one = len(wanted) == 1
    _check_one(is_one, given, tool, order)
    if out_model is not None and not is_one:
        raise click.UsageError("--out-model has one order; expected one value per parameter.")
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
        answer, folder = search.solve(source, options, given=own)
        found.append((answer, stored_files(answer, folder, "best")))
        if answer.interrupted:
            break

    if out_model is not None and answer.solution is not None:
        write_model = presentation_of(answer.source.instance.problem).write_model
        if write_model is None:
            raise click.UsageError(
                f"--out-model is given for problem {answer.source.instance.problem!r}; expected "
                "one whose solutions are orders of operators."
            )
        write_model(answer, model, out_model)
    free = _without_rules(answer, loaded, wanted[0], options) if is_one else None
    if tool is not None and answer.solution is not None:
        presentation = presentation_of(answer.source.instance.problem)
        click.echo(presentation.as_tool(answer, tool, model, hosts))
        if free is not None:
            click.echo(_cost_of_rules(answer, free), err=True)
    else:
        more = {"without_rules": free.to_json()} if free else {}
        print_answers(
            found, as_json=request.as_json, is_wide=request.wide, is_table=not is_one, more=more
        )
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
    """Return parameters with a tool's rules, unless they name some or the instance is stored."""
    from boundmark.benchmarks.solving.model import choose
    from boundmark.benchmarks.solving.presentation import presentation_of
    from boundmark.problems.catalog import problems
    from boundmark.problems.errors import find

    chosen = choose(model, parameters, problem)
    owners: dict[str, list[str]] = {}
    for name in problems():
        for one in presentation_of(name).tools:
            owners.setdefault(one, []).append(name)
    found = find("tool in --as", tool, owners)
    if (name := chosen.problem.name) not in found:
        known = presentation_of(name).tools
        expected = f"one of {', '.join(known)}" if known else "no --as"
        raise click.UsageError(
            f"--as is {tool!r}, a tool for problem {found[0]!r}; for problem {name!r}, "
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
    answer: "Answer", model: "Model", parameters: Mapping[str, str], options: "SolvingOptions"
) -> "Answer | None":
    """Return the answer where solutions follow no tool's rules; None if they follow none here.

    None, too, if there is nothing to compare with, as where the tool's ways of using the host have
    costs of their own, or no time is left.
    """
    from boundmark.benchmarks.solving.model import named_instance
    from boundmark.benchmarks.solving.search import solve

    instance, limits = answer.source.instance, options.settings
    if answer.objective is None or answer.interrupted or "rules" not in instance.parameters:
        return None
    others = {name: text for name, text in parameters.items() if name != "rules"}
    free = named_instance(model, others, instance.problem)
    left = limits.time_limit_seconds - answer.seconds
    if free.costs != answer.source.costs:
        return None
    if free.instance.sha256 == instance.sha256 or left < LEAST_SECONDS:
        return None
    limits = replace(limits, time_limit_seconds=left)
    found, _ = solve(free, replace(options, settings=limits, out=None, quiet=True))
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
