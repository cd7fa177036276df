"""Run tasks about one instance that are planned while others run."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from boundmark.benchmarks.execution.engine import Engine, ReadInstance
from boundmark.benchmarks.execution.task import Outcome, Task
from boundmark.benchmarks.planning import PlannedTask

Ended: TypeAlias = Sequence[tuple[PlannedTask, Outcome]]


class InstanceRun:
    """Runs tasks about one instance that are planned while others run, and keeps their outcomes.

    Parameters
    ----------
    read_instance
        Returns the instance's canonical JSON.
    keep
        Keeps tasks that have ended: in a results folder, or in memory. May raise `StoreError`.
    on_finish
        Called after each task that is kept.
    amended
        Returns an outcome as it is kept, with what only the caller knows.
    """

    def __init__(
        self,
        read_instance: ReadInstance,
        keep: Callable[[Ended], None],
        on_finish: Callable[[PlannedTask, Outcome], None],
        amended: Callable[[Outcome], Outcome],
    ) -> None:
        self._read_instance = read_instance
        self._keep = keep
        self._on_finish = on_finish
        self._amended = amended

    def take(self, ended: Ended) -> None:
        """Keep tasks that have been run elsewhere.

        Raises
        ------
        StoreError
            If an outcome cannot be stored.
        """
        for item in ended:
            self._keep([item])

    def on_engine(
        self, engine: Engine, planned: Iterable[PlannedTask], on_error: Callable[[], None]
    ) -> None:
        """Run tasks on an engine and keep them.

        Parameters
        ----------
        planned
            Iterated in the engine's threads, one at a time.
        on_error
            Called if an outcome cannot be stored: `planned` must come to its end.

        Raises
        ------
        StoreError
            If an outcome cannot be stored.
        """
        by_id: dict[str, PlannedTask] = {}

        def tasks() -> Iterator[Task]:
            for item in planned:
                by_id[item.task.task_id] = item
                yield item.task

        def keep(outcomes: Sequence[Outcome]) -> None:
            try:
                items = [(by_id[one.task.task_id], self._amended(one)) for one in outcomes]
                self._keep(items)
                for item, outcome in items:
                    self._on_finish(item, outcome)
            except BaseException:
                on_error()
                raise

        engine.run(tasks(), self._read_instance, keep)
