"""Rounds of methods about one instance, each with its share of the time that is left."""

import itertools
import json
import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boundmark.benchmarks.running.execution.task import Outcome
from boundmark.benchmarks.running.planning import (
    MethodChoice,
    NamedInstance,
    PlannedTask,
    plan_tasks,
)
from boundmark.benchmarks.running.settings import RunSettings
from boundmark.benchmarks.solving.ending import TIME_IS_UP, WallClock
from boundmark.benchmarks.solving.own_method import method_choice
from boundmark.problems.catalog import methods
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.json_documents import canonical_json
from boundmark.problems.method import Kind
from boundmark.problems.problem import ParameterValue, Problem

if TYPE_CHECKING:
    import pandas as pd

    from boundmark.benchmarks.library import Library


# Largest fraction of the time left that a round gets if others follow it.
ROUND_FRACTION = 0.5

# Time for each method that runs in the command's own process, and for all of them together before
# the others begin; shorter limits are all for the others.
IMMEDIATE_SECONDS = 1.0

# Least time for a method while any is left: quick ones need less.
SHORTEST_SECONDS = 0.2

# Least limit of a stored result, as a fraction of the limit now, for which it counts as one with
# the same limit.
SIMILAR_LIMIT = 0.75


@dataclass(frozen=True)
class MethodPlan:
    """The methods that solve an instance, in the order in which they start.

    Attributes
    ----------
    immediate
        Run first, in the calling process; see `Problem.immediate`.
    rounds
        A round is run if those before it, and the immediate methods, have not proven an optimum.
    on_trial
        Names of methods that are run whether they suit the instance or not.
    """

    immediate: tuple[MethodChoice, ...]
    rounds: tuple[tuple[MethodChoice, ...], ...]
    on_trial: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls,
        problem: Problem,
        names: Sequence[str] = (),
        kinds: Sequence[Kind] = ("heuristic", "bound", "exact"),
    ) -> "MethodPlan":
        """Return the methods asked for as one round, or else the problem's default ones.

        These are its immediate methods, those of its rounds, and in the first round all heuristics
        that do not say why they are left out. Default methods that are not installed, or lack what
        they require, or are of other kinds, are not among them.
        """
        if names:
            asked = (method_choice(name, problem=problem.name) for name in dict.fromkeys(names))
            return cls((), (tuple(asked),))
        known = methods(problem.name)
        of_kinds = [one for one in known.values() if one.kind in kinds]
        treating = [one.name for one in of_kinds if all(map(find_spec, one.requires))]
        if not of_kinds:
            raise InvalidInputError(
                f"no method of kind {' or '.join(kinds)} for problem {problem.name!r} is installed."
            )
        immediate = {name: params for name, params in problem.immediate.items() if name in treating}
        wanted = [name for name in treating if not known[name].left_out]
        first, *later = problem.rounds or (wanted,)
        params: dict[str, Mapping[str, ParameterValue]] = {}
        for round_ in problem.rounds:
            params |= round_ if isinstance(round_, Mapping) else {}
        named = {*immediate, *first, *itertools.chain.from_iterable(later)}
        heuristics = [name for name in wanted if known[name].kind == "heuristic"]
        others = [name for name in heuristics if name not in named]
        rounds = [
            tuple(
                method_choice(name, params.get(name), problem=problem.name)
                for name in round_
                if name in treating
            )
            for round_ in ((*first, *others), *later)
        ]
        return cls(
            tuple(
                method_choice(name, params, problem=problem.name)
                for name, params in immediate.items()
            ),
            tuple(filter(None, rounds)),
            frozenset([*immediate, *heuristics]),
        )

    @property
    def all(self) -> list[MethodChoice]:
        """The methods of all rounds, the immediate ones first."""
        return [*self.immediate, *itertools.chain.from_iterable(self.rounds)]


@dataclass(frozen=True)
class SolvingOptions:
    """The time of a search, the memory and processes of its methods, and what is kept.

    Attributes
    ----------
    settings
        Wall time of the search; memory limit of each method, and its seed.
    workers
        Methods at a time.
    methods
        Names of methods that are asked for.
    library
        What to begin with; None for nothing.
    out
        Results folder to keep, whose methods that have had about as much time are not run again;
        None for none.
    quiet
        Whether no progress is shown on standard error.
    keeps_interrupted
        Whether a search that Ctrl-C ends is stored in a new folder if there is no other.
    use_fewer
        Whether the solution may leave devices empty that it could use at the same cost.
    """

    settings: RunSettings
    workers: int
    methods: tuple[str, ...] = ()
    library: "Library | None" = None
    out: Path | None = None
    quiet: bool = True
    keeps_interrupted: bool = False
    use_fewer: bool = False


class Rounds:
    """Hands out tasks until the optimum is proven or the time is up; threads may share it.

    Each round starts when all tasks before it have ended. A task's limit is its share of the time
    that is left when it starts: what quick methods leave, slow ones get.

    Parameters
    ----------
    stored
        Rows of the results folder about this instance, None without one. A method is not run again
        if it ended by itself, or had about as much time as it would get.
    target
        Cost of a solution that is known; methods may stop once that is proven optimal.
    floor
        Certified bound that is known.
    on_change
        Called in any thread whenever there is news.

    Attributes
    ----------
    objective, bound
        Best verified cost and best certified bound so far; None without any.
    round
        Number of the round that runs, from 1 up.
    running
        Names of the methods that run.
    tried
        Names of those that have been started or were stored.
    clock
        The time that immediate methods and all rounds share; it stands still before each round.
    on_begin
        Called with the clock when it goes on, and with None when it stands still.
    import_methods
        Called with the names of a round's methods before it; returns the seconds of compiling.
    is_importing
        Whether that goes on.
    compile_seconds
        The seconds of compiling before all rounds so far.
    on_trial
        As in the plan.
    why_stopped
        A clause if `stop` was called, else empty.
    """

    def __init__(
        self,
        source: NamedInstance,
        plan: MethodPlan,
        options: SolvingOptions,
        clock: WallClock,
        *,
        stored: "pd.DataFrame | None",
        target: int | None = None,
        floor: int | None = None,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self._source = source
        self._immediate, self._rounds = plan.immediate, plan.rounds
        self.on_trial = plan.on_trial
        self._done: list[MethodChoice] = []
        self._immediate_seconds = self._spent = 0.0
        self._has_postponed = False
        self._settings = options.settings
        self.clock = clock
        self.on_begin: Callable[[WallClock | None], None] = lambda clock: None
        self.import_methods: Callable[[Sequence[str]], float] = lambda names: 0.0
        self.is_importing = False
        self.compile_seconds = 0.0
        self._stored = stored
        self._workers = options.workers
        self._on_change = on_change
        self._changed = threading.Condition(threading.RLock())
        self._waiting: list[MethodChoice] = []
        self.objective = target
        self.bound = floor
        self.round = 0
        self.running: list[str] = []
        self.tried: list[str] = []
        self.why_stopped = ""

    @property
    def most(self) -> int:
        """Number of rounds that there are at most."""
        return len(self._rounds)

    @property
    def to_come(self) -> list[list[str]]:
        """Names of the methods of each round that has not begun."""
        return [[one.method.name for one in round_] for round_ in self._rounds[self.round :]]

    @property
    def is_proven(self) -> bool:
        """Whether the best solution is proven optimal."""
        return self.objective is not None and self.objective == self.bound

    def immediate_tasks(self) -> Iterator[PlannedTask]:
        """Yield the tasks that need no processes of their own, one after the other.

        Those that are not begun before the others have used a second wait for a round of their own,
        as those that were ended.
        """
        for choice in self._immediate:
            limit = min(IMMEDIATE_SECONDS, self.clock.seconds)
            if self.is_proven or self.why_stopped:
                break
            if self._immediate_seconds >= IMMEDIATE_SECONDS:
                self._postpone(choice)
            elif not self._is_known(choice, limit):
                self.tried.append(choice.method.name)
                yield self._planned(choice, limit)
        self._spent = min(self.clock.spent(), max(0.0, self.clock.seconds - IMMEDIATE_SECONDS))

    def tasks(self) -> Iterator[PlannedTask]:
        """Yield tasks; waits for the end of those that run where a round has to be over."""
        while (step := self._next()) is not None:
            if isinstance(step, PlannedTask):
                self._on_change()
                yield step
            else:
                self._begin(step)

    def take(self, method: str, objective: int | None, bound: int | None) -> None:
        """Note the solution and bound of a method that has ended, or was stored."""
        with self._changed:
            if objective is not None:
                self.objective = min(objective, self.objective or objective)
            if bound is not None:
                self.bound = max(bound, self.bound or bound)
            if method in self.running:
                self.running.remove(method)
            self._changed.notify_all()
        self._on_change()

    def finished(self, planned: PlannedTask, outcome: Outcome) -> None:
        """Note an outcome; an immediate method whose time was too short gets more in a round."""
        if self.round == 0:
            self._immediate_seconds += outcome.wall_seconds + outcome.verify_seconds
            for choice in self._immediate:
                if choice.method.name == planned.task.method:
                    if outcome.status == "timeout" or _found_nothing_in_time(outcome):
                        self._postpone(choice)
                    else:
                        self._done.append(choice)
        self.take(planned.task.method, outcome.objective, outcome.bound_certified)

    def not_run(self) -> list[tuple[str, str]]:
        """Return the methods that would have been run, and why they were not."""
        if self.is_proven:
            return []
        why = self.why_stopped or TIME_IS_UP
        names = [
            choice.method.name for choice in (*self._immediate, *itertools.chain(*self._rounds))
        ]
        return [(name, why) for name in names if name not in self.tried]

    def stop(self, why: str) -> None:
        """Stop handing out tasks."""
        with self._changed:
            self.why_stopped = self.why_stopped or why
            self._changed.notify_all()

    def _postpone(self, immediate: MethodChoice) -> None:
        """Add a method to the round of those that end before any search begins."""
        waiting = self._rounds[:1] if self._has_postponed else ((),)
        self._rounds = ((*waiting[0], immediate), *self._rounds[self._has_postponed :])
        self._has_postponed = True

    def _begin(self, names: Sequence[str]) -> None:
        """Let the methods of a round be imported while the clock stands still."""
        if self.round > 1 and not self.clock.for_methods():
            return
        spent = self._spent if self.round == 1 else self.clock.spent()
        self.on_begin(None)
        self.is_importing = True
        self.compile_seconds += self.import_methods(names)
        self.is_importing = False
        self.clock = self.clock.begun_anew(spent)
        self.on_begin(self.clock)

    def _next(self) -> PlannedTask | Sequence[str] | None:
        """Return the next task, or the names of the methods of a round that begins."""
        with self._changed:
            while not self.why_stopped:
                if self._waiting:
                    choice = self._waiting.pop(0)
                    limit = self._share()
                    if choice in self._done or self._is_known(choice, limit):
                        continue
                    if self.clock.for_methods() == 0.0:
                        continue
                    self.running.append(choice.method.name)
                    self.tried.append(choice.method.name)
                    return self._planned(choice, limit)
                if not self.running:
                    if self.is_proven or self.round == len(self._rounds):
                        return None
                    self._waiting = list(self._rounds[self.round])
                    self.round += 1
                    return [one.method.name for one in self._waiting if one not in self._done]
                if self.round == len(self._rounds):
                    return None
                # Woken by each outcome; the clock ends what takes too long.
                self._changed.wait(0.5)
        return None

    def _share(self) -> float:
        """Return the seconds that the next method of this round may use."""
        left = self.clock.for_methods()
        if self.round < len(self._rounds):
            left *= ROUND_FRACTION
        # As many run at a time as there are workers; the one in question is one of them.
        share = left / math.ceil((1 + len(self._waiting)) / self._workers)
        return round(max(share, SHORTEST_SECONDS), 3)

    def _is_known(self, choice: MethodChoice, limit: float) -> bool:
        """Whether the folder has what a method would find; then it is taken from there."""
        rows = self._stored
        if rows is None:
            return False
        method = choice.method
        seeds = self._settings.seeds[:1]
        params = canonical_json(_without(method.known_cost, choice.params))
        rows = rows[
            (rows["method"] == method.name)
            & (rows["method_version"] == method.version)
            & rows["params"].map(
                lambda text: canonical_json(_without(method.known_cost, json.loads(text))) == params
            )
            & rows["seed"].isin(seeds)
            & (rows["memory_limit_bytes"] == self._settings.memory_limit_bytes)
            & (rows["status"] == "ok")
        ]
        ended_early = rows["wall_seconds"] < 0.9 * rows["time_limit_seconds"]
        had_time = rows["time_limit_seconds"] >= SIMILAR_LIMIT * limit
        rows = rows[ended_early | had_time]
        for cost in rows["objective"].dropna():
            self.take(method.name, int(cost), None)
        for bound in rows["bound_certified"].dropna():
            self.take(method.name, None, int(bound))
        if len(rows):
            self.tried.append(method.name)
        return bool(len(rows))

    def _planned(self, choice: MethodChoice, limit: float) -> PlannedTask:
        settings = RunSettings(
            limit,
            self._settings.memory_limit_bytes,
            self._settings.threads,
            self._settings.seeds[:1],
        )
        known = choice.method.known_cost
        if known is not None and self.objective is not None:
            choice = replace(choice, params={**choice.params, known: self.objective})
        (planned,) = plan_tasks("solve", [self._source], [choice], settings)
        return planned


def _found_nothing_in_time(outcome: Outcome) -> bool:
    """Whether a method that returned by itself had used up its time and has nothing to show."""
    found = outcome.objective, outcome.bound_certified, outcome.bound_claimed
    return found == (None,) * 3 and outcome.wall_seconds >= outcome.task.time_limit_seconds


def _without(name: str | None, params: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in params.items() if key != name}
