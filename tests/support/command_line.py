"""A small suite, and what the command line looks like from a test."""

import atexit
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar
from unittest import mock

from click.testing import CliRunner

from boundmark.benchmarks.cli.group import main
from boundmark.benchmarks.running.execution import engine
from boundmark.benchmarks.running.execution.supervisor import Supervisor
from boundmark.benchmarks.running.execution.task import Outcome, Task

SUITE = """
description = "Small and quick."
problem = "pipeline"
time_limit_seconds = 60
memory_limit_gib = 1
methods = ["mean-work", "max-work", "node-cut", "fractional-load", "slicegraph", "random-100"]

[[instances]]
dataset = "regal-style"
members = ["erdos-renyi-1", "barabasi-albert-1"]
k = [2, 4]

[[instances]]
dataset = "onnx-light"
members = ["squeezenet"]
k = [4]
"""
TASKS = 5 * 6

Boundmark = Callable[..., subprocess.CompletedProcess[str]]


def boundmark_with(*folders: Path) -> Boundmark:
    """Return the command line, with the packages in some folders installed."""
    paths = [*map(str, folders), *filter(None, [os.environ.get("PYTHONPATH")])]

    def call(*arguments: object, check: bool = True) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "boundmark", *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=120,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        )
        if check:
            assert done.returncode == 0, done.stdout + done.stderr
        return done

    return call


def boundmark_here(*arguments: object, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run the command line in this process, with warm processes that earlier calls have left.

    Starting Python and two servers takes most of the time of a call. Whatever depends on a fresh
    process (packages that are installed for one test, signals, the time of a whole command) calls
    what `boundmark_with` returns.
    """
    with mock.patch.object(engine, "Supervisor", WarmSupervisor):
        done = CliRunner().invoke(main, [*map(str, arguments)], prog_name="boundmark")
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    if check:
        assert done.exit_code == 0, done.stdout + done.stderr
    return subprocess.CompletedProcess(
        [*map(str, arguments)], done.exit_code, done.stdout, done.stderr
    )


class WarmSupervisor:
    """A `Supervisor` whose processes stay for later ones, unless it is stopped amid a task."""

    idle: ClassVar[dict[tuple[str, str, float | None], list[Supervisor]]] = {}
    lock = threading.Lock()

    def __init__(self, methods: str = "", *, checking_seconds: float | None = None) -> None:
        self._methods = methods
        self._checking_seconds = checking_seconds
        self._running: Supervisor | None = None
        self._stopped = False

    def begin_import(self, problem: str, methods: Sequence[str]) -> None:
        """Import methods where tasks will run, see `Supervisor.begin_import`."""
        self._importing = problem, self._taken(problem)
        self._importing[1].begin_import(problem, methods)

    def end_import(self) -> float:
        """Wait until they are there."""
        problem, real = self._importing
        seconds = real.end_import()
        self.idle[self._methods, problem, self._checking_seconds].append(real)
        return seconds

    def _taken(self, problem: str) -> Supervisor:
        """Return processes that are idle, or else new ones."""
        idle = self.idle.setdefault((self._methods, problem, self._checking_seconds), [])
        with self.lock:
            if idle:
                return idle.pop()
        return Supervisor(self._methods, checking_seconds=self._checking_seconds)

    def run(self, task: Task, instance: bytes) -> Outcome:
        """Run a task, see `Supervisor.run`."""
        real = self._taken(task.problem)
        with self.lock:
            self._running = real
            if self._stopped:
                real.stop()
        try:
            return real.run(task, instance)
        finally:
            with self.lock:
                self._running = None
                if self._stopped:
                    real.close()
                else:
                    self.idle[self._methods, task.problem, self._checking_seconds].append(real)

    def stop(self) -> None:
        """Kill what runs and refuse further tasks."""
        with self.lock:
            self._stopped = True
            if self._running is not None:
                self._running.stop()

    def close(self) -> None:
        """Stop; what waits idle belongs to all."""
        self.stop()


@atexit.register
def _close_idle() -> None:
    for idle in WarmSupervisor.idle.values():
        for supervisor in idle:
            supervisor.close()
