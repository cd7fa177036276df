"""One instance: the best solution and the best certified bound that the methods find."""

import signal
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path

import pandas as pd

from boundmark.benchmarks.answer import GIVEN, Answer
from boundmark.benchmarks.engines import local_engine
from boundmark.benchmarks.execution.engine import Engine
from boundmark.benchmarks.execution.local_engine import LocalEngine
from boundmark.benchmarks.execution.task import Outcome
from boundmark.benchmarks.grading.given_solution import GivenSolution
from boundmark.benchmarks.interruption import (
    INTERRUPT,
    PROVEN,
    TimeIsUpError,
    end_running_methods,
    ending_gently,
)
from boundmark.benchmarks.method_rounds import MethodRounds
from boundmark.benchmarks.planning import PlannedTask
from boundmark.benchmarks.runner import run_as_they_come
from boundmark.benchmarks.settings import RunSettings
from boundmark.benchmarks.suite import MethodChoice, NamedInstance
from boundmark.benchmarks.wall_clock import WallClock
from boundmark.bounds import checker
from boundmark.problems.catalog import methods
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.method import Kind
from boundmark.problems.problem import Problem
from boundmark.reports.stored.documents import read_document
from boundmark.reports.stored.store import ResultStore
from boundmark.reports.tables.rows import best_rows


def rounds_of(
    problem: Problem,
    names: Sequence[str] = (),
    kinds: Sequence[Kind] = ("heuristic", "bound", "exact"),
) -> list[list[MethodChoice]]:
    """Return the methods asked for as one round, or else the problem's default rounds.

    Default methods that are not installed, or of other kinds, are left out.

    Raises
    ------
    UnknownNameError
        If there is no method with a name that is asked for.
    InvalidInputError
        If one treats another problem, or the problem has no methods.
    """
    if names:
        return [[MethodChoice.of(name, problem=problem.name) for name in dict.fromkeys(names)]]
    treating = [method.name for method in methods(problem.name).values() if method.kind in kinds]
    if not treating:
        raise InvalidInputError(
            f"no method of kind {' or '.join(kinds)} for problem {problem.name!r} is installed."
        )
    rounds = problem.rounds or (treating,)
    installed = [[name for name in names if name in treating] for names in rounds]
    return [
        [MethodChoice.of(name, problem=problem.name) for name in names]
        for names in installed
        if names
    ]


def warnings_about(source: NamedInstance) -> tuple[str, ...]:
    """Return what was taken for granted of a source, and whether its parameters make sense."""
    instance = source.instance
    if not instance.is_redundant:
        return source.notes
    parameters = " ".join(f"{name}={value}" for name, value in instance.parameters.items())
    redundant = f"{parameters}: with less, the instance of {instance.nodes} nodes would be the same"
    return (*source.notes, redundant)


def solve(
    source: NamedInstance,
    rounds: Sequence[Sequence[MethodChoice]],
    directory: Path,
    settings: RunSettings,
    clock: WallClock,
    *,
    workers: int,
    given: GivenSolution | None = None,
    watch: Callable[[MethodRounds], AbstractContextManager[object]] = nullcontext,
) -> Answer:
    """Run methods on an instance and return the best of what was verified.

    The clock begins anew when the processes that run methods are ready: how long they take to start
    depends on what else the machine does, and says nothing about the instance.

    Methods that still run when the optimum is proven are ended. Ctrl-C ends all that run; what they
    have found by then counts.

    Parameters
    ----------
    rounds
        A round is run if those before it have not proven an optimum.
    directory
        Results folder; methods that have had about as much time there are not run again.
    settings
        Memory limit of each method, and its seed; the time is the clock's.
    workers
        Methods at a time.
    given
        A solution that the user has, which is as good as one that a method has found.
    watch
        Returns a context that shows how the rounds go on.
    """
    # No more processes than there are methods to run in them.
    engine = local_engine(min(workers, max(1, sum(map(len, rounds)))))
    first = [choice.method.name for choice in rounds[0]] if rounds else []
    engine.start(source.instance.problem, first)
    try:
        return _solve(source, rounds, directory, settings, clock, engine, given, watch)
    finally:
        engine.close()


def _solve(
    source: NamedInstance,
    rounds: Sequence[Sequence[MethodChoice]],
    directory: Path,
    settings: RunSettings,
    clock: WallClock,
    engine: LocalEngine,
    given: GivenSolution | None,
    watch: Callable[[MethodRounds], AbstractContextManager[object]],
) -> Answer:
    stored = ResultStore.create_or_open(directory).results()
    going = MethodRounds(
        source,
        rounds,
        settings,
        clock,
        stored=stored[stored["instance_sha256"] == source.instance.sha256],
        workers=engine.workers,
        target=given.objective if given else None,
    )

    with watch(going):
        late = _run(going, source, directory, engine)
    rows = ResultStore.open(directory).results()
    rows = rows[
        (rows["instance_sha256"] == source.instance.sha256) & rows["method"].isin(going.tried)
    ]
    answer = _best(source, rows, directory, clock.spent(), given)
    unfinished = [f"{name}: not run, because {why}" for name, why in going.not_run()]
    if late:
        unfinished += [f"{name}: {late}" for name in going.running]
    return replace(
        answer,
        failures=(*answer.failures, *unfinished),
        interrupted=going.why_stopped == INTERRUPT,
    )


def _run(going: MethodRounds, source: NamedInstance, directory: Path, engine: Engine) -> str:
    """Run the rounds; return why results were left unchecked, empty if none were."""

    def told(outcome: Outcome) -> Outcome:
        if going.why_stopped and outcome.exit_signal == signal.SIGKILL:
            detail = _ended_because(going.why_stopped)
            return replace(outcome, status="timeout", status_detail=detail)
        return outcome

    def finished(planned: PlannedTask, outcome: Outcome) -> None:
        going.finished(planned, outcome)
        if going.is_proven and going.running and not going.why_stopped:
            going.stop(PROVEN)
            end_running_methods()

    try:
        with ending_gently(going.stop) as set_clock:
            going.on_begin = set_clock
            run_as_they_come(
                source,
                going.tasks(),
                directory,
                engine,
                on_finish=finished,
                on_error=lambda: going.stop("an outcome could not be stored"),
                told=told,
            )
    except TimeIsUpError:
        return "what it found was not checked, because the time was up"
    except KeyboardInterrupt:
        going.stop(INTERRUPT)
        return "what it found was not checked, because of Ctrl-C"
    return ""


def _best(
    source: NamedInstance,
    rows: pd.DataFrame,
    directory: Path,
    seconds: float,
    given: GivenSolution | None,
) -> Answer:
    solved = best_rows(rows, "objective")
    bounded = best_rows(rows, "bound_certified", highest=True)
    upper = None if solved.empty else solved.iloc[0]
    lower = None if bounded.empty else bounded.iloc[0]
    claims = rows["bound_claimed"].dropna()
    objective = None if upper is None else int(upper["objective"])
    solution = method = None
    if upper is not None:
        solution = read_document(directory / "solutions", str(upper["solution_sha256"]))
        method = str(upper["method"])
    if given is not None and (objective is None or given.objective <= objective):
        objective, solution, method = given.objective, dict(given.document), GIVEN
    certificate = None
    if lower is not None:
        certificate = checker.read_document(
            directory / "certificates" / f"{lower['certificate_sha256']}.json"
        )
    return Answer(
        source=source,
        objective=objective,
        certified_bound=None if lower is None else int(lower["bound_certified"]),
        claimed_bound=None if claims.empty else float(claims.max()),
        solution=solution,
        certificate=certificate,
        method=method,
        bound_method=None if lower is None else str(lower["method"]),
        seconds=seconds,
        failures=_failures(rows),
        warnings=warnings_about(source),
    )


def _ended_because(why: str) -> str:
    return f"ended because {why}"


def _failures(rows: pd.DataFrame) -> tuple[str, ...]:
    """Return a sentence for each method whose latest attempt did not end well."""
    latest = rows.sort_values("started_at").drop_duplicates("method", keep="last")
    is_failed = (latest["status"] != "ok") & (latest["status_detail"] != _ended_because(PROVEN))
    failed = latest[is_failed]
    return tuple(
        f"{row['method']}: {row['status']}: {row['status_detail']}" for _, row in failed.iterrows()
    )
