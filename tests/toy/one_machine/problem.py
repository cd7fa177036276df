"""Instances and solutions."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from boundmark.problems.errors import InvalidInputError
from boundmark.problems.json_documents import canonical_json, sha256_hex
from boundmark.problems.parameter import ChoiceParameter, IntegerParameter
from boundmark.problems.problem import Problem

FORMAT = "boundmark-instance/1"


@dataclass(frozen=True)
class JobSet:
    """What data sets hold: an entry a job in each field, in ticks."""

    release: tuple[int, ...]
    duration: tuple[int, ...]
    tail: tuple[int, ...]

    def __post_init__(self) -> None:
        lengths = {len(self.release), len(self.duration), len(self.tail)}
        if len(lengths) != 1 or lengths == {0}:
            raise InvalidInputError(
                "release, duration and tail differ in length or are empty; expected an entry a job."
            )


@dataclass(frozen=True)
class Order:
    """A solution: the jobs in the order in which the machine does them, each k times."""

    jobs: tuple[int, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the order."""
        return {"order": list(self.jobs)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Order":
        """Read what `to_json` wrote."""
        order = value.get("order")
        if not isinstance(order, list) or any(type(job) is not int for job in order):
            raise InvalidInputError("order of the solution is not a list of job numbers.")
        return cls(tuple(order))


@dataclass(frozen=True, eq=False)
class OneMachineInstance:
    """Do each job k times, and be done early: with the work, or with the tails as well."""

    jobs: JobSet
    k: int = 1
    goal: str = "makespan"

    @property
    def problem(self) -> str:
        """Always ``"one-machine"``."""
        return "one-machine"

    @property
    def nodes(self) -> int:
        """Number of jobs."""
        return len(self.jobs.duration)

    @property
    def edges(self) -> int:
        """None: jobs do not depend on each other."""
        return 0

    @property
    def parameters(self) -> dict[str, int | str]:
        """How often each job is done, and what counts."""
        return {"k": self.k, "goal": self.goal}

    @property
    def is_redundant(self) -> bool:
        """Always False."""
        return False

    @property
    def counted_tail(self) -> tuple[int, ...]:
        """The tails, or zeros if they do not count."""
        return self.jobs.tail if self.goal == "delivery" else (0,) * self.nodes

    def with_parameters(self, given: Mapping[str, Any]) -> "OneMachineInstance":
        """Return the instance with other parameters."""
        return OneMachineInstance(self.jobs, **{**self.parameters, **given})

    @cached_property
    def sha256(self) -> str:
        """Hash of the canonical JSON."""
        return sha256_hex(canonical_json(self.to_json()))

    def objective(self, solution: Order) -> int:
        """Return when the last job is done, with its tail if tails count."""
        if sorted(solution.jobs) != sorted(list(range(self.nodes)) * self.k):
            raise InvalidInputError(f"the order does not have each job {self.k} times.")
        time = latest = 0
        for job in solution.jobs:
            time = max(time, self.jobs.release[job]) + self.jobs.duration[job]
            latest = max(latest, time + self.counted_tail[job])
        return latest

    def to_json(self) -> dict[str, Any]:
        """Return the canonical form."""
        return {
            "format": FORMAT,
            "problem": self.problem,
            "k": self.k,
            "goal": self.goal,
            "release": list(self.jobs.release),
            "duration": list(self.jobs.duration),
            "tail": list(self.jobs.tail),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "OneMachineInstance":
        """Read what `to_json` wrote."""
        if value.get("format") != FORMAT:
            raise InvalidInputError(f"format is {value.get('format')!r}; expected {FORMAT!r}.")
        columns = []
        for field in ("release", "duration", "tail"):
            column = value.get(field)
            if not isinstance(column, list) or any(type(x) is not int or x < 0 for x in column):
                raise InvalidInputError(f"{field} is not a list of non-negative integers.")
            columns.append(tuple(column))
        parameters = PROBLEM.check_parameters({name: value.get(name) for name in ("k", "goal")})
        return cls(JobSet(*columns), **parameters)


PROBLEM = Problem(
    name="one-machine",
    description="Do jobs with release times on one machine, and be done as early as possible.",
    sources=(JobSet,),
    adapt=lambda jobs: jobs,
    parameters=(
        IntegerParameter("k", "how often each job is done", least=1, default=1),
        ChoiceParameter("goal", "what has to be early", ("makespan", "delivery"), "makespan"),
    ),
    instance=OneMachineInstance,
    instance_from_json=OneMachineInstance.from_json,
    solution_from_json=Order.from_json,
    rounds=(("subset", "largest-tail"),),
)
