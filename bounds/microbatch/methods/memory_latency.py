"""`memory-latency`: what a device holds from allocation to release (see `one_device.memory`)."""

from typing import Any

from boundmark.bounds.microbatch.one_device import memory
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.microbatch import MicrobatchInstance


def run(
    instance: MicrobatchInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the bound.

    Raises
    ------
    UnsupportedError
        If nothing is allocated that is released by a block that waits for it.
    """
    found = memory.certificate(instance, "memory-latency")
    if found is None:
        raise UnsupportedError("no device holds what a later block of the micro-batch releases")
    progress.bound(found)
