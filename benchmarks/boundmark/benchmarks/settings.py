"""What all tasks of a run share."""

from dataclasses import dataclass

GIB = 2**30


@dataclass(frozen=True)
class RunSettings:
    """The limits of each task, and the seeds.

    Attributes
    ----------
    time_limit_seconds
        Wall time.
    memory_limit_bytes
        For all processes of a task together.
    threads
        For solvers, BLAS and OpenMP.
    seeds
        Methods that use a seed run once for each; the others once.
    """

    time_limit_seconds: float
    memory_limit_bytes: int
    threads: int = 1
    seeds: tuple[int, ...] = (1,)
