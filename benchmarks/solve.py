"""One instance: the best solution and the best certified bound that the methods find."""

import signal
from collections.abc import Collection
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from boundmark.benchmarks.answer import GIVEN, LIBRARY, Answer, warnings_about
from boundmark.benchmarks.engines import local_engine
from boundmark.benchmarks.execution.task import Outcome
from boundmark.benchmarks.grading.given_solution import GivenSolution
from boundmark.benchmarks.interruption import (
    INTERRUPT,
    PROVEN,
    TimeIsUpError,
    end_running_methods,
    ending_gently,
)
from boundmark.benchmarks.kernels import compile_kernels
from boundmark.benchmarks.library.known import KnownResults
from boundmark.benchmarks.method_rounds import MethodRounds, SolvingOptions
from boundmark.benchmarks.planning import PlannedTask
from boundmark.benchmarks.progress import live_lines
from boundmark.benchmarks.runner import storing
from boundmark.benchmarks.suite import NamedInstance
from boundmark.bounds import checker
from boundmark.reports.stored.documents import read_document
from boundmark.reports.stored.store import ResultStore
from boundmark.reports.tables.rows import best_rows

if TYPE_CHECKING:
    from rich.console import Console


def solve(
    source: NamedInstance,
    options: SolvingOptions,
    directory: Path,
    *,
    given: GivenSolution | None = None,
    known: KnownResults | None = None,
    console: "Console | None" = None,
) -> Answer:
    """Run methods on an instance and return the best of what was verified.

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
    console
        Where progress is shown; None for nowhere.
    """
    stored = ResultStore.create_or_open(directory).results()
    going = MethodRounds(
        source,
        options,
        stored=stored[stored["instance_sha256"] == source.instance.sha256],
        target=min(_costs(given, known), default=None),
        floor=known.bound if known else None,
    )
    late = _run(going, source, directory, options, console)
    rows = ResultStore.open(directory).results()
    rows = rows[
        (rows["instance_sha256"] == source.instance.sha256) & rows["method"].isin(going.tried)
    ]
    tried_first = [choice.method.name for choice in options.plan.immediate]
    answer = _best(source, rows, directory, going.clock.spent(), given, tried_first)
    answer = _with_known(answer, known) if known else answer
    unfinished = [f"{name}: not run, because {why}" for name, why in going.not_run()]
    if late:
        unfinished += [f"{name}: {late}" for name in going.running]
    return replace(
        answer,
        failures=(*answer.failures, *unfinished),
        interrupted=going.why_stopped == INTERRUPT,
    )


def _run(
    going: MethodRounds,
    source: NamedInstance,
    directory: Path,
    options: SolvingOptions,
    console: "Console | None",
) -> str:
    """Run all methods; return why results were left unchecked, empty if none were."""

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

    try:
        with (
            ending_gently(going.stop) as set_clock,
            storing(source, directory, finished, amended) as run,
        ):
            going.on_begin = set_clock
            run.here(going.immediate_tasks())
            if going.is_proven or going.why_stopped or not going.to_come:
                return ""
            shown: AbstractContextManager[None] = nullcontext()
            if console is not None:
                compile_kernels(console, source.instance.problem)
                shown = live_lines(console, going)
            # No more processes than there are methods to run in them.
            engine = local_engine(min(options.workers, sum(map(len, going.to_come))))
            engine.start(source.instance.problem, going.to_come[0])
            with closing(engine), shown:
                run.on_engine(
                    engine, going.tasks(), lambda: going.stop("an outcome could not be stored")
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
    tried_first: Collection[str],
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
        failures=_failures(rows, tried_first),
        warnings=warnings_about(source),
    )


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
    """Return a sentence for each method whose latest attempt did not end well.

    That an immediate method does not suit an instance is no failure: it is tried on all.
    """
    latest = rows.sort_values("started_at").drop_duplicates("method", keep="last")
    is_unsuitable = latest["status"].isin(("unsupported", "timeout"))
    latest = latest[~(latest["method"].isin(tried_first) & is_unsuitable)]
    is_failed = (latest["status"] != "ok") & (latest["status_detail"] != _ended_because(PROVEN))
    failed = latest[is_failed]
    return tuple(
        f"{row['method']}: {row['status']}: {row['status_detail']}" for _, row in failed.iterrows()
    )
