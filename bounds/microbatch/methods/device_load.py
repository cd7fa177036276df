"""`device-load`: the work of the busiest device (see `one_device.load`)."""

from typing import Any

from boundmark.bounds.microbatch.one_device import load
from boundmark.problems.method import Budget, Progress
from boundmark.problems.microbatch import MicrobatchInstance


def run(
    instance: MicrobatchInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the bound."""
    progress.bound(load.certificate(instance, "device-load"))
