"""Tasks in the calling process: judged by the checker like all others, whatever a method does."""

import gc
import inspect
import json
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from chains import chain

from boundmark.benchmarks.running.execution.child_process import describe_error
from boundmark.benchmarks.running.execution.in_process import run_here
from boundmark.benchmarks.running.execution.task import Outcome, Task
from boundmark.problems.certificate import Certificate, Claim
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Deferred, Method, Progress
from boundmark.problems.pipeline import Partition, PipelineInstance

MakeTask = Callable[..., Task]
Act = Callable[[Any, Progress], None]


def everything_in_one_stage(instance: PipelineInstance) -> Partition:
    """Return a partition of cost 21."""
    return Partition(np.zeros(instance.nodes, dtype=np.int64))


def largest_work(instance: PipelineInstance, excess: int = 0) -> Certificate:
    """Return a certificate of 6, which is right, and what is added, which is not."""
    work = instance.graph.work
    node = int(work.argmax())
    return Certificate.of(instance, "max-work/1", int(work[node]) + excess, {"node": node}, "act")


@pytest.fixture
def run(make_task: MakeTask) -> Callable[[Act], Outcome]:
    """Return a function that runs a method which only reports, on a path of six nodes."""

    def run(act: Act) -> Outcome:
        def method(instance: Any, budget: Budget, seed: int, progress: Progress) -> None:
            act(instance, progress)

        about = Method("act", "pipeline", "heuristic", "Acts.", method)
        return run_here(make_task("act"), about, chain(6, 2))

    return run


def test_what_is_right_counts(run: Callable[[Act], Outcome]) -> None:
    """The best solution, certificate and claim, verified, with all that a row needs."""

    def act(instance: Any, progress: Progress) -> None:
        progress.bound(largest_work(instance, -1))
        progress.solution(everything_in_one_stage(instance))
        progress.bound(largest_work(instance))
        progress.bound(Claim("mean-work", 2.5))

    outcome = run(act)
    assert (outcome.status, outcome.exit_code, outcome.exit_signal) == ("ok", 0, None)
    assert (outcome.objective, outcome.bound_certified, outcome.bound_claimed) == (21, 6, 2.5)
    assert [event.kind for event in outcome.events] == [
        "bound_certified", "solution", "bound_certified", "bound_claimed",
    ]  # fmt: skip
    assert outcome.wall_seconds >= 0.0
    assert outcome.peak_rss_bytes > 2**20


def test_what_the_checker_rejects_does_not_count(run: Callable[[Act], Outcome]) -> None:
    """The next best certificate does."""

    def act(instance: Any, progress: Progress) -> None:
        progress.bound(largest_work(instance))
        progress.bound(largest_work(instance, 1))

    outcome = run(act)
    assert outcome.status == "error"
    assert outcome.status_detail.startswith("rejected: certificate of value 7")
    assert outcome.bound_certified == 6


def test_a_document_about_another_instance_does_not_count(run: Callable[[Act], Outcome]) -> None:
    """Although it is right there."""

    def act(instance: Any, progress: Progress) -> None:
        progress.bound(replace(largest_work(instance), instance_sha256="0" * 64))

    outcome = run(act)
    assert (outcome.status, outcome.bound_certified) == ("error", None)
    assert "about another instance" in outcome.status_detail


@pytest.mark.parametrize(
    ("error", "status", "detail"),
    [
        (UnsupportedError("it is too large"), "unsupported", "it is too large"),
        (ValueError("wrong"), "error", "ValueError: wrong (test_in_process.py, line "),
    ],
    ids=["unsupported", "error"],
)
def test_what_came_before_an_error_counts(
    run: Callable[[Act], Outcome], error: Exception, status: str, detail: str
) -> None:
    """As for a method in a process of its own."""

    def act(instance: Any, progress: Progress) -> None:
        progress.bound(largest_work(instance))
        raise error

    outcome = run(act)
    assert (outcome.status, outcome.exit_code, outcome.bound_certified) == (status, 1, 6)
    assert outcome.status_detail.startswith(detail)


def test_an_error_is_told_with_the_line_of_the_method(run: Callable[[Act], Outcome]) -> None:
    """Not with that of the library in which it arose."""

    def act(instance: Any, progress: Progress) -> None:
        json.loads("")

    line = inspect.getsourcelines(act)[1] + 1
    assert run(act).status_detail.endswith(f" (test_in_process.py, line {line})")


def test_a_module_that_cannot_be_imported_has_no_line() -> None:
    """The lines of what imports methods say nothing about it."""
    with pytest.raises(ModuleNotFoundError) as caught:
        Deferred("boundmark.not_there:run").load()
    # Without the frame of this test.
    caught.value.__traceback__ = caught.tb.tb_next
    assert describe_error(caught.value) == (
        "ModuleNotFoundError: No module named 'boundmark.not_there'"
    )


def test_a_method_that_never_returns_is_ended(make_task: MakeTask) -> None:
    """What it reported counts, and the signals of the process are as they were."""
    before = signal.getsignal(signal.SIGALRM)

    def never(instance: Any, budget: Budget, seed: int, progress: Progress) -> None:
        progress.bound(largest_work(instance))
        while True:
            try:
                time.sleep(0.01)
            except Exception:
                continue

    about = Method("act", "pipeline", "bound", "Never ends.", never)
    task = replace(make_task("act"), time_limit_seconds=0.1)
    outcome = run_here(task, about, chain(6, 2), grace_seconds=0.1)
    assert (outcome.status, outcome.exit_code, outcome.exit_signal) == ("timeout", None, None)
    assert outcome.status_detail == "ended after 0.2 s"
    assert outcome.bound_certified == 6
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_method_is_ended_though_a_finalizer_drops_the_error(make_task: MakeTask) -> None:
    """Python only prints what is raised in `__del__`, and the method would go on for ever."""
    dropped: list[float] = []

    class Slow:
        def __del__(self) -> None:
            dropped.append(time.monotonic())
            time.sleep(60.0)

    def never(instance: Any, budget: Budget, seed: int, progress: Progress) -> None:
        progress.bound(largest_work(instance))
        Slow()
        time.sleep(60.0)

    about = Method("act", "pipeline", "bound", "Never ends.", never)
    task = replace(make_task("act"), time_limit_seconds=0.1)
    outcome = run_here(task, about, chain(6, 2), grace_seconds=0.1)
    assert len(dropped) == 1
    assert outcome.status == "timeout"
    assert outcome.bound_certified == 6
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_method_is_ended_after_a_callback_of_the_garbage_collector(make_task: MakeTask) -> None:
    """Within it, Python would drop the error and print it."""

    def wait(phase: str, info: dict[str, int]) -> None:
        time.sleep(0.3)

    def never(instance: Any, budget: Budget, seed: int, progress: Progress) -> None:
        progress.bound(largest_work(instance))
        gc.callbacks.append(wait)
        try:
            gc.collect()
            time.sleep(60.0)
        finally:
            gc.callbacks.remove(wait)

    about = Method("act", "pipeline", "bound", "Never ends.", never)
    task = replace(make_task("act"), time_limit_seconds=0.1)
    outcome = run_here(task, about, chain(6, 2), grace_seconds=0.1)
    assert outcome.status == "timeout"
    assert outcome.bound_certified == 6


def test_a_method_is_ended_after_a_short_finalizer(make_task: MakeTask) -> None:
    """Within it, Python would drop the error and print it, which here is an error itself."""

    class Slow:
        def __del__(self) -> None:
            time.sleep(0.3)

    def never(instance: Any, budget: Budget, seed: int, progress: Progress) -> None:
        progress.bound(largest_work(instance))
        Slow()
        time.sleep(60.0)

    about = Method("act", "pipeline", "bound", "Never ends.", never)
    task = replace(make_task("act"), time_limit_seconds=0.1)
    outcome = run_here(task, about, chain(6, 2), grace_seconds=0.1)
    assert outcome.status == "timeout"


def test_a_timer_of_the_caller_goes_on(run: Callable[[Act], Outcome]) -> None:
    """With what is left of its time."""
    rung: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, frame: rung.append(number))
    try:
        signal.setitimer(signal.ITIMER_REAL, 60.0)
        assert run(lambda instance, progress: None).status == "ok"
        left, _ = signal.getitimer(signal.ITIMER_REAL)
        assert 0.0 < left <= 60.0
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        time.sleep(0.1)
        assert rung == [signal.SIGALRM]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def test_an_instance_that_the_method_changes_judges_as_before(
    run: Callable[[Act], Outcome],
) -> None:
    """A cost that is right for the changed instance only is rejected."""

    def act(instance: Any, progress: Progress) -> None:
        work = instance.graph.work.copy()
        work[:] = 1
        object.__setattr__(instance.graph, "work", work)
        progress.solution(everything_in_one_stage(instance))

    outcome = run(act)
    assert (outcome.status, outcome.objective) == ("error", None)
    assert outcome.status_detail.startswith("rejected: solution")


def test_an_instance_that_was_changed_before_is_no_instance(make_task: MakeTask) -> None:
    """It is not the one that the task names."""
    about = Method("act", "pipeline", "bound", "Acts.", lambda *arguments: None)
    outcome = run_here(make_task("act"), about, chain(7, 2))
    assert outcome.status == "error"
    assert outcome.status_detail == "the instance has been changed since the task was planned."


def test_a_method_that_cannot_run_is_a_row(make_task: MakeTask) -> None:
    """Whether it cannot be imported, lacks a package, is another version or ends the process."""

    def leaves(*arguments: Any) -> None:
        raise SystemExit(3)

    method = Method("act", "pipeline", "bound", "Acts.", leaves)
    wanting = {
        "SystemExit: 3": method,
        "needs no_such_module": replace(method, requires=("no_such_module",)),
        "has version 2": replace(method, version=2),
        "No module named": replace(method, run=Deferred("no_such_module:run")),
    }
    for detail, about in wanting.items():
        outcome = run_here(make_task("act"), about, chain(6, 2))
        assert outcome.status in ("error", "unsupported")
        assert detail in outcome.status_detail
