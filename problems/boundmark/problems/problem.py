"""What every problem offers the layers above: instances and solutions that can be stored."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from boundmark.problems.errors import InvalidInputError
from boundmark.problems.parameter import Parameter

INSTANCE_FORMAT = "boundmark-instance/1"
SOLUTION_FORMAT = "boundmark-solution/1"


class Solution(Protocol):
    """An answer to an instance."""

    def to_json(self) -> dict[str, Any]:
        """Return the answer as JSON values, without reference to its instance."""


@runtime_checkable
class Instance(Protocol):
    """One optimisation problem with integer costs, identified by the hash of its canonical JSON."""

    @property
    def problem(self) -> str:
        """Name of the problem, as `Problem.name`."""

    @property
    def sha256(self) -> str:
        """Hash of the canonical JSON."""

    @property
    def nodes(self) -> int:
        """Number of nodes."""

    @property
    def edges(self) -> int:
        """Number of edges."""

    @property
    def parameters(self) -> Mapping[str, int | str]:
        """What turns the source into this instance, e.g. ``{"k": 8}``.

        Parameters that say nothing here may be left out.
        """

    @property
    def is_redundant(self) -> bool:
        """Whether other parameters give the same problem, so that suites leave this one out."""

    def with_parameters(self, given: Mapping[str, int | str]) -> "Instance":
        """Return the instance with some parameters changed."""

    def to_json(self) -> dict[str, Any]:
        """Return everything the problem depends on, as integers and strings."""

    def objective(self, solution: Any) -> int:
        """Return the solution's integer cost.

        Raises
        ------
        InvalidInputError
            If the solution breaks a constraint.
        """


def solution_document(instance: Instance, solution: Solution, objective: int) -> dict[str, Any]:
    """Return a solution in its stored form, which the checker reads."""
    return {
        **solution.to_json(),
        "format": SOLUTION_FORMAT,
        "instance_sha256": instance.sha256,
        "problem": instance.problem,
        "objective": objective,
    }


@dataclass(frozen=True)
class Problem:
    """A kind of instance: how to make it and how to read it back.

    Attributes
    ----------
    name
        As in suites, results and certificates: lower-case letters, digits and dashes.
    description
        One sentence for `boundmark problems`.
    sources
        Types of what data sets and files hold that instances can be made of.
    adapt
        Turns one of these into what `instance` takes, once for all parameters.
    parameters
        What an instance needs beside.
    instance
        Makes an instance, from what `adapt` returned and all parameters by name.
    rounds
        Names of the methods that `boundmark solve` runs if none is asked for, round by round until
        the best solution is proven optimal. Without any, all methods of the problem in one round.
    precedence
        Where a source suits several problems, the one with the lowest number comes first.
    """

    name: str
    description: str
    sources: tuple[type, ...]
    adapt: Callable[[Any], Any]
    parameters: tuple[Parameter, ...]
    instance: Callable[..., Instance]
    instance_from_json: Callable[[Mapping[str, Any]], Instance]
    solution_from_json: Callable[[Mapping[str, Any]], Solution]
    rounds: tuple[tuple[str, ...], ...] = ()
    precedence: int = 100

    def __post_init__(self) -> None:
        if not re.fullmatch("[a-z][a-z0-9]*(-[a-z0-9]+)*", self.name):
            raise InvalidInputError(
                f"a problem is called {self.name!r}; "
                "expected lower-case letters, digits and dashes."
            )
        for kind in self.sources:
            if not isinstance(kind, type):
                raise InvalidInputError(
                    f"problem {self.name!r} is about {kind!r}; expected types in `sources`."
                )
        names = [parameter.name for parameter in self.parameters]
        for name in names:
            if names.count(name) > 1:
                raise InvalidInputError(
                    f"problem {self.name!r} has two parameters {name!r}; expected unique names."
                )

    @property
    def source_names(self) -> str:
        """What instances can be made of, in words for errors."""
        return " or ".join(kind.__name__ for kind in self.sources)

    def read_parameters(self, given: Mapping[str, str]) -> dict[str, int | str]:
        """Return parameters that the command line gives as texts.

        Raises
        ------
        InvalidInputError
            If one is unknown or its value is none.
        """
        self._check_names(given)
        return {
            parameter.name: parameter.read(given[parameter.name])
            for parameter in self.parameters
            if parameter.name in given
        }

    def check_parameters(self, given: Mapping[str, object]) -> dict[str, int | str]:
        """Return all parameters, those not given by their defaults.

        Raises
        ------
        InvalidInputError
            If one is unknown or missing, or its value is none.
        """
        self._check_names(given)
        checked: dict[str, int | str] = {}
        for parameter in self.parameters:
            value = given.get(parameter.name, parameter.default)
            if value is None:
                raise InvalidInputError(
                    f"{parameter.name} is missing; problem {self.name!r} needs it."
                )
            checked[parameter.name] = parameter.check(value)
        return checked

    def suits(self, source: object) -> bool:
        """Whether instances can be made of a source, or it is one already."""
        if isinstance(source, Instance):
            return source.problem == self.name
        return isinstance(source, self.sources)

    def maker(self, source: object) -> Callable[[Mapping[str, int | str]], Instance]:
        """Return the function that makes a source's instances, each with the parameters given.

        A graph or layout is adapted once, here, and parameters that are not given have their
        defaults; those of a stored instance remain as they are.

        Raises
        ------
        InvalidInputError
            If the source does not suit the problem.
        """
        if not self.suits(source):
            raise InvalidInputError(
                f"{_in_words(source)} was given; "
                f"problem {self.name!r} is about {self.source_names}."
            )
        if isinstance(source, Instance):
            stored = source

            def changed(given: Mapping[str, int | str]) -> Instance:
                self.check_parameters({**stored.parameters, **given})
                return stored.with_parameters(given)

            return changed
        adapted = self.adapt(source)
        return lambda given: self.instance(adapted, **self.check_parameters(given))

    def _check_names(self, given: Mapping[str, object]) -> None:
        names = [parameter.name for parameter in self.parameters]
        for name in given:
            if name not in names:
                raise InvalidInputError(
                    f"{name} is no parameter of problem {self.name!r}; "
                    f"expected {' or '.join(names) or 'none'}."
                )


def _in_words(source: object) -> str:
    if isinstance(source, Instance):
        return f"an instance of {source.problem!r}"
    return f"a {type(source).__name__}"
