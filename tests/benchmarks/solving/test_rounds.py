"""Rounds of methods: each gets its share of the time, and no method is run for nothing."""

import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from chains import chain

from boundmark.benchmarks.running.execution.in_process import run_here
from boundmark.benchmarks.running.planning import NamedInstance
from boundmark.benchmarks.running.settings import RunSettings
from boundmark.benchmarks.solving import ending
from boundmark.benchmarks.solving.ending import WallClock
from boundmark.benchmarks.solving.own_method import method_choice
from boundmark.benchmarks.solving.rounds import MethodPlan, Rounds, SolvingOptions
from boundmark.reports.stored.schema import RESULTS
from boundmark.reports.stored.statuses import Status

NOTHING = pd.DataFrame(columns=RESULTS.names)
NAMES = (("mean-work", "max-work", "fractional-load"), ("certify", "memetic"))


class StoppedClock(WallClock):
    """A clock on which no time passes."""

    def remaining(self) -> float:
        """Return all of the time, so that shares do not depend on how fast a test runs."""
        return self.seconds


def rounds(
    seconds: float = 100.0,
    stored: pd.DataFrame = NOTHING,
    started: float | None = None,
    **more: Any,
) -> Rounds:
    """Return two rounds of methods on a chain, with two at a time."""
    clock = StoppedClock(seconds) if started is None else WallClock(seconds, started)
    source = NamedInstance("file", "chain", chain(5, 2))
    plan = MethodPlan((), tuple(tuple(map(method_choice, names)) for names in NAMES))
    settings = RunSettings(seconds, 2**30)
    options = SolvingOptions(settings, 2)
    return Rounds(source, plan, options, clock, stored=stored, **more)


def test_shares_add_up() -> None:
    """Two at a time: the first round takes half of the time at most, the second the rest."""
    search = rounds()
    tasks = search.tasks()
    limits = []
    for _ in range(3):
        task = next(tasks).task
        limits.append(task.time_limit_seconds)
        search.take(task.method, None, None)
    # 10 s are kept for checks: half of what is left, in two waves.
    assert limits == pytest.approx([90 / 4, 90 / 2, 90 / 2])
    last = [next(tasks).task, next(tasks).task]
    assert [task.method for task in last] == ["certify", "memetic"]
    assert [task.time_limit_seconds for task in last] == pytest.approx([90, 90])
    assert next(tasks, None) is None


def test_a_round_waits_for_the_one_before() -> None:
    """The second round starts when the last method of the first has ended."""
    search = rounds()
    tasks = search.tasks()
    started = [next(tasks).task.method for _ in range(3)]
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.append(next(tasks).task.method))
    thread.start()
    for name in started[:2]:
        search.take(name, None, None)
    thread.join(0.2)
    assert thread.is_alive()
    search.take(started[2], None, None)
    thread.join()
    assert found == ["certify"]


def test_a_proof_ends_it() -> None:
    """No further round once the best solution is proven optimal; the user's own counts."""
    search = rounds(target=12)
    tasks = search.tasks()
    for bound in (11, 12, 7):
        search.take(next(tasks).task.method, 13, bound)
    assert search.is_proven
    assert next(tasks, None) is None


def test_the_clock_stands_still_while_methods_are_imported() -> None:
    """Before each round: its methods alone are imported, and the time that takes is nobody's."""
    search = rounds(started=time.monotonic())
    imported: list[list[str]] = []
    clocks: list[WallClock | None] = []

    def import_methods(names: Sequence[str]) -> float:
        imported.append(list(names))
        time.sleep(0.3)
        return 0.25

    search.import_methods = import_methods
    search.on_begin = clocks.append
    for one in search.tasks():
        search.take(one.task.method, None, None)
    assert imported == [list(names) for names in NAMES]
    assert search.compile_seconds == 0.5
    assert [clock is None for clock in clocks] == [True, False] * 2
    assert clocks[3] is not None
    assert clocks[3].started - clocks[1].started >= 0.3  # type: ignore[union-attr]


def test_nothing_starts_late() -> None:
    """When the time is up, the rest is left out, by name."""
    search = rounds(seconds=1e-9, started=time.monotonic())
    assert list(search.tasks()) == []
    names = ["mean-work", "max-work", "fractional-load", "certify", "memetic"]
    assert search.not_run() == [(name, "the time was up") for name in names]


@pytest.mark.parametrize(
    ("status", "seconds", "bound", "limits"),
    [
        ("timeout", 2.0, 1, {"max-work": 22.5, "mean-work": 45.0, "fractional-load": 90.0}),
        ("ok", 1.5, 1, {"mean-work": 45.0, "fractional-load": 90.0}),
        ("ok", 1.5, None, {"max-work": 22.5, "mean-work": 45.0, "fractional-load": 90.0}),
        ("ok", 0.1, None, {"fractional-load": 90.0}),
    ],
)
def test_immediate_methods_get_more_time_if_they_need_it(
    status: Status, seconds: float, bound: int | None, limits: dict[str, float]
) -> None:
    """In a round before all others; what has ended by itself is not run again."""
    immediate = (method_choice("max-work"), method_choice("mean-work"))
    plan = MethodPlan(immediate, ((method_choice("fractional-load"),),))
    search = Rounds(
        NamedInstance("file", "chain", chain(5, 2)),
        plan,
        SolvingOptions(RunSettings(100.0, 2**30), 1),
        StoppedClock(100.0),
        stored=NOTHING,
    )
    for planned in search.immediate_tasks():
        method = method_choice(planned.task.method).method
        outcome = run_here(planned.task, method, chain(5, 2))
        search.finished(
            planned,
            replace(outcome, status=status, wall_seconds=seconds, bound_certified=bound),
        )
    found = {}
    for one in search.tasks():
        found[one.task.method] = one.task.time_limit_seconds
        search.take(one.task.method, None, None)
    assert list(found.items()) == list(limits.items())


@pytest.mark.parametrize(
    ("seconds", "took", "left"), [(100.0, 30.0, 70.0), (1.0, 0.9, 1.0), (100.0, 500.0, None)]
)
def test_what_immediate_methods_take_counts_and_starting_processes_does_not(
    monkeypatch: pytest.MonkeyPatch, seconds: float, took: float, left: float | None
) -> None:
    """The others have what is left of the limit, all of a short one, from their first task on."""
    now = [1000.0]
    monkeypatch.setattr(ending, "time", SimpleNamespace(monotonic=lambda: now[0]))
    plan = MethodPlan((method_choice("max-work"),), ((method_choice("memetic"),),))
    settings, clock = RunSettings(seconds, 2**30), WallClock(seconds, now[0])
    options = SolvingOptions(settings, 1)
    source = NamedInstance("file", "chain", chain(5, 2))
    search = Rounds(source, plan, options, clock, stored=NOTHING)
    for _ in search.immediate_tasks():
        now[0] += took
    now[0] += 77.0
    tasks = [one.task for one in search.tasks()]
    if left is None:
        assert tasks == []
        assert search.not_run() == [("memetic", "the time was up")]
        return
    assert search.clock.end_at == pytest.approx(now[0] + left + ending.LATE_SECONDS)
    limit = left - clock.checking_seconds
    assert [one.time_limit_seconds for one in tasks] == [pytest.approx(limit)]


def test_stopping_wakes_who_waits() -> None:
    """Nobody waits for the end of a round after Ctrl-C."""
    search = rounds()
    tasks = search.tasks()
    for _ in range(3):
        next(tasks)
    ended: list[Any] = []
    thread = threading.Thread(target=lambda: ended.append(next(tasks, None)))
    thread.start()
    search.stop("Ctrl-C")
    thread.join(30)
    assert ended == [None]


@pytest.mark.parametrize(
    ("changes", "is_known"),
    [
        ({}, True),
        ({"wall_seconds": 20.0}, False),
        ({"wall_seconds": 195.0, "time_limit_seconds": 200.0}, True),
        ({"status": "timeout"}, False),
        ({"method_version": 999}, False),
        ({"seed": 2}, False),
        ({"memory_limit_bytes": 1}, False),
        ({"params": '{"x":1}'}, False),
    ],
)
def test_what_is_stored_is_not_run_again(changes: dict[str, Any], is_known: bool) -> None:
    """Unless a method was stopped with less time, or it was another task."""
    row = {
        "method": "mean-work", "method_version": method_choice("mean-work").method.version,
        "params": "{}", "seed": 1, "memory_limit_bytes": 2**30, "status": "ok",
        "wall_seconds": 0.1, "time_limit_seconds": 20.0, "objective": None, "bound_certified": 6,
    }  # fmt: skip
    stored = pd.DataFrame([{**row, **changes}])
    search = rounds(1000.0, stored)
    first = next(search.tasks()).task.method
    assert (first != "mean-work") == is_known
    assert search.bound == (6 if is_known else None)
