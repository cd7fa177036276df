"""Runs tasks on this machine, several at a time."""

import queue
import threading
from collections.abc import Callable, Iterable

from boundmark.benchmarks.execution.fork_server import ServerStoppedError
from boundmark.benchmarks.execution.supervisor import Supervisor
from boundmark.benchmarks.execution.task import Outcome, Task


def run_tasks(
    tasks: Iterable[Task],
    workers: int,
    on_outcome: Callable[[Outcome], None],
    methods: str = "",
) -> None:
    """Run every task and hand on its outcome.

    Returns when all tasks are done. If anything raises, be it `on_outcome`, the iteration over the
    tasks, or Ctrl-C, all running tasks are killed and the exception propagates.

    Parameters
    ----------
    tasks
        Taken one by one as workers become free.
    workers
        Number of tasks that run at a time.
    on_outcome
        Called in the calling thread, once a task, in the order in which tasks end.
    methods
        See `Supervisor`.
    """
    waiting = iter(tasks)
    taking = threading.Lock()
    finished: queue.SimpleQueue[Outcome | BaseException | None] = queue.SimpleQueue()
    supervisors = [Supervisor(methods) for _ in range(workers)]

    def work(supervisor: Supervisor) -> None:
        try:
            while True:
                with taking:
                    task = next(waiting, None)
                if task is None:
                    break
                finished.put(supervisor.run(task))
        except ServerStoppedError:
            pass
        except BaseException as error:
            finished.put(error)
        finally:
            supervisor.close()
            finished.put(None)

    # Daemons, so that a second Ctrl-C ends the program even while the first one is being obeyed.
    threads = [
        threading.Thread(target=work, args=(supervisor,), daemon=True) for supervisor in supervisors
    ]
    try:
        for thread in threads:
            thread.start()
        working = workers
        while working:
            item = finished.get()
            if item is None:
                working -= 1
            elif isinstance(item, BaseException):
                raise item
            else:
                on_outcome(item)
    finally:
        for supervisor in supervisors:
            supervisor.stop()
        for thread in threads:
            if thread.is_alive():
                thread.join()
