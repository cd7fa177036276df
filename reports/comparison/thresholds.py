"""Thresholds beyond which a run counts as worse: defaults, and a user's own in a TOML file."""

import math
import tomllib
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from boundmark.problems.errors import InvalidInputError, find, quoted
from boundmark.problems.files import read_regular

MISSING_TASKS = ("told", "worse")


@dataclass(frozen=True)
class Thresholds:
    """Differences beyond which a run counts as worse; `compare.toml` defines each."""

    repeatable_share: float
    clock_methods: tuple[str, ...]
    objective_tolerance: float
    bound_tolerance: float
    solved_lost: int
    optimal_lost: int
    missing_tasks: str
    clock_tolerance: float
    time_tolerance: float
    least_seconds: float
    least_pairs: int

    def __post_init__(self) -> None:
        """Check every value.

        Raises
        ------
        InvalidInputError
            If one is not what its name asks for.
        """
        for name in ("solved_lost", "optimal_lost", "least_pairs"):
            value = getattr(self, name)
            if type(value) is not int or value < 0:
                raise InvalidInputError(f"{name} is {quoted(value)}; expected an integer, 0 up.")
        for name in (
            "repeatable_share", "objective_tolerance", "bound_tolerance", "clock_tolerance",
            "time_tolerance", "least_seconds",
        ):  # fmt: skip
            value = getattr(self, name)
            if type(value) not in (int, float) or not 0 <= value < math.inf:
                raise InvalidInputError(f"{name} is {quoted(value)}; expected a number, 0 up.")
        if self.repeatable_share > 1:
            raise InvalidInputError(
                f"repeatable_share is {self.repeatable_share}; expected at most 1."
            )
        if self.missing_tasks not in MISSING_TASKS:
            raise InvalidInputError(
                f"missing_tasks is {quoted(self.missing_tasks)}; "
                f"expected one of {', '.join(MISSING_TASKS)}."
            )
        if not all(isinstance(name, str) for name in self.clock_methods):
            raise InvalidInputError(
                f"clock_methods is {quoted(list(self.clock_methods))}; expected names of methods."
            )


def read_thresholds(path: Path) -> Thresholds:
    """Read a file of thresholds; missing ones have their defaults.

    Raises
    ------
    InvalidInputError
        If the file cannot be read as TOML, or a value is not what its name asks for.
    UnknownNameError
        If there is no such threshold.
    """
    try:
        given = tomllib.loads(read_regular(path).decode())
    except FileNotFoundError as error:
        raise InvalidInputError(f"{path} does not exist; expected thresholds in TOML.") from error
    except OSError as error:
        raise InvalidInputError(
            f"{path} cannot be read: {error.strerror}; expected thresholds in TOML."
        ) from error
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"{path}: cannot be read as thresholds: {error}") from error
    known = {field.name: field for field in fields(Thresholds)}
    for name in given:
        find(f"threshold in {path}", name, known)
    try:
        return replace(default_thresholds(), **_values(given))
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}") from error


@cache
def default_thresholds() -> Thresholds:
    """Return the thresholds that come with the package."""
    text = (files("boundmark.reports.comparison") / "compare.toml").read_text(encoding="utf-8")
    return Thresholds(**_values(tomllib.loads(text)))


def _values(given: dict[str, Any]) -> dict[str, Any]:
    methods = given.get("clock_methods")
    if methods is None:
        return given
    if not isinstance(methods, list):
        raise InvalidInputError(f"clock_methods is {quoted(methods)}; expected a list of names.")
    return {**given, "clock_methods": tuple(methods)}
