"""`preferred-device`: everything on one device, the first in an order of preference that takes it.

This models what OpenVINO's AUTO device does with a list of candidates, the first of which is
preferred ("OpenVINO-CPU" and "OpenVINO-GPU" of [HSDAG24]): the whole model goes to the first device
that supports it. Where the preferred one does, it is the same as CPU-only and GPU-only. AUTO
answers the first requests from the processor while the other device still compiles; that is not
modelled.
"""

from typing import Any

import numpy as np

from boundmark.heuristics.placement.schedules.incumbent import Incumbent
from boundmark.problems.errors import InvalidInputError, UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementInstance


def run(
    instance: PlacementInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    first: int,
    **params: Any,
) -> None:
    """Report the placement.

    Parameters
    ----------
    first
        Number of the preferred device; the others follow by their numbers.

    Raises
    ------
    InvalidInputError
        If there is no such device.
    UnsupportedError
        If no device supports all operators and has room for them.
    """
    graph = instance.graph
    if not 0 <= first < graph.devices:
        raise InvalidInputError(f"first is {first}; expected a device, 0 to {graph.devices - 1}.")
    fits = graph.is_supported.all(axis=0) & (graph.memory.sum() <= graph.capacity)
    for device in (first, *(other for other in range(graph.devices) if other != first)):
        if fits[device]:
            placed = np.full(graph.nodes, device, dtype=np.int64)
            Incumbent(instance, progress).offer(placed)
            return
    raise UnsupportedError("no device supports all operators and has room for them.")
