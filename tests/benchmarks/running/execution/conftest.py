"""Instances, tasks, and warm processes that know the faulty methods."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from chains import chain

from boundmark.benchmarks.running.execution import verification
from boundmark.benchmarks.running.execution.supervisor import Supervisor
from boundmark.benchmarks.running.execution.task import Outcome, Task
from boundmark.problems.json_documents import canonical_json

METHODS = "faulty_methods:METHODS"

MakeTask = Callable[..., Task]


@pytest.fixture(scope="session", autouse=True)
def _modules_of_this_folder() -> Iterator[None]:
    """Let the warm processes find the faulty methods."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parent))
        yield


@pytest.fixture(scope="session")
def instances() -> dict[str, bytes]:
    """Return the instances that tasks were made about, by hash."""
    return {}


@pytest.fixture(scope="session")
def make_task(instances: dict[str, bytes]) -> MakeTask:
    """Return a function that builds a task about a path, and notes the instance."""

    def make(method: str, *, nodes: int = 6, k: int = 2, **fields: Any) -> Task:
        instance = chain(nodes, k)
        instances[instance.sha256] = canonical_json(instance.to_json()).encode()
        return Task(
            **{
                "instance_sha256": instance.sha256,
                "problem": "pipeline",
                "method": method,
                "method_version": 1,
                "params": {},
                "seed": 0,
                "time_limit_seconds": 20.0,
                "memory_limit_bytes": 2**30,
                "threads": 1,
                **fields,
            }
        )

    return make


@pytest.fixture(scope="session")
def supervisor() -> Iterator[Supervisor]:
    """Return warm processes that all tests share: one task must not harm the next."""
    with closing(Supervisor(METHODS)) as supervisor:
        yield supervisor


@pytest.fixture
def run_in(make_task: MakeTask, instances: dict[str, bytes]) -> Callable[..., Outcome]:
    """Return a function that runs one method on a path, under a given supervisor."""

    def run(supervisor: Supervisor, method: str, **fields: Any) -> Outcome:
        task = make_task(method, **fields)
        return supervisor.run(task, instances.get(task.instance_sha256, b"no instance"))

    return run


@pytest.fixture
def run(supervisor: Supervisor, run_in: Callable[..., Outcome]) -> Callable[..., Outcome]:
    """Return a function that runs one method on a path of six nodes."""
    return lambda method, **fields: run_in(supervisor, method, **fields)


@pytest.fixture
def eventually() -> Callable[[Callable[[], Any]], None]:
    """Return a function that waits until a condition holds, and fails if it never does."""

    def wait(condition: Callable[[], Any]) -> None:
        patience = time.monotonic() + 20.0
        while not condition():
            assert time.monotonic() < patience, "the condition never held"
            time.sleep(0.01)

    return wait


@pytest.fixture
def marked() -> Callable[[str], list[int]]:
    """Return a function that lists the living processes with a text in their environment."""

    def find(marker: str) -> list[int]:
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                environment = (folder / "environ").read_bytes()
            except OSError:
                continue
            if marker.encode() in environment:
                found.append(int(folder.name))
        return found

    return find


@pytest.fixture
def checked_beside(monkeypatch: pytest.MonkeyPatch) -> Iterator[float]:
    """Check what runs at once, and return ever longer times after which something is checked."""
    monkeypatch.setattr(verification, "FIRST_CHECK_SECONDS", 0.05)
    return iter((1.0, 4.0, 16.0))
