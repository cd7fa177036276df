"""The interface between the runner and the engines that execute its tasks."""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeAlias

from boundmark.benchmarks.execution.task import Outcome, Task

# Returns the canonical JSON of the instance with a hash.
ReadInstance: TypeAlias = Callable[[str], bytes]


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

        Parameters
        ----------
        tasks
            Taken one by one as there is room for more.
        on_outcomes
            Called in the calling thread with the tasks that have ended since the last call, one or
            more, in the order in which they did: many are stored together in less time.
        """
