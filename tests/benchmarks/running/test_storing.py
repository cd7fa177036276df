"""What a run stores of tasks that ended."""

import datetime as dt
import json
from pathlib import Path

import pytest

from boundmark.benchmarks.running.execution.task import Outcome
from boundmark.benchmarks.running.planning import PlannedTask, plan_tasks
from boundmark.benchmarks.running.settings import RunSettings
from boundmark.benchmarks.running.storing import RowWriter
from boundmark.benchmarks.solving.model import named_instance
from boundmark.benchmarks.solving.own_method import method_choice
from boundmark.problems.errors import StoreError
from boundmark.reports.stored.store import ResultStore

TASKS = 20


@pytest.fixture
def planned() -> list[PlannedTask]:
    """Return tasks of one instance that differ in their seed."""
    source = named_instance("regal-style/erdos-renyi-1", {"k": "4"}, "pipeline")
    settings = RunSettings.checked(
        time_limit_seconds=5, memory_limit_gib=1, seeds=tuple(range(TASKS))
    )
    return list(plan_tasks("test", [source], [method_choice("random-1")], settings))


def outcome(planned: PlannedTask, host: str = "here") -> Outcome:
    """Return how a task ended; every other one with the same solution."""
    document = {"objective": 7, "seed": planned.task.seed % 2}
    return Outcome(
        task=planned.task,
        status="ok",
        status_detail="",
        exit_code=0,
        exit_signal=None,
        stderr_tail="",
        wall_seconds=1.0,
        cpu_seconds=1.0,
        peak_rss_bytes=1,
        started_at=dt.datetime.now(dt.UTC).isoformat(),
        events=(),
        solution=json.dumps(document).encode(),
        objective=7,
        certificate=None,
        bound_certified=None,
        bound_claimed=None,
        bound_kind=None,
        verify_seconds=0.0,
        environment={"host": host},
    )


@pytest.mark.parametrize("at_a_time", [1, TASKS])
def test_all_that_ended_is_stored(
    tmp_path: Path, planned: list[PlannedTask], at_a_time: int
) -> None:
    """However many are stored together, each has its row, and the row its documents."""
    store = ResultStore.create_or_open(tmp_path)
    writer = RowWriter(store)
    for first in range(0, TASKS, at_a_time):
        writer.write([(item, outcome(item)) for item in planned[first : first + at_a_time]])
    rows = store.results()
    assert set(rows["task_id"]) == {item.task.task_id for item in planned}
    stored = {path.stem for path in store.solutions.iterdir()}
    assert set(rows["solution_sha256"]) == stored
    assert len(stored) == 2
    assert not list(tmp_path.rglob("*.part"))


def test_what_cannot_be_stored_is_told_and_the_others_are_stored(
    tmp_path: Path, planned: list[PlannedTask]
) -> None:
    """One folder that is in the way costs one task, and the run learns of it."""
    store = ResultStore.create_or_open(tmp_path)
    (tmp_path / "results" / f"{planned[3].task.task_id}.parquet").mkdir()
    with pytest.raises(StoreError, match="cannot be written"):
        RowWriter(store).write([(item, outcome(item)) for item in planned])
    assert len(store.results()) == TASKS - 1
