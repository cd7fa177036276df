"""Functions that run inside the workers and the scheduler of a Dask cluster."""

import asyncio
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from distributed import Scheduler, Worker, get_worker
from distributed.diagnostics.plugin import SchedulerPlugin, WorkerPlugin

from boundmark.benchmarks.environment import describe_environment
from boundmark.benchmarks.execution.fork_server import ServerStoppedError
from boundmark.benchmarks.execution.supervisor import Supervisor
from boundmark.benchmarks.execution.task import Outcome, Task


class SupervisorPool(WorkerPlugin):
    """A run's supervisors in one worker: as many as the worker runs tasks at a time.

    Their warm processes start with the first tasks and end when the worker or the run does; if the
    worker is killed, they notice and take their tasks with them.

    Parameters
    ----------
    methods
        See `Supervisor`.
    """

    def __init__(self, methods: str) -> None:
        self._methods = methods

    def setup(self, worker: Worker) -> None:
        """Start with no supervisor; called by Dask, on each worker."""
        self._lock = threading.Lock()
        self._all: list[Supervisor] = []
        self._idle: list[Supervisor] = []
        self._closed = False

    async def teardown(self, worker: Worker) -> None:
        """Kill what runs; called by Dask when the worker closes or the run is over."""
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        with self._lock:
            self._closed = True
            idle = list(self._idle)
        for supervisor in self._all:
            supervisor.stop()
        for supervisor in idle:
            supervisor.close()

    @contextmanager
    def lend(self) -> Iterator[Supervisor]:
        """Give a supervisor to one task.

        Raises
        ------
        ServerStoppedError
            If worker or run have ended.
        """
        with self._lock:
            if self._closed:
                raise ServerStoppedError
            if self._idle:
                supervisor = self._idle.pop()
            else:
                supervisor = Supervisor(self._methods)
                self._all.append(supervisor)
        try:
            yield supervisor
        finally:
            with self._lock:
                self._idle.append(supervisor)
                closed = self._closed
            if closed:
                supervisor.close()


class EndWithClient(SchedulerPlugin):
    """Stops a run's tasks on all workers when the runner goes, even by kill -9."""

    def __init__(self, client: str, pool: str) -> None:
        self.name = f"end-of-{pool}"
        self._client = client
        self._pool = pool

    async def start(self, scheduler: Scheduler) -> None:
        """Remember the scheduler; called by Dask."""
        self._scheduler = scheduler

    def remove_client(self, scheduler: Scheduler, client: str) -> None:
        """Have every worker close the run's pool; called by Dask, for every client."""
        if client == self._client:
            scheduler.loop.add_callback(self._end)

    async def _end(self) -> None:
        self._scheduler.worker_plugins.pop(self._pool, None)
        self._scheduler.remove_plugin(self.name)
        # A worker that goes at the same time needs no message.
        removal = {"op": "plugin-remove", "name": self._pool}
        await self._scheduler.broadcast(msg=removal, on_error="ignore")


def run_task(pool: str, task: Task, packed_instance: bytes) -> Outcome:
    """Run a task under the supervisors of this worker.

    Parameters
    ----------
    pool
        Name under which the run's `SupervisorPool` is registered.
    packed_instance
        Canonical JSON, compressed.
    """
    plugin = get_worker().plugins[pool]
    assert isinstance(plugin, SupervisorPool)
    with plugin.lend() as supervisor:
        outcome = supervisor.run(task, zlib.decompress(packed_instance))
    return replace(outcome, environment=describe_environment())
