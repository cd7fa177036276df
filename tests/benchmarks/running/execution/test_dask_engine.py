"""What a cluster adds: workers elsewhere that may go at any moment, and a scheduler."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from boundmark.benchmarks.running.execution.dask_engine import DaskEngine, _Run
from boundmark.benchmarks.running.execution.task import Outcome, ReadInstance, Task
from boundmark.problems.errors import BoundmarkError

MakeTask = Callable[..., Task]
Eventually = Callable[[Callable[[], object]], None]
Marked = Callable[[str], list[int]]

# Workers of Dask take seconds to start.
pytestmark = pytest.mark.slow

METHODS = "faulty_methods:METHODS"


@dataclass
class Cluster:
    """A scheduler and its workers, each a process in a folder of its own."""

    address: str
    scheduler: subprocess.Popen[bytes]
    workers: list[subprocess.Popen[bytes]]


StartCluster = Callable[..., Cluster]


@pytest.fixture
def start_cluster(
    tmp_path: Path, eventually: Eventually, monkeypatch: pytest.MonkeyPatch
) -> Iterator[StartCluster]:
    """Return a function that starts a scheduler and some workers, as one does on several hosts."""
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str, *arguments: object) -> subprocess.Popen[bytes]:
        folder = tmp_path / name
        folder.mkdir()
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "dask", *map(str, arguments)],
                cwd=folder,
                stdout=log,
                stderr=log,
            )
        started.append(process)
        return process

    def start_all(workers: int, *options: str) -> Cluster:
        file = tmp_path / "scheduler.json"
        scheduler = start(
            "scheduler", "scheduler", "--host", "127.0.0.1", "--port", 0, "--no-dashboard",
            "--scheduler-file", file,
        )  # fmt: skip
        eventually(lambda: file.exists() and file.read_text().endswith("}"))
        address = json.loads(file.read_text())["address"]
        names = [f"worker-{number}" for number in range(workers)]
        # Without a nanny, a killed worker does not come back: as if its host had gone.
        found = [
            start(
                name, "worker", address, "--name", name, "--nthreads", 1, "--memory-limit", 0,
                "--no-nanny", "--no-dashboard", *options,
            )
            for name in names
        ]  # fmt: skip
        return Cluster(address, scheduler, found)

    yield start_all
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture
def read_instance(instances: dict[str, bytes]) -> ReadInstance:
    """Return what engines ask for the instances of tasks."""
    return lambda sha256: instances[sha256]


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_a_lost_worker_loses_nothing_and_repeats_only_what_it_was_running(
    start_cluster: StartCluster,
    make_task: MakeTask,
    read_instance: ReadInstance,
    tmp_path: Path,
    end: signal.Signals,
) -> None:
    """Whether a worker is killed or told to go, every task has one outcome, and a good one."""
    tasks = 30
    folder = tmp_path / "executions"
    folder.mkdir()
    cluster = start_cluster(2)
    outcomes: list[Outcome] = []

    def keep(ended: Sequence[Outcome]) -> None:
        before = len(outcomes)
        outcomes.extend(ended)
        if before < 10 <= len(outcomes):
            cluster.workers[0].send_signal(end)

    planned = [
        make_task("leaves-a-note", seed=seed, params={"folder": str(folder), "seconds": 0.1})
        for seed in range(tasks)
    ]
    DaskEngine(cluster.address, 1, METHODS).run(planned, read_instance, keep)
    assert {outcome.status for outcome in outcomes} == {"ok"}
    assert sorted(outcome.task.seed for outcome in outcomes) == list(range(tasks))
    executed = [int(path.name.split("-")[0]) for path in folder.iterdir()]
    assert set(executed) == set(range(tasks))
    # What it was running, and what it had finished and not yet handed over.
    assert len(executed) <= tasks + 2


def test_a_result_lost_with_its_worker_is_waited_for(make_task: MakeTask) -> None:
    """A task that had ended when its worker left is run again by Dask, and then has its outcome."""
    task, outcome = make_task("no-op", seed=1), object()
    future = SimpleNamespace(status="pending", exception=lambda: None, result=lambda: outcome)
    run = cast("_Run", SimpleNamespace())
    assert _Run._after_error(run, cast("Any", future), task) == [outcome]


def test_a_task_that_takes_its_worker_along_has_an_outcome(
    start_cluster: StartCluster, make_task: MakeTask, read_instance: ReadInstance
) -> None:
    """It is tried on a few workers, and then it is a crash; the other tasks go on."""
    cluster = start_cluster(6)
    outcomes: list[Outcome] = []
    tasks = [make_task("kills-the-runner", seed=1), *(make_task("no-op", seed=s) for s in (2, 3))]
    DaskEngine(cluster.address, 1, METHODS).run(tasks, read_instance, outcomes.extend)
    by_seed = {outcome.task.seed: outcome for outcome in outcomes}
    assert len(outcomes) == 3
    assert by_seed[1].status == "crashed"
    assert by_seed[1].status_detail.startswith("the workers that ran it ended")
    assert by_seed[2].status == by_seed[3].status == "ok"


def test_tasks_on_other_hosts_end_with_the_runner(
    start_cluster: StartCluster,
    make_task: MakeTask,
    read_instance: ReadInstance,
    marked: Marked,
    monkeypatch: pytest.MonkeyPatch,
    eventually: Eventually,
) -> None:
    """When the run is stopped, the workers kill what they run for it and stay."""
    monkeypatch.setenv("MARK", marker := f"other-hosts-{os.getpid()}-{time.monotonic_ns()}")
    cluster = start_cluster(2)
    own = {cluster.scheduler.pid, *(worker.pid for worker in cluster.workers)}

    def stop(ended: Sequence[Outcome]) -> None:
        raise OSError("no space left on device")

    tasks = [make_task("no-op"), *(make_task("hangs", seed=seed) for seed in range(1, 5))]
    with pytest.raises(OSError, match="no space left"):
        DaskEngine(cluster.address, 1, METHODS).run(tasks, read_instance, stop)
    eventually(lambda: set(marked(marker)) == own)
    outcomes: list[Outcome] = []
    DaskEngine(cluster.address, 1, METHODS).run([make_task("good")], read_instance, outcomes.extend)
    assert [outcome.status for outcome in outcomes] == ["ok"]


RUNNER = """
import json, sys
from boundmark.benchmarks.running.execution.dask_engine import DaskEngine, _Run
from boundmark.benchmarks.running.execution.task import Task
address, task, instance = sys.argv[1:]
engine = DaskEngine(address, 1, "faulty_methods:METHODS")
engine.run([Task.from_json(json.loads(task))], lambda sha256: instance.encode(), print)
"""


def test_tasks_on_other_hosts_end_with_a_killed_runner(
    start_cluster: StartCluster,
    make_task: MakeTask,
    instances: dict[str, bytes],
    marked: Marked,
    monkeypatch: pytest.MonkeyPatch,
    eventually: Eventually,
) -> None:
    """After kill -9 of the runner, its task on a worker is killed and the worker stays."""
    monkeypatch.setenv("MARK", marker := f"killed-runner-{os.getpid()}-{time.monotonic_ns()}")
    cluster = start_cluster(1)
    own = {cluster.scheduler.pid, *(worker.pid for worker in cluster.workers)}
    task = make_task("hangs")
    runner = subprocess.Popen(
        [
            sys.executable,
            "-c",
            RUNNER,
            cluster.address,
            json.dumps(task.to_json()),
            instances[task.instance_sha256].decode(),
        ]
    )
    # Two warm processes and the task.
    eventually(lambda: len(set(marked(marker)) - own - {runner.pid}) == 3)
    runner.kill()
    runner.wait()
    eventually(lambda: set(marked(marker)) == own)


def test_a_long_task_does_not_hold_up_others(
    start_cluster: StartCluster, make_task: MakeTask, read_instance: ReadInstance, tmp_path: Path
) -> None:
    """Tasks that were sent to a busy worker move to an idle one."""
    cluster = start_cluster(2)
    (tmp_path / "done").touch()
    long = make_task("waits-for", params={"path": str(tmp_path / "last")})
    tasks = [long, *(make_task("no-op", seed=seed) for seed in range(1, 20))]
    seeds: list[int] = []

    def keep(ended: Sequence[Outcome]) -> None:
        seeds.extend(outcome.task.seed for outcome in ended)
        if len(seeds) == len(tasks) - 1:
            (tmp_path / "last").touch()

    DaskEngine(cluster.address, 1, METHODS).run(tasks, read_instance, keep)
    assert seeds[-1] == 0


def test_a_scheduler_that_goes_ends_the_run(
    start_cluster: StartCluster, make_task: MakeTask, read_instance: ReadInstance
) -> None:
    """One sentence, and not a run that waits for ever."""
    cluster = start_cluster(1)
    timer = threading.Timer(0.5, cluster.scheduler.kill)

    def kill_soon(ended: Sequence[Outcome]) -> None:
        timer.start()

    tasks = [make_task("no-op"), make_task("hangs", seed=1)]
    with pytest.raises(BoundmarkError, match=f"the Dask scheduler at {cluster.address} is gone"):
        DaskEngine(cluster.address, 1, METHODS).run(tasks, read_instance, kill_soon)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nonsense://x"])
def test_no_scheduler_is_one_sentence(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An address at which nobody answers is named."""
    import dask

    with (
        dask.config.set({"distributed.comm.timeouts.connect": "0.2s"}),
        pytest.raises(BoundmarkError, match=f"no Dask scheduler answers at {address}"),
    ):
        DaskEngine(address, 1).run([], lambda sha256: b"", print)
