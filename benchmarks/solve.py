"""Solve one instance: run its methods and return the best solution and certified bound."""

import signal
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from boundmark.benchmarks.answer import GIVEN, LIBRARY, UNSUITABLE, Answer, warnings_about
from boundmark.benchmarks.execution.engine import local_engine
from boundmark.benchmarks.execution.fork_server import UNCHECKED
from boundmark.benchmarks.execution.in_process import run_here
from boundmark.benchmarks.execution.task import Outcome
from boundmark.benchmarks.instance_run import InstanceRun
from boundmark.benchmarks.interruption import (
    INTERRUPTIONS,
    PROVEN,
    TimeIsUpError,
    end_running_methods,
    ended_because,
    ending_gently,
    reason_of,
)
from boundmark.benchmarks.kernels import compile_kernels
from boundmark.benchmarks.library.known import KnownResults
from boundmark.benchmarks.method_rounds import MethodRounds, SolvingOptions
from boundmark.benchmarks.planning import PlannedTask
from boundmark.benchmarks.progress import live_lines, progress_console
from boundmark.benchmarks.suite import NamedInstance
from boundmark.problems.catalog import methods
from boundmark.problems.errors import find
from boundmark.problems.json_documents import canonical_json

if TYPE_CHECKING:
    from boundmark.benchmarks.grading.given_solution import GivenSolution


def solve(
    source: NamedInstance,
    options: SolvingOptions,
    directory: Path,
    *,
    given: "GivenSolution | None" = None,
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
        Whether the folder is kept. In one that is not, nothing is stored unless Ctrl-C ends the
        search.
    """
    stored = None
    if is_kept:
        from boundmark.reports.stored.store import ResultStore

        stored = ResultStore.create_or_open(directory).results()
        stored = stored[stored["instance_sha256"] == source.instance.sha256]
    going = MethodRounds(
        source,
        options,
        stored=stored,
        target=min(_costs(given, known), default=None),
        floor=known.bound if known else None,
    )
    ended: list[tuple[PlannedTask, Outcome]] = []
    late = ""
    try:
        with ending_gently(going.stop) as set_clock:
            going.on_begin = set_clock
            _run_immediate(going, source, ended)
            with _keeping(source, directory if is_kept else None, going, ended) as run:
                _run(going, source, run, options, quiet)
    except TimeIsUpError:
        late = "what it found was not checked, because the time was up"
    except KeyboardInterrupt as error:
        going.stop(reason_of(error))
        late = f"what it found was not checked, because {reason_of(error)}"
    immediate = [choice.method.name for choice in options.plan.immediate]
    if is_kept:
        from boundmark.benchmarks.stored_answer import stored_answer

        answer = stored_answer(source, directory, going.tried, immediate, going.clock.spent())
    else:
        answer = _answer(source, ended, immediate, going.clock.spent())
        if going.why_stopped in INTERRUPTIONS:
            _store(source, directory, ended)
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


def _run_immediate(
    going: MethodRounds, source: NamedInstance, ended: list[tuple[PlannedTask, Outcome]]
) -> None:
    """Run the immediate methods in this process, and append their outcomes."""
    for planned in going.immediate_tasks():
        method = find("method", planned.task.method, methods(planned.task.problem))
        ended.append((planned, run_here(planned.task, method, source.instance)))
        going.finished(*ended[-1])


@contextmanager
def _keeping(
    source: NamedInstance,
    directory: Path | None,
    going: MethodRounds,
    ended: list[tuple[PlannedTask, Outcome]],
) -> Iterator[InstanceRun]:
    """Yield what keeps outcomes in a folder, or, without one, appends them to a list.

    Writing and reading a folder takes as long as many a search.

    Parameters
    ----------
    ended
        With the outcomes of the immediate methods.
    """

    def amended(outcome: Outcome) -> Outcome:
        is_killed = outcome.exit_signal == signal.SIGKILL and outcome.status_detail != UNCHECKED
        if going.why_stopped and is_killed:
            detail = ended_because(going.why_stopped)
            return replace(outcome, status="timeout", status_detail=detail)
        return outcome

    def finished(planned: PlannedTask, outcome: Outcome) -> None:
        going.finished(planned, outcome)
        if going.is_proven and going.running and not going.why_stopped:
            going.stop(PROVEN)
            end_running_methods()

    if directory is None:
        content = canonical_json(source.instance.to_json()).encode()
        yield InstanceRun(lambda sha256: content, ended.extend, finished, amended)
        return
    # Takes long to import.
    from boundmark.benchmarks.runner import storing

    with storing(source, directory, finished, amended) as run:
        run.take(ended)
        yield run


def _store(
    source: NamedInstance, directory: Path, ended: Sequence[tuple[PlannedTask, Outcome]]
) -> None:
    """Store outcomes that were kept in memory."""
    from boundmark.benchmarks.runner import storing

    with storing(source, directory, lambda planned, outcome: None) as run:
        run.take(ended)


def _run(
    going: MethodRounds,
    source: NamedInstance,
    run: InstanceRun,
    options: SolvingOptions,
    quiet: bool,
) -> None:
    """Run all methods that are not immediate, unless the optimum is proven."""
    if going.is_proven or going.why_stopped or not going.to_come:
        return
    console = progress_console(quiet)
    compile_kernels(console, source.instance.problem)
    # No more processes than there are methods to run in them.
    workers = min(options.workers, sum(map(len, going.to_come)))
    engine = local_engine(workers, checks_beside=True)
    engine.start(source.instance.problem, going.to_come[0])
    with closing(engine), live_lines(console, going):
        run.on_engine(engine, going.tasks(), lambda: going.stop("an outcome could not be stored"))


def _answer(
    source: NamedInstance,
    ended: Sequence[tuple[PlannedTask, Outcome]],
    immediate: Collection[str],
    seconds: float,
) -> Answer:
    """Return the best of what was kept in memory, with its documents as they would be stored.

    By the rules of `stored_answer`.
    """
    outcomes = [outcome for _, outcome in ended]
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
    latest = {one.task.method: one for one in outcomes}
    failed = (
        one
        for name, one in latest.items()
        if one.status != "ok"
        and one.status_detail != ended_because(PROVEN)
        and not (name in immediate and one.status in UNSUITABLE)
    )
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


def _with_given(answer: Answer, given: "GivenSolution") -> Answer:
    """Return the answer with the user's solution where nothing better was found."""
    if answer.objective is not None and answer.objective < given.objective:
        return answer
    return replace(answer, objective=given.objective, solution=dict(given.document), method=GIVEN)


def _costs(given: "GivenSolution | None", known: KnownResults | None) -> list[int]:
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
