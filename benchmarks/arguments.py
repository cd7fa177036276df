"""Check the arguments of Python functions that users call, and name them in errors."""

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from boundmark.problems.arrays import plain_value
from boundmark.problems.catalog import problems
from boundmark.problems.errors import InvalidInputError, quoted

# What callers may give beside parameters of the problem, but to `load`.
OF_LOAD = ("dims", "device", "example_inputs", "cache")

# What the command line calls an argument.
ON_COMMAND_LINE = {"time_limit": "seconds"}


def names_in(argument: str, value: object, kind: str = "name") -> tuple[str, ...]:
    """Return the names that an argument gives: one as a text, or several in a list."""
    if isinstance(value, str):
        return (value,)
    # The values of a dict would be ignored.
    if isinstance(value, Iterable) and not isinstance(value, Mapping | bytes):
        names = tuple(value)
        if all(isinstance(name, str) for name in names):
            return names
    raise InvalidInputError(
        f"{argument} is {quoted(value)}; expected a {kind} or a list of {kind}s."
    )


def path_of(argument: str, value: object, kind: str = "folder") -> Path:
    """Return the path that an argument gives."""
    if not isinstance(value, str | Path) or not str(value) or "\0" in str(value):
        raise InvalidInputError(f"{argument} is {quoted(value)}; expected the path of a {kind}.")
    return Path(value)


def check_flags(**given: object) -> None:
    """Check that arguments are True or False."""
    for argument, value in given.items():
        if not isinstance(plain_value(value), bool):
            raise InvalidInputError(f"{argument} is {quoted(value)}; expected True or False.")


def check_parameter_names(function: Callable[..., Any], parameters: Mapping[str, object]) -> None:
    """Refuse parameters that no problem has if they look like arguments of a function.

    Whether the chosen problem has the others is checked when the model is known.
    """
    known = {parameter.name for problem in problems().values() for parameter in problem.options}
    arguments = [name for name in inspect.signature(function).parameters if name != "parameters"]
    for name in [name for name in parameters if name not in known]:
        if name in OF_LOAD:
            raise InvalidInputError(
                f"{name} is given beside a model; expected it to be given to boundmark.load, "
                "which makes the model."
            )
        near = ON_COMMAND_LINE.get(name, "")
        for found in [near] if near else difflib.get_close_matches(name, arguments, n=1):
            raise InvalidInputError(f"there is no argument {name!r}; did you mean {found}.")
