"""Show answers in a problem's own way, or in one that serves any problem.

A package adds the way of its problem with an entry point in the group ``boundmark.answers`` that
names a `Presentation`.
"""

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from boundmark.benchmarks.running.planning import NamedInstance
from boundmark.benchmarks.solving.answer import Answer
from boundmark.problems.catalog import may_treat, problems
from boundmark.problems.entry_points import registered
from boundmark.problems.labels import names_of

if TYPE_CHECKING:
    from pathlib import Path

    from boundmark.benchmarks.solving.model import Model
    from boundmark.reports.plots import Plot


# What all solutions state, and the lines around the solution say.
COMMON_FIELDS = ("format", "instance_sha256", "objective", "problem", "producer")


def print_fields(answer: "Answer") -> None:
    """Print a line for each field of the solution, as JSON, cut at the terminal's width."""
    width = shutil.get_terminal_size().columns
    for name, value in (answer.solution or {}).items():
        if name not in COMMON_FIELDS:
            line = f"{name:16} {json.dumps(value)}"
            click.echo(line if len(line) <= width else line[: width - 2] + "..")


def stored_solution(answer: "Answer") -> Any:
    """Return the solution as it is stored."""
    return problems()[answer.source.instance.problem].solution_from_json(answer.solution or {})


def tick_unit(answer: "Answer") -> str:
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


InOrder: TypeAlias = "Callable[[NamedInstance, Model, str, float], NamedInstance]"


@dataclass(frozen=True)
class Presentation:
    """The functions that show answers of one problem; every field has a plain default.

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
        Returns what starts the solution in one of these, from the model as the user calls it and
        the devices of each host; raises `InvalidInputError` if the tool cannot have it.
    arranged
        Returns an answer with a solution of the same cost that is easier to use; a flag says
        whether that may leave devices empty.
    write_model
        Writes the model, as the user calls it, with the solution in it, to a file; None if there
        is no way to.
    cost_accuracy
        Returns what costs such as the instance's have been off by, as a sentence; empty if they
        came with the model, or there is nothing to be off.
    in_order
        Returns the instance of a model with its operators in the order of a file or a method, for
        `solve --order`, given seconds; None if their order is nothing to it.
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
    as_tool: "Callable[[Answer, str, str, str], str]" = lambda answer, tool, model, hosts: ""
    write_model: "Callable[[Answer, str, Path], None] | None" = None
    arranged: "Callable[[Answer, bool], Answer]" = lambda answer, use_fewer: answer
    cost_accuracy: "Callable[[Answer], str]" = lambda answer: (
        "nobody has measured what they are off by" if answer.source.device else ""
    )
    in_order: "InOrder | None" = None


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


def named_rows(answer: Answer) -> list[tuple[str | int, ...]] | None:
    """Return the rows of the solution's table by name; None if there is no such table."""
    instance = answer.source.instance
    problem = problems()[instance.problem]
    if answer.solution is None or problem.table is None:
        return None
    names = names_of(problem.naming, instance)
    solution = presentation_of(problem.name).shown(answer)
    if not problem.table.says_all(solution):
        return None
    value_names = problem.table.value_names(instance)
    known = [value_names.get(column) for column in problem.table.columns[1:]]
    return [
        (
            names[row[0]],
            *(called[x] if called else x for called, x in zip(known, row[1:], strict=True)),
        )
        for row in problem.table.rows(solution)
    ]
