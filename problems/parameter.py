"""Parameters that turn a graph or layout into an instance: integers, and choices among names."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from boundmark.problems.errors import InvalidInputError, quoted

NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
CHOICE = re.compile(r"[a-z0-9]+([-+.][a-z0-9]+)*")

# What suites and `boundmark solve` call something of their own, so that no parameter can.
RESERVED = frozenset(
    {"against", "as", "baseline", "bounds", "dataset", "device", "dim", "dims", "draws", "file"}
    | {
        "given",
        "h",
        "help",
        "hosts",
        "json",
        "library",
        "max_gap",
        "members",
        "memory_limit",
        "method",
    }
    | {"methods", "model", "noise", "optional", "order", "out", "out_model"}
    | {"problem", "quiet", "seed", "solution", "time_limit", "tool", "use_fewer", "version"}
    | {"wide", "workers"}
)


class Parameter(Protocol):
    """A parameter that a problem's instances need."""

    @property
    def name(self) -> str:
        """Name in suites, in `Instance.parameters` and, with dashes, on the command line.

        There, a name of one letter may have one dash or two.
        """

    @property
    def summary(self) -> str:
        """The meaning of the parameter, as a clause for `--help`, e.g. ``"number of stages"``."""

    @property
    def default(self) -> int | str | None:
        """Default value; None if the parameter is mandatory."""

    @property
    def metavar(self) -> str:
        """The placeholder of a value in `--help`."""

    @property
    def separator(self) -> str:
        """The separator of several values on the command line."""

    def read(self, text: str) -> int | str:
        """Return the value that is meant by a text on the command line.

        Raises
        ------
        InvalidInputError
            If it is none.
        """

    def check(self, value: object) -> int | str:
        """Return the value if it is an integer in range.

        Raises
        ------
        InvalidInputError
            If it is none, with what was expected.
        """


@dataclass(frozen=True)
class IntegerParameter:
    """An integer from `least` up.

    Attributes
    ----------
    default
        May be less than `least`, and then stands for what `default_text` says.
    default_text
        What the default means, for `--help`; the number if it is empty.
    """

    name: str
    summary: str
    least: int
    default: int | None
    default_text: str = ""

    metavar = "INTEGER"
    separator = ","

    def __post_init__(self) -> None:
        _check_name(self.name)

    def read(self, text: str) -> int:
        """Return the integer that a text means."""
        try:
            value = int(text)
        except ValueError:
            return self.check(text)
        return self.check(value)

    def check(self, value: object) -> int:
        """Return the value if it is an integer that is large enough."""
        if type(value) is not int or value < self.least:
            raise InvalidInputError(
                f"{self.name} is {quoted(value)}; expected an integer of at least {self.least}."
            )
        return value


@dataclass(frozen=True)
class ChoiceParameter:
    """One of some names."""

    name: str
    summary: str
    choices: tuple[str, ...]
    default: str | None

    separator = ","

    def __post_init__(self) -> None:
        _check_name(self.name)
        for choice in self.choices:
            if not CHOICE.fullmatch(choice):
                raise InvalidInputError(
                    f"parameter {self.name} has the choice {choice!r}; "
                    "expected lower-case letters, digits, dashes, dots and plus signs."
                )
        if self.default is not None:
            self.check(self.default)

    @property
    def metavar(self) -> str:
        """The choices."""
        return f"[{'|'.join(self.choices)}]"

    def read(self, text: str) -> str:
        """Return the choice that a text is."""
        return self.check(text)

    def check(self, value: object) -> str:
        """Return the value if it is one of the choices."""
        if not isinstance(value, str) or value not in self.choices:
            raise InvalidInputError(
                f"{self.name} is {quoted(value)}; expected {' or '.join(map(repr, self.choices))}."
            )
        return value


@dataclass(frozen=True)
class TextParameter:
    """A text of at most a thousand characters, such as devices, a pattern or a file.

    Attributes
    ----------
    expected
        What errors say was expected.
    default_text
        What the default, an empty text, means.
    check_text
        Raises `InvalidInputError` if a text is not as it should be.
    """

    name: str
    summary: str
    metavar: str
    expected: str
    default_text: str
    default: str = ""
    check_text: Callable[[str], object] = str
    separator: str = ";"

    def read(self, text: str) -> str:
        """Return the text."""
        return self.check(text)

    def check(self, value: object) -> str:
        """Return the value if it is a text; its content is checked when the model is read."""
        if type(value) is int:
            value = str(value)
        if not isinstance(value, str) or len(value) > 1000:
            raise InvalidInputError(f"{self.name} is {quoted(value)}; expected {self.expected}.")
        self.check_text(value)
        return value


def _check_name(name: str) -> None:
    if not NAME.fullmatch(name):
        raise InvalidInputError(
            f"a parameter is called {name!r}; expected lower-case words joined by '_'."
        )
    if name in RESERVED:
        raise InvalidInputError(
            f"a parameter is called {name!r}, which suites or commands use; expected another name."
        )
