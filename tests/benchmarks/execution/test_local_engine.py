import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from boundmark.benchmarks.execution.local_engine import run_tasks
from boundmark.benchmarks.execution.task import Outcome, Task
from boundmark.problems.errors import BoundmarkError

MakeTask = Callable[..., Task]
Eventually = Callable[[Callable[[], object]], None]
Marked = Callable[[str], list[int]]

METHODS = "faulty_methods:METHODS"


@pytest.fixture
def left_behind(monkeypatch: pytest.MonkeyPatch, marked: Marked) -> Callable[[], set[int]]:
    """Return a function that lists the living processes that this test started, at any depth."""
    monkeypatch.setenv("MARK", marker := f"left-behind-{os.getpid()}-{time.monotonic_ns()}")
    return lambda: set(marked(marker)) - {os.getpid()}


@pytest.mark.parametrize("workers", [1, 3])
def test_every_task_has_one_outcome(
    make_task: MakeTask, left_behind: Callable[[], set[int]], workers: int
) -> None:
    """Whatever happens to a task, there is one outcome, and the others go on."""
    methods = ["good", "segfaults", "no-op", "raises", "exits", "kills-itself", "good"]
    tasks = [make_task(method, seed=seed) for seed, method in enumerate(methods)]
    outcomes: list[Outcome] = []
    run_tasks(iter(tasks), workers, outcomes.append, METHODS)
    by_seed = sorted(outcomes, key=lambda outcome: outcome.task.seed)
    assert [outcome.task for outcome in by_seed] == tasks
    assert [outcome.status for outcome in by_seed] == [
        "ok",
        "crashed",
        "ok",
        "error",
        "crashed",
        "crashed",
        "ok",
    ]
    assert left_behind() == set()


def test_no_tasks() -> None:
    """Nothing to do is done at once, without starting a process."""
    run_tasks([], 2, lambda outcome: pytest.fail("an outcome of nothing"))


def test_tasks_run_side_by_side(make_task: MakeTask, tmp_path: Path) -> None:
    """Two tasks that wait for each other both end if there are two workers."""
    params = {"folder": str(tmp_path), "others": 2}
    tasks = [make_task("meets", seed=seed, params=params) for seed in range(2)]
    outcomes: list[Outcome] = []
    run_tasks(tasks, 2, outcomes.append, METHODS)
    assert [outcome.status for outcome in outcomes] == ["ok", "ok"]


def test_outcomes_come_in_the_calling_thread(make_task: MakeTask) -> None:
    """What receives outcomes needs no lock."""
    threads = set()
    tasks = [make_task("no-op", seed=seed) for seed in range(4)]
    run_tasks(tasks, 2, lambda outcome: threads.add(threading.current_thread()), METHODS)
    assert threads == {threading.current_thread()}


def test_an_exception_of_the_receiver_stops_the_run(
    make_task: MakeTask, left_behind: Callable[[], set[int]]
) -> None:
    """If outcomes cannot be stored, no further one is produced; running tasks are killed."""
    seen = []

    def fail(outcome: Outcome) -> None:
        seen.append(outcome.task.seed)
        raise OSError("no space left on device")

    tasks = (make_task("hangs" if seed else "no-op", seed=seed) for seed in range(10))
    with pytest.raises(OSError, match="no space left"):
        run_tasks(tasks, 2, fail, METHODS)
    assert seen == [0]
    assert left_behind() == set()


def test_an_exception_of_the_tasks_stops_the_run(
    make_task: MakeTask, left_behind: Callable[[], set[int]]
) -> None:
    """Tasks may be made on demand, and that may fail."""

    def tasks() -> Iterator[Task]:
        yield make_task("hangs")
        raise BoundmarkError("instance 7 cannot be built.")

    with pytest.raises(BoundmarkError, match="instance 7"):
        run_tasks(tasks(), 2, lambda outcome: None, METHODS)
    assert left_behind() == set()


def test_methods_that_cannot_be_imported_stop_the_run(make_task: MakeTask) -> None:
    """One sentence instead of a thousand failed tasks."""
    with pytest.raises(BoundmarkError, match="cannot start"):
        run_tasks([make_task("good")] * 100, 2, lambda outcome: None, "no_such_module:METHODS")


# Under a shell's background job, Ctrl-C would be ignored from the start.
RUNNER = """
import json, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from boundmark.benchmarks.execution.local_engine import run_tasks
from boundmark.benchmarks.execution.task import Task
tasks = [Task.from_json(value) for value in json.loads(sys.argv[1])]
run_tasks(tasks, 2, lambda outcome: print(outcome.status, flush=True), "faulty_methods:METHODS")
"""


@pytest.fixture
def runner(
    make_task: MakeTask, left_behind: Callable[[], set[int]], eventually: Eventually
) -> Iterator[subprocess.Popen[str]]:
    """Return another process in the middle of a run: one task done, two with children of theirs."""
    methods = ["no-op", "hangs-with-grandchildren", "hangs-with-grandchildren"]
    tasks = [make_task(method, seed=seed).to_json() for seed, method in enumerate(methods)]
    process = subprocess.Popen(
        [sys.executable, "-c", RUNNER, json.dumps(tasks)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    # The runner; of each worker two servers, the task and its two children.
    eventually(lambda: len(left_behind()) == 1 + 2 * (2 + 3))
    yield process
    process.kill()
    process.communicate()


def test_nothing_survives_a_killed_runner(
    runner: subprocess.Popen[str], left_behind: Callable[[], set[int]], eventually: Eventually
) -> None:
    """After kill -9 of the runner, no process of the run is left, in whatever session it is."""
    runner.kill()
    stdout, _ = runner.communicate()
    assert stdout == "ok\n"
    eventually(lambda: not left_behind())


def test_ctrl_c_stops_the_run(
    runner: subprocess.Popen[str], left_behind: Callable[[], set[int]], eventually: Eventually
) -> None:
    """An interrupt kills the running tasks and ends the run without waiting for them."""
    runner.send_signal(signal.SIGINT)
    stdout, stderr = runner.communicate()
    assert stdout == "ok\n"
    assert stderr.splitlines()[-1] == "KeyboardInterrupt"
    assert runner.returncode == -signal.SIGINT
    eventually(lambda: not left_behind())
