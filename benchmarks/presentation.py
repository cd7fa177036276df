"""Show answers in a problem's own way, or in one that serves any problem.

A package adds the way of its problem with an entry point in the group ``boundmark.answers`` that
names a `Presentation`.
"""

import json
import shutil
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from boundmark.benchmarks.answer import Answer
from boundmark.benchmarks.terminal import USUAL_WIDTH, echo, printable
from boundmark.problems.catalog import may_treat, problems, registered
from boundmark.problems.method import Deferred

if TYPE_CHECKING:
    from boundmark.benchmarks.suite import NamedInstance
    from boundmark.reports.plots import Plot


# What all solutions state, and the lines around the solution say.
COMMON_FIELDS = ("format", "instance_sha256", "objective", "problem", "producer")


def print_fields(answer: Answer) -> None:
    """Print a line for each field of the solution, as JSON, cut at the terminal's width."""
    width = shutil.get_terminal_size().columns
    for name, value in (answer.solution or {}).items():
        if name not in COMMON_FIELDS:
            line = f"{name:16} {json.dumps(value)}"
            click.echo(line if len(line) <= width else line[: width - 2] + "..")


def stored_solution(answer: Answer) -> Any:
    """Return the solution as it is stored."""
    return problems()[answer.source.instance.problem].solution_from_json(answer.solution or {})


def tick_unit(answer: Answer) -> str:
    """Return the unit to print after ticks, e.g. ``" ns"``; empty if a tick is no time."""
    naming = problems()[answer.source.instance.problem].naming
    tick = naming.tick(answer.source.instance) if naming else "unit"
    return "" if tick == "unit" else f" {tick}"


@dataclass(frozen=True)
class Loss:
    """A part of a solution's cost.

    Attributes
    ----------
    name
        What takes the time, in a few words.
    ticks
        How much; the parts of a solution add up to its cost.
    where
        On which stage or device, e.g. ``"stage 3"``.
    """

    name: str
    ticks: int
    where: str


InOrder: TypeAlias = "Callable[[NamedInstance, str, str, float, Mapping[str, int]], NamedInstance]"


@dataclass(frozen=True)
class Presentation:
    """How answers of one problem are shown; every field has a plain default.

    Attributes
    ----------
    objective_name
        Returns what the objective is called, in one word.
    unit
        Returns what follows a number of ticks.
    facts
        Returns what `--json` prints beside what all problems have in common.
    print_solution
        Prints the solution, if there is one, as people want to see it.
    losses
        Returns what the cost of the solution is made of, largest or most telling first.
    shown
        Returns the solution as it is printed: a partition's stages are numbered as data flows.
    plot
        Returns the drawing of the solution, if there is one; None if the problem has none.
    completed
        Returns the solution that a table of an instance means, from what the table says, where
        that is not all: a table of operators and devices does not say when they run.
    completion
        What is added, as a sentence; empty if tables say everything.
    remarks
        Returns what the cost means, as lines of a label and a text that stand below it.
    tools
        Names of other tools, for `solve --as`.
    tool_title
        Returns how people write the name of such a tool.
    as_tool
        Returns the solution as one of these takes it; raises `InvalidInputError` if it cannot.
    cost_accuracy
        Returns what costs such as the instance's have been off by, as a sentence; empty if they
        came with the model.
    in_order
        Returns the instance of a model with its operators in the order of a file or a method, for
        `solve --order`, given seconds and open dimensions; None if their order is nothing to it.
    common_search
        Searches for one solution for several costs: given instances that differ in costs only, what
        the cost in each is compared with, solutions to begin with, budget, seed and progress. None
        if there is no such search.
    """

    problem: str
    objective_name: "Callable[[Answer], str]" = lambda answer: "objective"
    unit: "Callable[[Answer], str]" = tick_unit
    facts: "Callable[[Answer], dict[str, Any]]" = lambda answer: {}
    print_solution: "Callable[[Answer], None]" = print_fields
    losses: "Callable[[Answer], Sequence[Loss]]" = lambda answer: ()
    shown: "Callable[[Answer], Any]" = stored_solution
    plot: "Callable[[Answer], Plot] | None" = None
    completed: "Callable[[Any, Any], Any]" = lambda instance, solution: solution
    completion: str = ""
    remarks: "Callable[[Answer], Sequence[tuple[str, str]]]" = lambda answer: ()
    tools: tuple[str, ...] = ()
    tool_title: "Callable[[str], str]" = lambda tool: tool
    as_tool: "Callable[[Answer, str], str]" = lambda answer, tool: ""
    cost_accuracy: "Callable[[Answer], str]" = lambda answer: (
        "nobody has measured what they are off by" if answer.source.device else ""
    )
    in_order: "InOrder | None" = None
    common_search: Deferred | None = None


@cache
def presentation_of(problem: str) -> Presentation:
    """Return a problem's own presentation, or the plain one.

    Entry points that are named after other problems are not loaded.
    """
    found = registered(
        "boundmark.answers",
        Presentation,
        key="problem",
        is_wanted=lambda point: may_treat(point.name, problem),
    )
    return found.get(problem) or Presentation(problem)


LABEL_WIDTH = 17


def print_json(
    answer: Answer, files: Mapping[str, Path], more: Mapping[str, Any] | None = None
) -> None:
    """Print one JSON object: the fields of all problems, and those that one adds."""
    click.echo(json.dumps({**json_of(answer, files), **(more or {})}))


def json_of(answer: Answer, files: Mapping[str, Path]) -> dict[str, Any]:
    """Return an answer as a JSON object."""
    # Which uses presentations itself.
    from boundmark.benchmarks.grading.solution_file import named_solution

    presentation = presentation_of(answer.source.instance.problem)
    return {
        **answer.to_json(),
        "cost_accuracy": presentation.cost_accuracy(answer),
        "named_solution": named_solution(answer),
        "losses": [vars(loss) for loss in presentation.losses(answer)],
        "files": {name: str(path) for name, path in files.items()},
        **presentation.facts(answer),
    }


def print_answer(answer: Answer, files: Mapping[str, Path]) -> None:
    """Print the solution, the best bound, the gap, and the files with all of it."""
    instance = answer.source.instance
    presentation = presentation_of(instance.problem)
    echo(f"{answer.source.label}: {instance.nodes} nodes, {instance.edges} edges")
    presentation.print_solution(answer)
    unit, name = presentation.unit(answer), presentation.objective_name(answer)
    if answer.objective is None:
        _print(name, "none found")
    else:
        _print(name, f"{answer.objective:,}{unit} (by {answer.method}, verified)")
        for label, text in presentation.remarks(answer):
            _print_sentence(label, text)
    if answer.certified_bound is None:
        _print("certified bound", "none found")
    else:
        _print(
            "certified bound",
            f"{answer.certified_bound:,}{unit} (by {answer.bound_method}, checked)",
        )
    if answer.claimed_bound is not None:
        _print("claimed bound", f"{answer.claimed_bound:,.3f}{unit} (not certified)")
    costs = f", on {answer.source.costs}" if answer.source.costs else ""
    if answer.optimal:
        _print_sentence("gap", f"0 (optimal, certified){costs}")
    elif answer.gap is not None:
        _print_sentence("gap", f"at most {answer.gap:.2%} above the optimum{costs}")
    if answer.gap is not None and (sentence := presentation.cost_accuracy(answer)):
        _print_sentence("such costs", sentence)
    _print("seconds", f"{answer.seconds:.1f}")
    device = f", device {answer.source.device}" if answer.source.device else ""
    _print("instance", f"{instance.sha256[:12]}{device}")
    if answer.start:
        _print_sentence("library", answer.start)
    for warning in answer.warnings:
        _print_sentence("warning", warning)
    for failure in answer.failures:
        _print_sentence("note", failure)
    for what, path in files.items():
        _print(what.replace("_", " "), str(path))


def print_losses(answer: Answer) -> None:
    """Print the parts of a solution's cost."""
    presentation = presentation_of(answer.source.instance.problem)
    losses = presentation.losses(answer)
    if not losses:
        return
    unit = presentation.unit(answer)
    total = max(1, sum(loss.ticks for loss in losses))
    width = max(len(loss.name) for loss in losses)
    digits = max(14, *(len(f"{loss.ticks:,}") for loss in losses))
    _print("where it is lost", losses[0].where)
    for loss in losses:
        echo(f"  {loss.name:{width}}  {loss.ticks:>{digits},}{unit}  {loss.ticks / total:6.1%}")


def _print(label: str, text: str) -> None:
    echo(f"{label:{LABEL_WIDTH}}{text}")


def _print_sentence(label: str, text: str) -> None:
    """Print a text in as many lines as it needs."""
    lines = textwrap.wrap(
        printable(text), USUAL_WIDTH - LABEL_WIDTH, break_long_words=False, break_on_hyphens=False
    )
    for number, line in enumerate(lines):
        click.echo(f"{label if number == 0 else '':{LABEL_WIDTH}}{line}")
