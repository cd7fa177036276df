"""The reference task is timed between tasks of this machine, now and then."""

import platform
from pathlib import Path
from types import SimpleNamespace
from typing import Any

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


def test_measurements_go_on(tmp_path: Path) -> None:
    """When the time between them has passed, there is one more, after those before."""
    store = ResultStore.create_or_open(tmp_path)
    speed = MachineSpeed(store, seconds_between=0.0)
    speed.after(outcome(platform.node()))
    first = reference_seconds(store)
    speed.after(outcome(platform.node()))
    both = reference_seconds(store)
    assert (len(first), len(both)) == (1, 2)
    assert both[:1] == first
    assert min(both) > 0
