"""Options for the parameters that problems declare."""

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from boundmark.problems.parameter import Parameter
    from boundmark.problems.problem import Problem


class ParameterCommand(click.Command):
    """A command with an option for every parameter of some problems.

    The function behind it gets the texts that were given as keyword arguments, named like the
    parameters, and None for the others. `Problem.read_parameters` says what they mean: the problem
    may not be known before the command runs.

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

    @cached_property
    def _generated(self) -> list[click.Option]:
        declared: dict[str, list[tuple[str, Parameter]]] = {}
        for problem in self._problems():
            for parameter in problem.parameters:
                declared.setdefault(parameter.name, []).append((problem.name, parameter))
        return [_option(name, uses) for name, uses in declared.items()]


def given_texts(options: dict[str, str | None]) -> dict[str, str]:
    """Return the parameters that were given on the command line."""
    return {name: text for name, text in options.items() if text is not None}


def _option(name: str, uses: "list[tuple[str, Parameter]]") -> click.Option:
    spellings = [f"--{name.replace('_', '-')}"]
    if len(name) == 1:
        spellings.insert(0, f"-{name}")
    clauses = []
    for problem, parameter in uses:
        said = getattr(parameter, "default_text", "") or parameter.default
        default = "" if parameter.default is None else f" (default {said})"
        clauses.append(f"{problem}: {parameter.summary}{default}")
    metavars = dict.fromkeys(parameter.metavar for _, parameter in uses)
    return click.Option(
        [name, *spellings], metavar="|".join(metavars), help="; ".join(clauses) + "."
    )
