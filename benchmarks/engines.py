"""Choose an engine by name."""

import os

from boundmark.benchmarks.execution.engine import Engine
from boundmark.benchmarks.execution.local_engine import LocalEngine
from boundmark.benchmarks.settings import MOST_WORKERS, bounded_integer
from boundmark.problems.arrays import plain_value
from boundmark.problems.errors import BoundmarkError, InvalidInputError

ENGINES = ("local", "dask")


def make_engine(
    name: str | None, workers: int | None = None, scheduler: str | None = None
) -> Engine:
    """Return an engine.

    Parameters
    ----------
    name
        One of `ENGINES`; None for ``"dask"`` if there is a scheduler, else ``"local"``.
    workers
        Tasks at a time on this machine; one per CPU if left out.
    scheduler
        Address of a Dask scheduler, for the engine ``"dask"``; without one, its workers are
        processes of this machine.

    Raises
    ------
    InvalidInputError
        If workers or scheduler do not go with the rest.
    BoundmarkError
        If a package that the engine needs is not installed.
    """
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
    local = local_engine(workers)
    if name == "local":
        return local
    try:
        from boundmark.benchmarks.execution.dask_engine import DaskEngine
    except ModuleNotFoundError as error:
        raise BoundmarkError(
            f"the engine 'dask' needs the package {error.name}, which is not installed; "
            "install it with: pip install 'boundmark[dask]'"
        ) from error
    return DaskEngine(scheduler, local.workers)


def local_engine(workers: int | None = None, *, checks_beside: bool = False) -> LocalEngine:
    """Return an engine that runs tasks on this machine, as many at a time as asked or one per CPU.

    Parameters
    ----------
    checks_beside
        Whether reports are checked while methods run, too; see `Supervisor`.

    Raises
    ------
    InvalidInputError
        If that number is not understood.
    """
    return LocalEngine(worker_count(workers), checks_beside=checks_beside)


def worker_count(given: object) -> int:
    """Return the number of workers that is given, or else one per CPU.

    Raises
    ------
    InvalidInputError
        If it is no integer in range.
    """
    if given is None:
        return len(os.sched_getaffinity(0))
    return bounded_integer("workers", plain_value(given), 1, MOST_WORKERS)
