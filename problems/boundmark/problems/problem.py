"""What every problem offers the layers above: instances and solutions that can be stored."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol


class Solution(Protocol):
    """An answer to an instance."""

    def to_json(self) -> dict[str, Any]:
        """Return the answer as JSON values, without reference to its instance."""


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

    def to_json(self) -> dict[str, Any]:
        """Return everything the problem depends on, as integers and strings."""

    def objective(self, solution: Any) -> int:
        """Return the solution's integer cost.

        Raises
        ------
        InvalidInputError
            If the solution breaks a constraint.
        """


SOLUTION_FORMAT = "boundmark-solution/1"


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
    """A kind of instance and how to read it back."""

    name: str
    description: str
    instance_from_json: Callable[[Mapping[str, Any]], Instance]
    solution_from_json: Callable[[Mapping[str, Any]], Solution]
