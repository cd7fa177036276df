"""Runs tasks on the workers of a Dask cluster, each under the same supervision as elsewhere."""

import asyncio
import itertools
import math
import threading
import time
import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache

from distributed import (
    CancelledError,
    Client,
    Future,
    KilledWorker,
    LocalCluster,
    Scheduler,
    Worker,
    as_completed,
    get_worker,
)
from distributed.diagnostics.plugin import SchedulerPlugin, WorkerPlugin

from boundmark.benchmarks.running.environment import describe_environment
from boundmark.benchmarks.running.execution.fork_server import ServerStoppedError
from boundmark.benchmarks.running.execution.supervisor import Supervisor
from boundmark.benchmarks.running.execution.task import Outcome, ReadInstance, Task
from boundmark.problems.errors import BoundmarkError


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
        """Give a supervisor to one task."""
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
    """Run a task under the supervisors of this worker."""
    plugin = get_worker().plugins[pool]
    assert isinstance(plugin, SupervisorPool)
    with plugin.lend() as supervisor:
        outcome = supervisor.run(task, zlib.decompress(packed_instance))
    return replace(outcome, environment=describe_environment())


# Tasks that wait at the scheduler: enough to keep workers busy and to let clusters grow.
WAITING = 64

LOOK_SECONDS = 1.0
PACKED_INSTANCES = 16


@dataclass(frozen=True)
class DaskEngine:
    """Workers of Dask, one task at a time on each of their threads.

    Attributes
    ----------
    scheduler
        Address, e.g. ``"tcp://host:8786"``. If None, scheduler and workers are processes of this
        machine that live as long as the run.
    workers
        Number of worker processes in that case.
    methods
        See `Supervisor`.
    """

    scheduler: str | None
    workers: int
    methods: str = ""

    def run(
        self,
        tasks: Iterable[Task],
        read_instance: ReadInstance,
        on_outcomes: Callable[[Sequence[Outcome]], None],
    ) -> None:
        """Run every task, see `Engine`. What a lost worker was running is run again elsewhere."""
        with self._client() as client:
            run = _Run(client, self.methods, read_instance)
            if self.scheduler is not None:
                client.register_plugin(EndWithClient(client.id, run.pool))
            try:
                run.through(iter(tasks), on_outcomes)
            except CancelledError as error:
                raise BoundmarkError(
                    f"the Dask scheduler at {self.scheduler or 'this machine'} is gone; "
                    "expected it to outlive the run."
                ) from error

    @contextmanager
    def _client(self) -> Iterator[Client]:
        if self.scheduler is None:
            with (
                LocalCluster(
                    n_workers=self.workers,
                    threads_per_worker=1,
                    # Limits are the supervisors', and hold for the tasks' processes alone.
                    memory_limit=None,
                    dashboard_address=":0",
                ) as cluster,
                Client(cluster, set_as_default=False) as client,
            ):
                yield client
            return
        try:
            client = Client(self.scheduler, set_as_default=False)
        except (OSError, ValueError) as error:
            raise BoundmarkError(
                f"no Dask scheduler answers at {self.scheduler} ({error}); "
                "expected an address such as tcp://host:8786."
            ) from error
        with client:
            yield client


class _Run:
    """The tasks of one run that are at the scheduler."""

    def __init__(self, client: Client, methods: str, read_instance: ReadInstance) -> None:
        self._client = client
        # Dask groups tasks, in its own displays, by what their keys begin with.
        self.pool = f"boundmark-{uuid.uuid4().hex}"
        self._submitted = itertools.count()
        self._running: dict[Future[Outcome], Task] = {}
        self._ended = as_completed(loop=client.loop, with_results=True, raise_errors=False)

        @lru_cache(PACKED_INSTANCES)
        def packed(sha256: str) -> bytes:
            return zlib.compress(read_instance(sha256), level=1)

        self._packed = packed
        client.register_plugin(SupervisorPool(methods), name=self.pool)

    def through(
        self, tasks: Iterator[Task], on_outcomes: Callable[[Sequence[Outcome]], None]
    ) -> None:
        """Submit all tasks, more of them whenever some have ended, and wait until all have."""
        room, looked = 0, -math.inf
        while True:
            if time.monotonic() - looked > LOOK_SECONDS:
                # Clusters grow and shrink.
                room, looked = WAITING + sum(self._client.nthreads().values()), time.monotonic()
            if len(self._running) <= room // 2:
                # Many at a time: a message to the scheduler costs more than a task in it.
                self._submit(list(itertools.islice(tasks, room - len(self._running))))
            if not self._running:
                return
            outcomes = []
            try:
                for future, result in self._ended.next_batch():
                    task = self._running.pop(future)
                    if future.status == "finished":
                        outcomes.append(result)
                    else:
                        outcomes += self._after_error(future, task)
            finally:
                if outcomes:
                    on_outcomes(outcomes)

    def _after_error(self, future: "Future[Outcome]", task: Task) -> list[Outcome]:
        """Return the outcome of a task that no worker finished, nothing if it is run again."""
        if future.status == "cancelled":
            raise CancelledError
        # Waits if the task's worker left after it had ended, and the task runs on another one.
        error = future.exception()
        if error is None:
            return [future.result()]
        if isinstance(error, ServerStoppedError):
            # The worker was told to close.
            self._submit([task])
            return []
        if isinstance(error, KilledWorker):
            return [_lost(task, f"the workers that ran it ended, {error.last_worker} last")]
        if isinstance(error, BoundmarkError):
            raise error
        raise BoundmarkError(
            f"a Dask worker cannot run tasks: {type(error).__name__}: {error}; expected "
            "the same packages on all workers as here."
        ) from error

    def _submit(self, tasks: Sequence[Task]) -> None:
        futures = self._client.map(
            run_task,
            [self.pool] * len(tasks),
            tasks,
            [self._packed(task.instance_sha256) for task in tasks],
            key=[(self.pool, next(self._submitted)) for _ in tasks],
            pure=False,
        )
        self._running.update(zip(futures, tasks, strict=True))
        self._ended.update(futures)


def _lost(task: Task, detail: str) -> Outcome:
    """Return an error outcome for a task whose worker was lost."""
    return Outcome(
        task=task,
        status="crashed",
        status_detail=detail,
        exit_code=None,
        exit_signal=None,
        stderr_tail="",
        wall_seconds=0.0,
        cpu_seconds=0.0,
        peak_rss_bytes=0,
        started_at=datetime.now(UTC).isoformat(),
        events=(),
        solution=None,
        objective=None,
        certificate=None,
        bound_certified=None,
        bound_claimed=None,
        bound_kind=None,
        verify_seconds=0.0,
        environment=describe_environment(),
    )
