"""One instance: the best solution and the best certified bound that the methods find."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from boundmark.benchmarks.execution.engine import Engine
from boundmark.benchmarks.planning import plan_tasks
from boundmark.benchmarks.runner import run_planned
from boundmark.benchmarks.settings import RunSettings
from boundmark.benchmarks.suite import MethodChoice, NamedInstance
from boundmark.bounds import checker
from boundmark.problems.catalog import methods
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.problem import Problem
from boundmark.reports.stored.store import ResultStore


@dataclass(frozen=True)
class Answer:
    """What `solve` found out about an instance.

    Attributes
    ----------
    objective, certified_bound
        Ticks, checked; None where no method found anything.
    claimed_bound
        Ticks, on a solver's word.
    solution, certificate
        The stored documents behind objective and certified bound.
    method, bound_method
        Who found them.
    seconds
        Wall time of all methods, side by side.
    failures
        A sentence for each method that did not finish.
    """

    source: NamedInstance
    objective: int | None
    certified_bound: int | None
    claimed_bound: float | None
    solution: dict[str, Any] | None
    certificate: dict[str, Any] | None
    method: str | None
    bound_method: str | None
    seconds: float
    failures: tuple[str, ...]

    @property
    def gap(self) -> float | None:
        """UB/LB - 1, None if either is missing."""
        if self.objective is None or not self.certified_bound:
            return None
        return self.objective / self.certified_bound - 1

    @property
    def optimal(self) -> bool:
        """Whether the certified bound proves the solution optimal."""
        return self.objective is not None and self.objective == self.certified_bound

    def to_json(self) -> dict[str, Any]:
        """Return the object that `boundmark solve --json` prints."""
        return {
            "instance": self.source.label,
            "instance_sha256": self.source.instance.sha256,
            "problem": self.source.instance.problem,
            "device": self.source.device,
            "objective": self.objective,
            "certified_bound": self.certified_bound,
            "claimed_bound": self.claimed_bound,
            "gap": self.gap,
            "optimal": self.optimal,
            "method": self.method,
            "bound_method": self.bound_method,
            "solution": self.solution,
            "certificate": self.certificate,
            "seconds": round(self.seconds, 3),
            "failures": list(self.failures),
        }


def rounds_of(problem: Problem, names: Sequence[str] = ()) -> list[list[MethodChoice]]:
    """Return the methods asked for as one round, or else the problem's default rounds.

    Default methods that are not installed are left out.

    Raises
    ------
    UnknownNameError
        If there is no method with a name that is asked for.
    InvalidInputError
        If one treats another problem, or the problem has no methods.
    """
    if names:
        return [[MethodChoice.of(name, problem=problem.name) for name in dict.fromkeys(names)]]
    treating = [method.name for method in methods().values() if method.problem == problem.name]
    if not treating:
        raise InvalidInputError(f"no method for problem {problem.name!r} is installed.")
    rounds = problem.rounds or (treating,)
    installed = [[name for name in names if name in treating] for names in rounds]
    return [[MethodChoice.of(name) for name in names] for names in installed if names]


def solve(
    source: NamedInstance,
    rounds: Sequence[Sequence[MethodChoice]],
    directory: Path,
    settings: RunSettings,
    engine: Engine,
    *,
    on_start: Callable[[int, int], None],
    on_finish: Callable[..., None],
) -> Answer:
    """Run methods on an instance and return the best of what was verified.

    Parameters
    ----------
    rounds
        A round is run if those before it have not proven an optimum.
    directory
        Results folder; methods that it already holds with the same limits are not run again.
    settings
        Limits of each method, and its seed.
    """
    started = time.monotonic()
    tried: list[str] = []
    for choices in rounds:
        planned = plan_tasks("solve", [source], choices, settings)
        run_planned(planned, directory, engine, on_start=on_start, on_finish=on_finish)
        tried += [choice.method.name for choice in choices]
        rows = ResultStore.open(directory).results()
        rows = rows[
            (rows["instance_sha256"] == source.instance.sha256)
            & rows["method"].isin(tried)
            & (rows["time_limit_seconds"] == settings.time_limit_seconds)
            & (rows["memory_limit_bytes"] == settings.memory_limit_bytes)
        ]
        answer = _best(source, rows, directory, time.monotonic() - started)
        if answer.optimal:
            break
    return answer


def _best(source: NamedInstance, rows: pd.DataFrame, directory: Path, seconds: float) -> Answer:
    solved = rows.dropna(subset=["objective"]).sort_values(["objective", "wall_seconds"])
    bounded = rows.dropna(subset=["bound_certified"]).sort_values(
        ["bound_certified", "wall_seconds"], ascending=[False, True]
    )
    upper = None if solved.empty else solved.iloc[0]
    lower = None if bounded.empty else bounded.iloc[0]
    claims = rows["bound_claimed"].dropna()
    failed = rows[rows["status"] != "ok"]
    return Answer(
        source=source,
        objective=None if upper is None else int(upper["objective"]),
        certified_bound=None if lower is None else int(lower["bound_certified"]),
        claimed_bound=None if claims.empty else float(claims.max()),
        solution=None
        if upper is None
        else json.loads((directory / "solutions" / f"{upper['solution_sha256']}.json").read_text()),
        certificate=None
        if lower is None
        else checker.read_document(
            directory / "certificates" / f"{lower['certificate_sha256']}.json"
        ),
        method=None if upper is None else str(upper["method"]),
        bound_method=None if lower is None else str(lower["method"]),
        seconds=seconds,
        failures=tuple(
            f"{row['method']}: {row['status']}: {row['status_detail']}"
            for _, row in failed.iterrows()
        ),
    )
