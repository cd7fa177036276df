"""What every problem offers the layers above: instances and solutions that can be stored."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from boundmark.problems.errors import InvalidInputError

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
        """Name of the problem, e.g. ``"pipeline"``."""

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
    def parameters(self) -> Mapping[str, int]:
        """What turns the graph into this instance, e.g. ``{"k": 8}``."""

    @property
    def is_redundant(self) -> bool:
        """Whether other parameters give the same problem, so that suites leave this one out."""

    def with_parameters(self, given: Mapping[str, int]) -> "Instance":
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
class Parameter:
    """An integer that, with a graph or layout, makes an instance.

    Attributes
    ----------
    name
        As in suites, in `Instance.parameters` and, with dashes, on the command line.
    least
        Smallest value.
    default
        None if there is none.
    """

    name: str
    summary: str
    least: int
    default: int | None


@dataclass(frozen=True)
class Problem:
    """A kind of instance: how to make it and how to read it back.

    Attributes
    ----------
    sources
        Types of what data sets and files hold that instances can be made of.
    adapt
        Turns one of these into what `instance` takes, once for all parameters.
    parameters
        What an instance needs beside.
    instance
        Makes an instance, from what `adapt` returned and all parameters by name.
    """

    name: str
    description: str
    sources: tuple[type, ...]
    adapt: Callable[[Any], Any]
    parameters: tuple[Parameter, ...]
    instance: Callable[..., Instance]
    instance_from_json: Callable[[Mapping[str, Any]], Instance]
    solution_from_json: Callable[[Mapping[str, Any]], Solution]

    def check_parameters(self, given: Mapping[str, object]) -> dict[str, int]:
        """Return all parameters, those not given by their defaults.

        Raises
        ------
        InvalidInputError
            If one is unknown, missing, too small or not an integer.
        """
        names = [parameter.name for parameter in self.parameters]
        for name in given:
            if name not in names:
                raise InvalidInputError(
                    f"{name} is no parameter of problem {self.name!r}; "
                    f"expected {' or '.join(names)}."
                )
        checked: dict[str, int] = {}
        for parameter in self.parameters:
            value = given.get(parameter.name, parameter.default)
            if value is None:
                raise InvalidInputError(
                    f"{parameter.name} is missing; problem {self.name!r} needs it."
                )
            if type(value) is not int or value < parameter.least:
                raise InvalidInputError(
                    f"{parameter.name} is {value!r}; "
                    f"expected an integer of at least {parameter.least}."
                )
            checked[parameter.name] = value
        return checked
