"""Options that several commands share, and those that problems declare."""

import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from boundmark.benchmarks.running.settings import LARGEST_GIB, LONGEST_SECONDS
from boundmark.reports.stored.statuses import FAILURES

if TYPE_CHECKING:
    from boundmark.problems.parameter import Parameter
    from boundmark.problems.problem import Problem


# What a shell says of a command that Ctrl-C has ended.
INTERRUPTED = 130


class _Path(click.Path):
    """A path; an empty text is none, though Python takes it for the current folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path of a text."""
        if not str(value):
            self.fail("it is empty; expected a path.", param, ctx)
        return super().convert(value, param, ctx)


PATH = _Path(path_type=Path)
FOLDER = _Path(path_type=Path, file_okay=False)
FILE = _Path(path_type=Path, dir_okay=False)


class _PositiveNumber(click.FloatRange):
    """A number above 0 and at most a largest one."""

    name = "number"

    def __init__(self, largest: int) -> None:
        super().__init__(min=0, min_open=True)
        self._largest = largest

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number that a text means."""
        found = super().convert(value, param, ctx)
        # It is false of what is no number, too.
        if not found <= self._largest:
            self.fail(
                f"{found}; expected a positive number of at most {self._largest}.", param, ctx
            )
        return found


SECONDS = _PositiveNumber(LONGEST_SECONDS)
PERCENT = _PositiveNumber(10**6)
GIBIBYTES = _PositiveNumber(LARGEST_GIB)


def read_dims(
    context: click.Context, parameter: click.Parameter, value: tuple[str, ...]
) -> dict[str, int]:
    """Return the sizes of open dimensions by name."""
    found: dict[str, int] = {}
    for text in value:
        name, separator, size = text.rpartition("=")
        if not separator or not name or not size.isascii() or not size.isdecimal():
            raise click.BadParameter(f"{text!r}; expected NAME=SIZE, e.g. batch=8.")
        if len(size) > 10:
            raise click.BadParameter(f"{text!r:.80}; expected a size of at most ten digits.")
        if name in found:
            raise click.BadParameter(f"{name!r} is given twice; expected one size.")
        found[name] = int(size)
    return found


dim_option = click.option(
    "--dim", "dims", multiple=True, metavar="NAME=SIZE", callback=read_dims,
    help="Size of a dimension that the model leaves open, e.g. batch=8; 1 by default; may be "
    "repeated.",
)  # fmt: skip


class ParameterCommand(click.Command):
    """A command with an option for every parameter of some problems.

    The function behind it gets the texts that were given as a dict by name, its argument
    `parameters`, beside what the command declares. `Problem.read_parameters` says what they mean:
    the problem may not be known before the command runs.

    Parameters
    ----------
    problems
        Called when options are first needed, because problems take time to import.
    """

    def __init__(
        self, *args: Any, problems: "Callable[[], Iterable[Problem]]", **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self._problems = problems

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the generated options, then the declared ones."""
        return [*self._generated, *super().get_params(ctx)]

    def invoke(self, ctx: click.Context) -> Any:
        """Call the function behind the command."""
        texts = {str(one.name): ctx.params.pop(str(one.name)) for one in self._generated}
        ctx.params["parameters"] = {name: text for name, text in texts.items() if text is not None}
        return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the declared options, then the parameters of each problem under its name."""
        sections = {"Options": super().get_params(ctx)}
        for problem, parameters in self._by_problem.items():
            sections[f"Parameters of {problem}"] = [
                _option(parameter.name, [(problem, parameter)], is_alone=True)
                for parameter in parameters
            ]
        for title, shown in sections.items():
            options = [one for one in shown if isinstance(one, click.Option)]
            records = [option.get_help_record(ctx) for option in options]
            with formatter.section(title):
                formatter.write_dl([record for record in records if record])

    @cached_property
    def _by_problem(self) -> "dict[str, tuple[Parameter, ...]]":
        """The parameters of each problem that has any."""
        return {
            problem.name: tuple(problem.options) for problem in self._problems() if problem.options
        }

    @cached_property
    def _generated(self) -> list[click.Option]:
        declared: dict[str, list[tuple[str, Parameter]]] = {}
        for problem, parameters in self._by_problem.items():
            for parameter in parameters:
                declared.setdefault(parameter.name, []).append((problem, parameter))
        return [_option(name, uses) for name, uses in declared.items()]


def _option(
    name: str, uses: "list[tuple[str, Parameter]]", *, is_alone: bool = False
) -> click.Option:
    """Return the option for a parameter of some problems; `is_alone`: help names no problem."""
    spellings = [f"--{name.replace('_', '-')}"]
    if len(name) == 1:
        spellings.insert(0, f"-{name}")
    clauses = []
    for problem, parameter in uses:
        said = getattr(parameter, "default_text", "") or parameter.default
        default = "" if parameter.default is None else f" (default {said})"
        summary = parameter.summary[:1].upper() + parameter.summary[1:]
        clauses.append(
            f"{summary}{default}" if is_alone else f"{problem}: {parameter.summary}{default}"
        )
    metavars = dict.fromkeys(parameter.metavar for _, parameter in uses)
    return click.Option(
        [name, *spellings], metavar="|".join(metavars), help="; ".join(clauses) + "."
    )


def statuses(context: click.Context, parameter: click.Parameter, value: str) -> tuple[str, ...]:
    """Read a list of statuses with commas between them."""
    chosen = tuple(part.strip() for part in value.split(",") if part.strip())
    for status in chosen:
        if status not in FAILURES:
            raise click.BadParameter(f"{status!r} is not one of {', '.join(FAILURES)}.")
    return chosen


fail_on_option = click.option(
    "--fail-on", default="", metavar="STATUS,...", callback=statuses,
    help=f"Exit with 1 if a task has one of these statuses, separated by commas: "
    f"{', '.join(FAILURES)}.",
)  # fmt: skip


def fail_over(chosen: tuple[str, ...], counts: Mapping[Any, int]) -> None:
    """End the command with exit code 1 if any task has one of the chosen statuses."""
    found = [f"{counts[status]} {status}" for status in chosen if counts.get(status)]
    if found:
        click.echo(f"failed: {', '.join(found)}", err=True)
        sys.exit(1)
