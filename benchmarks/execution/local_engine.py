"""Runs tasks on this machine, several at a time."""

import contextlib
import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from boundmark.benchmarks.execution.engine import ReadInstance
from boundmark.benchmarks.execution.fork_server import ServerStoppedError
from boundmark.benchmarks.execution.supervisor import Supervisor
from boundmark.benchmarks.execution.task import Outcome, Task

Item = TypeVar("Item")


@dataclass(frozen=True)
class LocalEngine:
    """Worker threads over warm processes.

    Attributes
    ----------
    workers
        Number of tasks that run at a time.
    methods
        See `Supervisor`.
    """

    workers: int
    methods: str = ""

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
        supervisors = [Supervisor(self.methods) for _ in range(self.workers)]
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
                    on_outcomes(outcomes)
                if errors:
                    raise errors[0]
        finally:
            for supervisor in supervisors:
                supervisor.stop()
            for thread in threads:
                if thread.is_alive():
                    thread.join()


def _waited_for(waiting: "queue.SimpleQueue[Item]") -> Iterator[Item]:
    """Yield the next item of a queue, and those that are there already."""
    yield waiting.get()
    with contextlib.suppress(queue.Empty):
        while True:
            yield waiting.get_nowait()
