"""Solve one instance: run its methods and return the best solution and certified bound."""

import signal
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from boundmark.benchmarks.library.known import KnownResults, known_results
from boundmark.benchmarks.running.execution.task import Outcome, Task
from boundmark.benchmarks.running.planning import NamedInstance, PlannedTask
from boundmark.benchmarks.solving.answer import GIVEN, LIBRARY, UNSUITABLE, Answer, warnings_about
from boundmark.benchmarks.solving.ending import (
    INTERRUPTIONS,
    PROVEN,
    TimeIsUpError,
    WallClock,
    end_running_methods,
    ended_because,
    ending_gently,
    reason_of,
)
from boundmark.benchmarks.solving.presentation import presentation_of
from boundmark.benchmarks.solving.rounds import MethodPlan, Rounds, SolvingOptions
from boundmark.problems.catalog import methods, problems
from boundmark.problems.errors import find
from boundmark.problems.json_documents import canonical_json
from boundmark.reports.stored.statuses import is_refuted

# What runs methods is imported where it is used: an optimum that the library has needs none of it.
if TYPE_CHECKING:
    import pandas as pd

    from boundmark.benchmarks.solving.grading import GivenSolution

COMPILING = "loading methods; once after installation, kernels compile for up to half a minute ..."

Ended: TypeAlias = list[tuple[PlannedTask, Outcome]]


def solve(
    source: NamedInstance,
    options: SolvingOptions,
    plan: MethodPlan | None = None,
    given: "GivenSolution | None" = None,
) -> tuple[Answer, Path | None]:
    """Run methods on an instance; return the best verified results and the folder that has them.

    Nothing is run if the library has the optimum and its proof, and neither methods nor a folder
    are asked for. Else immediate methods come first, in this process, so that there is an answer
    whatever else the machine does. If they do not prove an optimum, processes for the others are
    started, and the methods of a round imported before it begins, with the kernels that have to be
    compiled. The clock stands still meanwhile: how long that takes says nothing about the instance,
    nor does what came before the search.

    Methods that still run when the optimum is proven are ended. Ctrl-C ends all that run; what they
    have found by then counts.

    Parameters
    ----------
    plan
        The methods; None for those that the options name, or else the problem's default ones.
    given
        A solution that the user has, which is as good as one that a method has found.
    """
    arranged = presentation_of(source.instance.problem).arranged
    clock = WallClock(options.settings.time_limit_seconds)
    known = None
    if options.library is not None:
        known = known_results(options.library, source.instance, clock.seconds)
    if known is not None and given is None and options.out is None and not options.methods:
        settled = known.settles(source, clock.spent())
        if settled is not None:
            return arranged(settled, options.use_fewer), None
    folder = options.out
    plan = plan or MethodPlan.of(problems()[source.instance.problem], options.methods)
    rounds = _rounds(source, plan, options, clock, given, known)
    ended: Ended = []
    unchecked = ""
    try:
        with ending_gently(rounds.stop) as set_clock:
            rounds.on_begin = set_clock
            _run_immediate(rounds, source, ended)
            with _keeping(source, folder, ended) as keep:
                _run_others(rounds, source, options, keep)
    except TimeIsUpError:
        unchecked = "what it found was not checked, because the time was up"
    except KeyboardInterrupt as error:
        rounds.stop(reason_of(error))
        unchecked = f"what it found was not checked, because {reason_of(error)}"
    is_interrupted = rounds.why_stopped in INTERRUPTIONS
    if folder is not None:
        results = _stored_results(source, folder, rounds.tried)
    else:
        results = [_Result.of_outcome(outcome) for _, outcome in ended]
        if is_interrupted and options.keeps_interrupted:
            folder = Path(tempfile.mkdtemp(prefix="boundmark-"))
            with _keeping(source, folder, ended):
                pass
    answer = _best(source, results, rounds.on_trial, options.methods, rounds.clock.spent())
    answer = replace(answer, compile_seconds=rounds.compile_seconds)
    answer = _with_given(answer, given) if given else answer
    answer = _with_known(answer, known) if known else answer
    answer = _with_claims(answer, results)
    unfinished = [f"{name}: not run, because {why}" for name, why in rounds.not_run()]
    if unchecked:
        unfinished += [f"{name}: {unchecked}" for name in rounds.running]
    failures = (*answer.failures, *unfinished)
    answer = replace(answer, failures=failures, interrupted=is_interrupted)
    return arranged(answer, options.use_fewer), folder


def _rounds(
    source: NamedInstance,
    plan: MethodPlan,
    options: SolvingOptions,
    clock: WallClock,
    given: "GivenSolution | None",
    known: KnownResults | None,
) -> Rounds:
    """Return the methods of a search, with what is known before it begins."""
    stored = None
    if options.out is not None:
        from boundmark.reports.stored.store import ResultStore

        stored = ResultStore.create_or_open(options.out).results()
        stored = stored[stored["instance_sha256"] == source.instance.sha256]
    costs = [one.objective for one in (given, known) if one and one.objective is not None]
    return Rounds(
        source,
        plan,
        options,
        clock,
        stored=stored,
        target=min(costs, default=None),
        floor=known.bound if known else None,
    )


def _run_immediate(rounds: Rounds, source: NamedInstance, ended: Ended) -> None:
    """Run the immediate methods in this process, and append their outcomes."""
    from boundmark.benchmarks.running.execution.in_process import run_here

    for planned in rounds.immediate_tasks():
        method = find("method", planned.task.method, methods(planned.task.problem))
        ended.append((planned, run_here(planned.task, method, source.instance)))
        rounds.finished(*ended[-1])


@contextmanager
def _keeping(
    source: NamedInstance, folder: Path | None, ended: Ended
) -> Iterator[Callable[[Ended], None]]:
    """Yield what keeps outcomes, in a folder that gets those given, too, or in the list of these.

    Writing and reading a folder takes as long as many a search.
    """
    if folder is None:
        yield ended.extend
        return
    from boundmark.benchmarks.running.storing import storing

    with storing(source, folder) as keep:
        for item in ended:
            keep([item])
        yield keep


def _run_others(
    rounds: Rounds,
    source: NamedInstance,
    options: SolvingOptions,
    keep: Callable[[Ended], None],
) -> None:
    """Run all methods that are not immediate, unless the optimum is proven."""
    if rounds.is_proven or rounds.why_stopped or not rounds.to_come:
        return
    from boundmark.benchmarks.running.execution.engine import LocalEngine
    from boundmark.benchmarks.running.progress import live_lines, progress_console, told_if_long

    console = progress_console(options.quiet)
    # No more processes than there are methods to run in them.
    workers = min(options.workers, sum(map(len, rounds.to_come)))
    engine = LocalEngine(workers, checking_seconds=rounds.clock.checking_seconds)

    def import_methods(names: Sequence[str]) -> float:
        with told_if_long(console, COMPILING):
            return engine.import_methods(source.instance.problem, names)

    rounds.import_methods = import_methods
    content = canonical_json(source.instance.to_json()).encode()
    by_id: dict[str, PlannedTask] = {}

    def tasks() -> Iterator[Task]:
        for planned in rounds.tasks():
            by_id[planned.task.task_id] = planned
            yield planned.task

    def on_outcomes(outcomes: Sequence[Outcome]) -> None:
        try:
            items = [(by_id[one.task.task_id], _amended(one, rounds)) for one in outcomes]
            keep(items)
            for item in items:
                rounds.finished(*item)
                if rounds.is_proven and rounds.running and not rounds.why_stopped:
                    rounds.stop(PROVEN)
                    end_running_methods()
        except BaseException:
            # The tasks must come to their end.
            rounds.stop("an outcome could not be stored")
            raise

    with closing(engine), live_lines(console, rounds):
        engine.run(tasks(), lambda sha256: content, on_outcomes)


def _amended(outcome: Outcome, rounds: Rounds) -> Outcome:
    """Return an outcome with the reason why its method was killed, which only the search knows."""
    from boundmark.benchmarks.running.execution.fork_server import UNCHECKED

    is_killed = outcome.exit_signal == signal.SIGKILL and outcome.status_detail != UNCHECKED
    if rounds.why_stopped and is_killed:
        detail = ended_because(rounds.why_stopped)
        return replace(outcome, status="timeout", status_detail=detail)
    return outcome


@dataclass(frozen=True)
class _Result:
    """The part of an ended task that answers need, be it kept in memory or stored."""

    method: str
    status: str
    detail: str
    objective: int | None
    bound: int | None
    claimed: float | None
    bound_kind: str | None
    wall_seconds: float
    solution: Callable[[], dict[str, Any] | None]
    certificate: Callable[[], dict[str, Any] | None]

    @property
    def found_nothing(self) -> bool:
        """Whether there is neither a solution nor a bound of any sort."""
        return self.objective is self.bound is self.claimed is None

    @classmethod
    def of_outcome(cls, outcome: Outcome) -> "_Result":
        """Return the result of a task that this process has run."""
        return cls(
            outcome.task.method,
            outcome.status,
            outcome.status_detail,
            outcome.objective,
            outcome.bound_certified,
            outcome.bound_claimed,
            outcome.bound_kind,
            outcome.wall_seconds,
            outcome.stored_solution,
            outcome.stored_certificate,
        )

    @classmethod
    def of_row(cls, row: "pd.Series[Any]", folder: Path) -> "_Result":
        """Return the result that a row of a folder states; its documents are read when needed."""
        from boundmark.bounds import checker
        from boundmark.reports.stored.store import read_document

        known = row.dropna()
        certificate = folder / "certificates" / f"{row['certificate_sha256']}.json"
        return cls(
            str(row["method"]),
            str(row["status"]),
            str(row["status_detail"]),
            int(known["objective"]) if "objective" in known else None,
            int(known["bound_certified"]) if "bound_certified" in known else None,
            float(known["bound_claimed"]) if "bound_claimed" in known else None,
            str(known["bound_kind"]) if "bound_kind" in known else None,
            float(row["wall_seconds"]),
            lambda: read_document(folder / "solutions", str(row["solution_sha256"])),
            lambda: checker.read_document(certificate),
        )


def _stored_results(source: NamedInstance, folder: Path, tried: Collection[str]) -> list[_Result]:
    """Return what a folder has of some methods about an instance, in the order of their starts."""
    from boundmark.reports.stored.store import ResultStore

    rows = ResultStore.open(folder).results()
    rows = rows[(rows["instance_sha256"] == source.instance.sha256) & rows["method"].isin(tried)]
    return [_Result.of_row(row, folder) for _, row in rows.sort_values("started_at").iterrows()]


def _best(
    source: NamedInstance,
    results: Sequence[_Result],
    on_trial: Collection[str],
    asked: Collection[str],
    seconds: float,
) -> Answer:
    """Return the best of some results, by the rule of `reports.tables.rows.best_rows`."""
    is_empty = all(one.found_nothing for one in results)
    solved = min(
        (one for one in results if one.objective is not None),
        key=lambda one: (one.objective, one.wall_seconds, one.method),
        default=None,
    )
    bounded = min(
        (one for one in results if one.bound is not None),
        key=lambda one: (-(one.bound or 0), one.wall_seconds, one.method),
        default=None,
    )
    notes = []
    for one in {one.method: one for one in results}.values():
        is_unsuitable = solved and one.method in on_trial and one.status in UNSUITABLE
        if one.status == "ok":
            if one.found_nothing and (is_empty or one.method in asked):
                notes.append(
                    f"{one.method}: ran for {one.wall_seconds:.1f} s and reported neither a "
                    "solution nor a bound"
                )
        elif is_empty or not (is_unsuitable or one.detail == ended_because(PROVEN)):
            notes.append(f"{one.method}: {one.status}: {one.detail}")
    return Answer(
        source=source,
        objective=solved.objective if solved else None,
        certified_bound=bounded.bound if bounded else None,
        solution=solved.solution() if solved else None,
        certificate=bounded.certificate() if bounded else None,
        method=solved.method if solved else None,
        bound_method=bounded.method if bounded else None,
        seconds=seconds,
        failures=tuple(notes),
        warnings=warnings_about(source),
    )


def _with_given(answer: Answer, given: "GivenSolution") -> Answer:
    """Return the answer with the user's solution where nothing better was found."""
    if answer.objective is not None and answer.objective < given.objective:
        return answer
    return replace(answer, objective=given.objective, solution=dict(given.document), method=GIVEN)


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


def _with_claims(answer: Answer, results: Sequence[_Result]) -> Answer:
    """Return the answer with the best bound that is not certified, and notes on wrong ones.

    As in reports, a bound above the answer's cost, which is verified, is left out.
    """
    cost = answer.objective
    claims = [(one.claimed, one) for one in results if one.claimed is not None]
    refuted = [(b, one) for b, one in claims if cost is not None and is_refuted(b, cost)]
    tenable = [b for b, one in claims if (b, one) not in refuted]
    wrong = [
        f"{one.method}: its bound of {bound:,.3f} is above a verified cost of "
        f"{cost:,}, so it is wrong and left out"
        for bound, one in refuted
        # Else its status says so.
        if one.objective is None or not is_refuted(bound, one.objective)
    ]
    return replace(
        answer,
        claimed_bound=max(tenable, default=None),
        failures=(*answer.failures, *wrong),
    )
