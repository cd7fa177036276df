"""What every engine promises, whatever happens to its tasks and to the runner."""

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from boundmark.benchmarks.running.execution.dask_engine import DaskEngine
from boundmark.benchmarks.running.execution.engine import ENGINES, Engine, LocalEngine
from boundmark.benchmarks.running.execution.task import Outcome, ReadInstance, Task
from boundmark.problems.errors import BoundmarkError

MakeTask = Callable[..., Task]
MakeEngine = Callable[..., Engine]
Eventually = Callable[[Callable[[], object]], None]
Marked = Callable[[str], list[int]]

METHODS = "faulty_methods:METHODS"


@pytest.fixture
def left_behind(monkeypatch: pytest.MonkeyPatch, marked: Marked) -> Callable[[], set[int]]:
    """Return a function that lists the living processes that this test started, at any depth."""
    monkeypatch.setenv("MARK", marker := f"left-behind-{os.getpid()}-{time.monotonic_ns()}")

    def find() -> set[int]:
        # Python starts a process of its own for multiprocessing, which ends with this one.
        return {
            pid
            for pid in set(marked(marker)) - {os.getpid()}
            if b"resource_tracker" not in command_line(pid)
        }

    return find


def command_line(pid: int) -> bytes:
    """Return the arguments of a process, none if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


@pytest.fixture(params=["local", pytest.param("dask", marks=pytest.mark.slow)])
def make_engine(request: pytest.FixtureRequest) -> MakeEngine:
    """Return a function that makes an engine of each kind."""
    assert request.param in ENGINES

    def make(workers: int, methods: str = METHODS) -> Engine:
        if request.param == "local":
            return LocalEngine(workers, methods)
        return DaskEngine(None, workers, methods)

    return make


@pytest.fixture
def read_instance(instances: dict[str, bytes]) -> ReadInstance:
    """Return what engines ask for the instances of tasks."""
    return lambda sha256: instances[sha256]


@pytest.mark.parametrize("workers", [1, 3])
def test_every_task_has_one_outcome(
    make_task: MakeTask,
    make_engine: MakeEngine,
    read_instance: ReadInstance,
    left_behind: Callable[[], set[int]],
    eventually: Eventually,
    workers: int,
) -> None:
    """Whatever happens to a task, there is one outcome, and the others go on."""
    methods = ["good", "segfaults", "no-op", "raises", "exits", "kills-itself", "good"]
    tasks = [make_task(method, seed=seed) for seed, method in enumerate(methods)]
    outcomes: list[Outcome] = []
    make_engine(workers).run(iter(tasks), read_instance, outcomes.extend)
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
    assert (by_seed[0].objective, by_seed[0].bound_certified) == (21, 6)
    eventually(lambda: not left_behind())


def test_no_tasks(make_engine: MakeEngine, read_instance: ReadInstance) -> None:
    """Nothing to do is done without an outcome."""
    make_engine(2).run([], read_instance, lambda ended: pytest.fail("an outcome of nothing"))


def test_tasks_run_side_by_side(
    make_task: MakeTask, make_engine: MakeEngine, read_instance: ReadInstance, tmp_path: Path
) -> None:
    """Two tasks that wait for each other both end if there are two workers."""
    params = {"folder": str(tmp_path), "others": 2}
    tasks = [make_task("meets", seed=seed, params=params) for seed in range(2)]
    outcomes: list[Outcome] = []
    make_engine(2).run(tasks, read_instance, outcomes.extend)
    assert [outcome.status for outcome in outcomes] == ["ok", "ok"]


def test_outcomes_come_in_the_calling_thread(
    make_task: MakeTask, make_engine: MakeEngine, read_instance: ReadInstance
) -> None:
    """What receives outcomes needs no lock."""
    threads = set()

    def keep(ended: Sequence[Outcome]) -> None:
        threads.add(threading.current_thread())

    tasks = [make_task("no-op", seed=seed) for seed in range(4)]
    make_engine(2).run(tasks, read_instance, keep)
    assert threads == {threading.current_thread()}


def test_outcomes_that_had_to_wait_come_together(
    make_task: MakeTask, read_instance: ReadInstance
) -> None:
    """While one is stored others end; they are stored at once, in the order in which they ended."""
    calls: list[list[int]] = []

    def tasks() -> Iterator[Task]:
        for seed in range(6):
            yield make_task("no-op", seed=seed)
        # The one worker asks for another task: all outcomes are there.
        all_ended.set()

    def keep(ended: Sequence[Outcome]) -> None:
        all_ended.wait()
        calls.append([outcome.task.seed for outcome in ended])

    all_ended = threading.Event()
    LocalEngine(1, METHODS).run(tasks(), read_instance, keep)
    assert len(calls) <= 2
    assert list(itertools.chain.from_iterable(calls)) == list(range(6))


def test_an_exception_of_the_receiver_stops_the_run(
    make_task: MakeTask,
    make_engine: MakeEngine,
    read_instance: ReadInstance,
    left_behind: Callable[[], set[int]],
    eventually: Eventually,
) -> None:
    """If outcomes cannot be stored, no further one is produced; running tasks are killed."""
    seen = []

    def fail(ended: Sequence[Outcome]) -> None:
        seen.extend(outcome.task.seed for outcome in ended)
        raise OSError("no space left on device")

    tasks = (make_task("hangs" if seed else "no-op", seed=seed) for seed in range(10))
    with pytest.raises(OSError, match="no space left"):
        make_engine(2).run(tasks, read_instance, fail)
    assert seen == [0]
    eventually(lambda: not left_behind())


def test_what_was_accepted_before_an_exception_is_kept(
    make_task: MakeTask, read_instance: ReadInstance, checked_beside: Iterator[float]
) -> None:
    """If the time is up, solutions and bounds of running tasks count as far as they are checked."""
    received: list[Outcome] = []

    def tasks(seconds: float) -> Iterator[Task]:
        yield make_task("hangs")
        time.sleep(seconds)
        raise RuntimeError("the time is up")

    for seconds in checked_beside:
        received.clear()
        engine = LocalEngine(2, METHODS, checking_seconds=10.0)
        with pytest.raises(RuntimeError, match="the time is up"):
            engine.run(tasks(seconds), read_instance, received.extend)
        if any(outcome.objective is not None for outcome in received):
            break
    assert [outcome.objective for outcome in received] == [21]


def test_an_exception_of_the_tasks_stops_the_run(
    make_task: MakeTask,
    make_engine: MakeEngine,
    read_instance: ReadInstance,
    left_behind: Callable[[], set[int]],
    eventually: Eventually,
) -> None:
    """Tasks may be made on demand, and that may fail."""

    def tasks() -> Iterator[Task]:
        yield make_task("hangs")
        raise BoundmarkError("instance 7 cannot be built.")

    with pytest.raises(BoundmarkError, match="instance 7"):
        make_engine(2).run(tasks(), read_instance, lambda ended: None)
    eventually(lambda: not left_behind())


def test_an_instance_that_cannot_be_read_stops_the_run(
    make_task: MakeTask, make_engine: MakeEngine
) -> None:
    """A damaged results folder is no task's fault."""

    def read_instance(sha256: str) -> bytes:
        raise BoundmarkError(f"{sha256}.json was changed.")

    with pytest.raises(BoundmarkError, match="was changed"):
        make_engine(2).run([make_task("good")], read_instance, lambda ended: None)


def test_methods_that_cannot_be_imported_stop_the_run(
    make_task: MakeTask, make_engine: MakeEngine, read_instance: ReadInstance
) -> None:
    """One sentence instead of a thousand failed tasks."""
    tasks = [make_task("good", seed=seed) for seed in range(100)]
    engine = make_engine(2, "no_such_module:METHODS")
    with pytest.raises(BoundmarkError, match="cannot start"):
        engine.run(tasks, read_instance, lambda ended: None)


# Under a shell's background job, Ctrl-C would be ignored from the start.
RUNNER = """
import json, signal, sys
from boundmark.benchmarks.running.execution.dask_engine import DaskEngine
from boundmark.benchmarks.running.execution.engine import LocalEngine
from boundmark.benchmarks.running.execution.task import Task

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    name, tasks, instance = sys.argv[1:]
    methods = "faulty_methods:METHODS"
    engine = LocalEngine(2, methods) if name == "local" else DaskEngine(None, 2, methods)
    engine.run(
        [Task.from_json(value) for value in json.loads(tasks)],
        lambda sha256: instance.encode(),
        lambda ended: print(*(outcome.status for outcome in ended), sep="\\n", flush=True),
    )
"""


@pytest.fixture(params=["local", pytest.param("dask", marks=pytest.mark.slow)])
def runner(
    make_task: MakeTask,
    instances: dict[str, bytes],
    left_behind: Callable[[], set[int]],
    eventually: Eventually,
    request: pytest.FixtureRequest,
    tmp_path: Path,
) -> Iterator[subprocess.Popen[str]]:
    """Return another process in the middle of a run: one task done, two with children of theirs."""
    methods = ["no-op", "hangs-with-grandchildren", "hangs-with-grandchildren"]
    tasks = [make_task(method, seed=seed) for seed, method in enumerate(methods)]
    script = tmp_path / "runner.py"
    script.write_text(RUNNER)
    process = subprocess.Popen(
        [
            sys.executable,
            script,
            request.param,
            json.dumps([task.to_json() for task in tasks]),
            instances[tasks[0].instance_sha256].decode(),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )

    def sleepers() -> list[int]:
        return [pid for pid in left_behind() if b"time.sleep(1000)" in command_line(pid)]

    # Two of each of the two tasks.
    eventually(lambda: len(sleepers()) == 4)
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
