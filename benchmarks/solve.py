"""Solve one instance: run its methods and return the best solution and certified bound."""

import signal
from collections.abc import Collection, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pandas as pd

from boundmark.benchmarks.answer import GIVEN, LIBRARY, Answer, warnings_about
from boundmark.benchmarks.engines import local_engine
from boundmark.benchmarks.execution.in_process import run_here
from boundmark.benchmarks.execution.task import Outcome
from boundmark.benchmarks.grading.given_solution import GivenSolution
from boundmark.benchmarks.interruption import (
    INTERRUPTIONS,
    PROVEN,
    TimeIsUpError,
    end_running_methods,
    ending_gently,
    reason_of,
)
from boundmark.benchmarks.kernels import compile_kernels
from boundmark.benchmarks.library.known import KnownResults
from boundmark.benchmarks.method_rounds import MethodRounds, SolvingOptions
from boundmark.benchmarks.planning import PlannedTask
from boundmark.benchmarks.progress import live_lines, progress_console
from boundmark.benchmarks.runner import storing
from boundmark.benchmarks.suite import NamedInstance
from boundmark.bounds import checker
from boundmark.problems.catalog import methods
from boundmark.problems.errors import find
from boundmark.reports.stored.documents import read_document
from boundmark.reports.stored.store import ResultStore
from boundmark.reports.tables.rows import best_rows

# How an immediate method ends on an instance that it does not suit, which is no failure: it is
# tried on all.
UNSUITABLE = ("unsupported", "timeout")


def solve(
    source: NamedInstance,
    options: SolvingOptions,
    directory: Path,
    *,
    given: GivenSolution | None = None,
    known: KnownResults | None = None,
    quiet: bool = True,
    is_kept: bool = True,
) -> Answer:
    """Run methods on an instance and return the best verified results.

    Immediate methods come first, in this process, so that there is an answer whatever else the
    machine does. If they do not prove an optimum, processes for the others are started, and the
    clock begins anew when these are ready: how long they take to start says nothing about the
    instance.

    Methods that still run when the optimum is proven are ended. Ctrl-C ends all that run; what they
    have found by then counts.

    Parameters
    ----------
    directory
        Results folder; methods that have had about as much time there are not run again.
    given
        A solution that the user has, which is as good as one that a method has found.
    known
        What the library has, which is as good as well.
    quiet
        Whether no progress is shown on standard error.
    is_kept
        Whether the folder is kept. In one that is not, nothing is stored if the immediate methods
        prove the optimum.
    """
    stored = None
    if is_kept:
        stored = ResultStore.create_or_open(directory).results()
        stored = stored[stored["instance_sha256"] == source.instance.sha256]
    going = MethodRounds(
        source,
        options,
        stored=stored,
        target=min(_costs(given, known), default=None),
        floor=known.bound if known else None,
    )
    outcomes: list[Outcome] | None = None
    late = ""
    try:
        with ending_gently(going.stop) as set_clock:
            going.on_begin = set_clock
            ended = _run_immediate(going, source)
            if going.is_proven and not is_kept and not going.why_stopped:
                outcomes = [outcome for _, outcome in ended]
            else:
                _run(going, source, directory, options, quiet, ended)
    except TimeIsUpError:
        late = "what it found was not checked, because the time was up"
    except KeyboardInterrupt as error:
        going.stop(reason_of(error))
        late = f"what it found was not checked, because {reason_of(error)}"
    if outcomes is None:
        answer = _stored_answer(source, directory, going, options)
    else:
        answer = _answer(source, outcomes, going.clock.spent())
    answer = _with_given(answer, given) if given else answer
    answer = _with_known(answer, known) if known else answer
    unfinished = [f"{name}: not run, because {why}" for name, why in going.not_run()]
    if late:
        unfinished += [f"{name}: {late}" for name in going.running]
    return replace(
        answer,
        failures=(*answer.failures, *unfinished),
        interrupted=going.why_stopped in INTERRUPTIONS,
    )


def _run_immediate(going: MethodRounds, source: NamedInstance) -> list[tuple[PlannedTask, Outcome]]:
    """Run the immediate methods in this process, and return their outcomes."""
    ended = []
    for planned in going.immediate_tasks():
        method = find("method", planned.task.method, methods(planned.task.problem))
        ended.append((planned, run_here(planned.task, method, source.instance)))
        going.finished(*ended[-1])
    return ended


def _run(
    going: MethodRounds,
    source: NamedInstance,
    directory: Path,
    options: SolvingOptions,
    quiet: bool,
    ended: Sequence[tuple[PlannedTask, Outcome]],
) -> None:
    """Store the outcomes of immediate methods, and run all others unless the optimum is proven."""

    def amended(outcome: Outcome) -> Outcome:
        if going.why_stopped and outcome.exit_signal == signal.SIGKILL:
            detail = _ended_because(going.why_stopped)
            return replace(outcome, status="timeout", status_detail=detail)
        return outcome

    def finished(planned: PlannedTask, outcome: Outcome) -> None:
        going.finished(planned, outcome)
        if going.is_proven and going.running and not going.why_stopped:
            going.stop(PROVEN)
            end_running_methods()

    with storing(source, directory, finished, amended) as run:
        run.store(ended)
        if going.is_proven or going.why_stopped or not going.to_come:
            return
        console = progress_console(quiet)
        compile_kernels(console, source.instance.problem)
        # No more processes than there are methods to run in them.
        engine = local_engine(min(options.workers, sum(map(len, going.to_come))))
        engine.start(source.instance.problem, going.to_come[0])
        with closing(engine), live_lines(console, going):
            run.on_engine(
                engine, going.tasks(), lambda: going.stop("an outcome could not be stored")
            )


def _answer(source: NamedInstance, outcomes: Sequence[Outcome], seconds: float) -> Answer:
    """Return the best of what immediate methods have found, with its documents as stored."""
    solved = min(
        (one for one in outcomes if one.objective is not None),
        key=lambda one: (one.objective, one.wall_seconds, one.task.method),
        default=None,
    )
    bounded = min(
        (one for one in outcomes if one.bound_certified is not None),
        key=lambda one: (-(one.bound_certified or 0), one.wall_seconds, one.task.method),
        default=None,
    )
    failed = (one for one in outcomes if one.status not in ("ok", *UNSUITABLE))
    return Answer(
        source=source,
        objective=solved.objective if solved else None,
        certified_bound=bounded.bound_certified if bounded else None,
        claimed_bound=max(
            (one.bound_claimed for one in outcomes if one.bound_claimed is not None), default=None
        ),
        solution=solved.stored_solution() if solved else None,
        certificate=bounded.stored_certificate() if bounded else None,
        method=solved.task.method if solved else None,
        bound_method=bounded.task.method if bounded else None,
        seconds=seconds,
        failures=tuple(f"{one.task.method}: {one.status}: {one.status_detail}" for one in failed),
        warnings=warnings_about(source),
    )


def _stored_answer(
    source: NamedInstance, directory: Path, going: MethodRounds, options: SolvingOptions
) -> Answer:
    """Return the best that a folder has of the methods that were tried."""
    rows = ResultStore.open(directory).results()
    rows = rows[
        (rows["instance_sha256"] == source.instance.sha256) & rows["method"].isin(going.tried)
    ]
    solved = best_rows(rows, "objective")
    bounded = best_rows(rows, "bound_certified", highest=True)
    upper = None if solved.empty else solved.iloc[0]
    lower = None if bounded.empty else bounded.iloc[0]
    claims = rows["bound_claimed"].dropna()
    solution = certificate = None
    if upper is not None:
        solution = read_document(directory / "solutions", str(upper["solution_sha256"]))
    if lower is not None:
        certificate = checker.read_document(
            directory / "certificates" / f"{lower['certificate_sha256']}.json"
        )
    tried_first = [choice.method.name for choice in options.plan.immediate]
    return Answer(
        source=source,
        objective=None if upper is None else int(upper["objective"]),
        certified_bound=None if lower is None else int(lower["bound_certified"]),
        claimed_bound=None if claims.empty else float(claims.max()),
        solution=solution,
        certificate=certificate,
        method=None if upper is None else str(upper["method"]),
        bound_method=None if lower is None else str(lower["method"]),
        seconds=going.clock.spent(),
        failures=_failures(rows, tried_first),
        warnings=warnings_about(source),
    )


def _with_given(answer: Answer, given: GivenSolution) -> Answer:
    """Return the answer with the user's solution where nothing better was found."""
    if answer.objective is not None and answer.objective < given.objective:
        return answer
    return replace(answer, objective=given.objective, solution=dict(given.document), method=GIVEN)


def _costs(given: GivenSolution | None, known: KnownResults | None) -> list[int]:
    """Return the costs of the solutions that a search begins with."""
    costs = [given.objective] if given else []
    if known is not None and known.objective is not None:
        costs.append(known.objective)
    return costs


def _with_known(answer: Answer, known: KnownResults) -> Answer:
    """Return the answer with the library's solution and bound where nothing better was found."""
    start = known.words
    if known.objective is not None:
        if answer.objective is None or known.objective < answer.objective:
            answer = replace(
                answer, objective=known.objective, solution=known.solution, method=LIBRARY
            )
        elif answer.objective < known.objective:
            start += "; the solution found is better"
    if known.bound is not None:
        if answer.certified_bound is None or known.bound > answer.certified_bound:
            answer = replace(
                answer,
                certified_bound=known.bound,
                certificate=known.certificate,
                bound_method=LIBRARY,
            )
        elif known.bound < answer.certified_bound:
            start += "; the bound found is better"
    return replace(answer, start=start)


def _ended_because(why: str) -> str:
    return f"ended because {why}"


def _failures(rows: pd.DataFrame, tried_first: Collection[str]) -> tuple[str, ...]:
    """Return a sentence for each method whose latest attempt did not end well."""
    latest = rows.sort_values("started_at").drop_duplicates("method", keep="last")
    is_unsuitable = latest["status"].isin(UNSUITABLE)
    latest = latest[~(latest["method"].isin(tried_first) & is_unsuitable)]
    is_failed = (latest["status"] != "ok") & (latest["status_detail"] != _ended_because(PROVEN))
    failed = latest[is_failed]
    return tuple(
        f"{row['method']}: {row['status']}: {row['status_detail']}" for _, row in failed.iterrows()
    )
