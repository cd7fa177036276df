"""`one-device`: the whole model on one device, the best one."""

from typing import Any

from boundmark.heuristics.slicing.plans.incumbent import Incumbent
from boundmark.heuristics.slicing.plans.simple import divided, one_device_pattern
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.slicing import SlicingInstance


def run(
    instance: SlicingInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report each device that is better than those before."""
    best, devices = Incumbent(instance, progress), instance.graph.devices
    fits = [
        best.offer(divided(instance, one_device_pattern(devices, device)))
        for device in range(devices)
    ]
    if not any(fits):
        raise UnsupportedError("no device has memory for the whole model.")
