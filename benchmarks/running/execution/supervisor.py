"""Runs one task at a time, and returns an outcome whatever the method does."""

import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime

from boundmark.benchmarks.running.execution import verification
from boundmark.benchmarks.running.execution.fork_server import (
    Ending,
    ForkServer,
    Limits,
    ServerStoppedError,
)
from boundmark.benchmarks.running.execution.task import Outcome, Task
from boundmark.benchmarks.running.execution.verification import Reports, Verification, outcome_of

# Between a method's soft budget and its death: enough to notice, too little to profit.
GRACE_SECONDS = 1.0


class Supervisor:
    """Two warm processes, one for methods and one for the checker, that treat task after task.

    Processes are started when first needed, and again if they die.

    Parameters
    ----------
    methods
        ``"module:NAME"`` of a `Method`, or of a tuple of them, in a module that Python finds (e.g.
        through ``PYTHONPATH``): these methods are run instead of the registered ones, so that a
        method can be tried before it is packaged.
    checking_seconds
        Seconds after a method's end within which its last report can be checked. What it reports is
        then checked while it runs, too, so that it counts even if `stop` is called before the last
        of it is checked. None if there is no end to checks, and they wait for the method's end.
    """

    def __init__(self, methods: str = "", *, checking_seconds: float | None = None) -> None:
        self._methods = methods
        self._checking_seconds = checking_seconds
        self._problem = ""
        self._starters: Mapping[str, Callable[[], ForkServer]] = {
            "methods": self._start_methods,
            "checker": verification.start_server,
        }
        self._servers: dict[str, ForkServer] = {}
        self._lock = threading.Lock()
        self._stopped = False

    def begin_import(self, problem: str, methods: Iterable[str]) -> None:
        """Start the processes for tasks of a problem, and the import of methods for it."""
        self._problem = problem
        self._server("methods").begin_warming(methods)
        self._server("checker")

    def end_import(self) -> float:
        """Return once all that can run a task, with the seconds of compiling in it."""
        seconds = self._server("methods").end_warming()
        self._ready_server("checker")
        return seconds

    def run(self, task: Task, instance: bytes) -> Outcome:
        """Run a task and verify its solutions and bounds."""
        reports = Reports()
        started_at = datetime.now(UTC).isoformat()
        limits = Limits(
            task.time_limit_seconds + GRACE_SECONDS, task.memory_limit_bytes, task.threads
        )
        # Started along with the first task, so that no verification waits for an import.
        self._server("checker")
        if task.problem != self._problem:
            # Solvers of different problems may not get along in one process.
            self._problem = task.problem
            self._forget("methods")
        checks = Verification(lambda: self._ready_server("checker"), instance, task.instance_sha256)
        began = time.monotonic()
        ending = None
        try:
            server = self._server("methods")
            # Compiling kernels is not the task's time.
            server.begin_warming([task.method])
            server.end_warming()
            with self._checking_beside(checks, reports, limits):
                ending = server.run(task.to_json(), limits, reports.take, instance)
            verified = checks.finish(reports.candidates())
        except ServerStoppedError:
            verified = checks.so_far()
            if verified.solution is None and verified.certificate is None:
                raise
            ending = Ending.without_last_reports(began, ending)
        return outcome_of(task, started_at, ending, reports, verified)

    def pids(self) -> dict[str, int]:
        """Return the numbers of the warm processes ``"methods"`` and ``"checker"``."""
        return {name: server.pid for name, server in self._servers.items()}

    def stop(self) -> None:
        """Kill the running task and refuse further ones; another thread may be in `run`."""
        with self._lock:
            self._stopped = True
            for server in self._servers.values():
                server.stop()

    def close(self) -> None:
        """Stop, and wait until all processes have ended."""
        self.stop()
        for server in self._servers.values():
            server.close()

    def _checking_beside(
        self, checks: Verification, reports: Reports, limits: Limits
    ) -> AbstractContextManager[None]:
        """Return the block in which a task runs that begins now."""
        if self._checking_seconds is None:
            return nullcontext()
        until = time.monotonic() + limits.seconds + self._checking_seconds
        return checks.beside(reports, until)

    def _start_methods(self) -> ForkServer:
        argument = {"problem": self._problem, "methods": self._methods}
        return ForkServer("boundmark.benchmarks.running.execution.method_job", json.dumps(argument))

    def _forget(self, name: str) -> None:
        with self._lock:
            server = self._servers.pop(name, None)
        if server is not None:
            server.stop()
            server.close()

    def _server(self, name: str) -> ForkServer:
        with self._lock:
            if self._stopped:
                raise ServerStoppedError
            server = self._servers.get(name)
            if server is not None and server.is_dead:
                server.close()
                server = None
            if server is None:
                server = self._servers[name] = self._starters[name]()
            return server

    def _ready_server(self, name: str) -> ForkServer:
        server = self._server(name)
        server.wait_until_ready()
        return server
