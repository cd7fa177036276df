"""Exchanges between the devices of a shared block: all through the first of them."""

from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection

import numpy as np

from boundmark.benchmarks.microbatch.schedule_execution.network import Array


def all_gather(
    connections: Mapping[int, Connection], devices: Sequence[int], device: int, part: Array
) -> Array:
    """Return the parts of all devices side by side, on each of them."""
    return _combined(
        connections, devices, device, part, lambda parts: np.concatenate(parts, axis=1)
    )


def all_reduce(
    connections: Mapping[int, Connection], devices: Sequence[int], device: int, part: Array
) -> Array:
    """Return the sum of the parts of all devices, on each of them."""
    return _combined(connections, devices, device, part, lambda parts: np.sum(parts, axis=0))


def meet(connections: Mapping[int, Connection], devices: Sequence[int], device: int) -> None:
    """Return when all devices have come here."""
    _combined(connections, devices, device, np.zeros((0, 0)), lambda parts: parts[0])


def _combined(
    connections: Mapping[int, Connection],
    devices: Sequence[int],
    device: int,
    part: Array,
    combine: Callable[[list[Array]], Array],
) -> Array:
    if len(devices) == 1:
        return part
    first, *others = devices
    if device != first:
        connections[first].send(part)
        return connections[first].recv()  # type: ignore[no-any-return]
    whole = combine([part, *(connections[other].recv() for other in others)])
    for other in others:
        connections[other].send(whole)
    return whole
