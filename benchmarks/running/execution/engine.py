"""Engines run the tasks of a run, several at a time: on this machine, or on a Dask cluster."""

import contextlib
import os
import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol, TypeVar

from boundmark.benchmarks.running.execution.fork_server import ServerStoppedError
from boundmark.benchmarks.running.execution.supervisor import Supervisor
from boundmark.benchmarks.running.execution.task import Outcome, ReadInstance, Task
from boundmark.benchmarks.running.settings import MOST_WORKERS, bounded_integer
from boundmark.problems.arrays import plain_value
from boundmark.problems.errors import BoundmarkError, InvalidInputError, extra_with

Item = TypeVar("Item")

ENGINES = ("local", "dask")


class Engine(Protocol):
    """Executes tasks somewhere, each of them in a `Supervisor`.

    Limits, statuses and verification are the supervisor's, hence the same in every engine.
    """

    def run(
        self,
        tasks: Iterable[Task],
        read_instance: ReadInstance,
        on_outcomes: Callable[[Sequence[Outcome]], None],
    ) -> None:
        """Run every task and pass its outcome to a callback.

        Returns when all tasks are done. If anything raises, be it `on_outcomes`, the iteration over
        the tasks, or Ctrl-C, all running tasks are killed and the exception propagates.
        """


@dataclass
class LocalEngine:
    """An engine of worker threads on this machine, each with its own warm processes.

    Attributes
    ----------
    workers
        Number of tasks that run at a time.
    methods, checking_seconds
        See `Supervisor`.
    """

    workers: int
    methods: str = ""
    checking_seconds: float | None = None
    _supervisors: list[Supervisor] = field(default_factory=list)

    def import_methods(self, problem: str, methods: Sequence[str]) -> float:
        """Prepare for tasks of some methods, before `run` or while none of its tasks runs.

        Returns
        -------
        float
            The seconds in which kernels were compiled.
        """
        self._supervisors = self._supervisors or self._new_supervisors()
        for number, supervisor in enumerate(self._supervisors):
            # Each imports what it will probably run, so that all are ready sooner.
            supervisor.begin_import(problem, methods[number :: self.workers])
        return max([supervisor.end_import() for supervisor in self._supervisors])

    def _new_supervisors(self) -> list[Supervisor]:
        return [
            Supervisor(self.methods, checking_seconds=self.checking_seconds)
            for _ in range(self.workers)
        ]

    def close(self) -> None:
        """End processes that were started and never used."""
        for supervisor in self._supervisors:
            supervisor.close()
        self._supervisors = []

    def run(
        self,
        tasks: Iterable[Task],
        read_instance: ReadInstance,
        on_outcomes: Callable[[Sequence[Outcome]], None],
    ) -> None:
        """Run every task, see `Engine`."""
        waiting = iter(tasks)
        taking = threading.Lock()
        finished: queue.SimpleQueue[Outcome | BaseException | None] = queue.SimpleQueue()
        supervisors = self._supervisors = self._supervisors or self._new_supervisors()
        # Tasks of one instance come one after the other.
        read = lru_cache(self.workers)(read_instance)

        def work(supervisor: Supervisor) -> None:
            try:
                while True:
                    with taking:
                        task = next(waiting, None)
                    if task is None:
                        break
                    finished.put(supervisor.run(task, read(task.instance_sha256)))
            except ServerStoppedError:
                pass
            except BaseException as error:
                finished.put(error)
            finally:
                supervisor.close()
                finished.put(None)

        # Daemons, so that a second Ctrl-C ends the program even while the first is being obeyed.
        threads = [
            threading.Thread(target=work, args=(supervisor,), daemon=True)
            for supervisor in supervisors
        ]
        can_store = True
        try:
            for thread in threads:
                thread.start()
            working = self.workers
            while working:
                outcomes, errors = [], []
                for item in _waited_for(finished):
                    if item is None:
                        working -= 1
                    elif isinstance(item, BaseException):
                        errors.append(item)
                    else:
                        outcomes.append(item)
                if outcomes:
                    can_store = False
                    on_outcomes(outcomes)
                    can_store = True
                if errors:
                    raise errors[0]
        finally:
            for supervisor in supervisors:
                supervisor.stop()
            for thread in threads:
                if thread.is_alive():
                    thread.join()
            self._supervisors = []
            # What was accepted before the tasks were ended.
            left = [item for item in _present(finished) if isinstance(item, Outcome)]
            if left and can_store:
                on_outcomes(left)


def _waited_for(waiting: "queue.SimpleQueue[Item]") -> Iterator[Item]:
    """Yield the next item of a queue, and those that are there already."""
    yield waiting.get()
    yield from _present(waiting)


def _present(waiting: "queue.SimpleQueue[Item]") -> Iterator[Item]:
    """Yield the items of a queue that are there already."""
    with contextlib.suppress(queue.Empty):
        while True:
            yield waiting.get_nowait()


def make_engine(
    name: str | None, workers: int | None = None, scheduler: str | None = None
) -> Engine:
    """Return an engine."""
    if name is None:
        name = "local" if scheduler is None else "dask"
    if scheduler is not None and name != "dask":
        raise InvalidInputError(
            f"a scheduler is given for the engine {name!r}; expected the engine 'dask', or none."
        )
    if scheduler is not None and workers is not None:
        raise InvalidInputError(
            "workers are given beside a scheduler; expected one of them, because the scheduler's "
            "workers decide how many tasks run at a time."
        )
    count = worker_count(workers)
    if name == "local":
        return LocalEngine(count)
    try:
        from boundmark.benchmarks.running.execution.dask_engine import DaskEngine
    except ModuleNotFoundError as error:
        raise BoundmarkError(
            f"the engine 'dask' needs the package {error.name}, which is not installed"
            f"{extra_with('distributed')}."
        ) from error
    return DaskEngine(scheduler, count)


def worker_count(given: object) -> int:
    """Return the number of workers that is given, or else one per CPU."""
    if given is None:
        return len(os.sched_getaffinity(0))
    return bounded_integer("workers", plain_value(given), 1, MOST_WORKERS)
