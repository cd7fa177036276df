"""The reference task is timed between tasks of this machine, now and then."""

import platform
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from boundmark.benchmarks.running import runner
from boundmark.benchmarks.running.runner import MachineSpeed
from boundmark.reports.stored.run_records import reference_seconds
from boundmark.reports.stored.store import ResultStore


def outcome(host: str) -> Any:
    """Return what an engine says of a task of some host, as far as it matters here."""
    return SimpleNamespace(environment={"host": host})


def test_only_tasks_of_this_machine_are_followed(tmp_path: Path) -> None:
    """Those of others say nothing about it; right after one measurement there is no other."""
    store = ResultStore.create_or_open(tmp_path)
    speed = MachineSpeed(store)
    speed.after(outcome("somewhere else"))
    assert reference_seconds(store) == ()
    for _ in range(3):
        speed.after(outcome(platform.node()))
    assert len(reference_seconds(store)) == 1


def test_measurements_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the time between them has passed, there is one more, after those before."""
    times = iter([0.25, 0.5])
    monkeypatch.setattr(runner, "reference_seconds", lambda: next(times))
    store = ResultStore.create_or_open(tmp_path)
    speed = MachineSpeed(store, seconds_between=0.0)
    for _ in range(2):
        speed.after(outcome(platform.node()))
    assert reference_seconds(store) == (0.25, 0.5)


def test_the_reference_task_takes_time() -> None:
    """Of the CPU, in seconds."""
    assert runner.reference_seconds() > 0
