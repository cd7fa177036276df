"""How `boundmark solve` shows an answer, a module a problem."""

from collections.abc import Mapping
from typing import Any, Protocol

from boundmark.benchmarks.cli.answers import microbatch, pipeline
from boundmark.benchmarks.solve import Answer


class Presentation(Protocol):
    """What each of the modules offers."""

    def objective_name(self, answer: Answer) -> str:
        """Return what the objective is called, in one word."""

    def unit(self, answer: Answer) -> str:
        """Return what follows a number of ticks."""

    def facts(self, answer: Answer) -> dict[str, Any]:
        """Return what `--json` prints beside what all problems have in common."""

    def print_solution(self, answer: Answer) -> None:
        """Print the solution, if there is one, as people want to see it."""


BY_PROBLEM: Mapping[str, Presentation] = {"pipeline": pipeline, "microbatch": microbatch}
