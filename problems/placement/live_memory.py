"""Memory of devices while a schedule runs: parameters, and tensors while they are live.

With memory model `parameters+live`, a tensor takes memory of its producer's device from the
producer's start until its readers there have ended and it has been moved to all others; of each
device that it is moved to, from the transfer's start until its readers there have ended. What an
operator writes and nobody reads takes memory while the operator runs. What takes no time takes no
memory.
"""

from typing import TYPE_CHECKING

import numpy as np

from boundmark.problems.arrays import IntArray
from boundmark.problems.placement.graph import PlacementGraph

if TYPE_CHECKING:
    from boundmark.problems.placement.schedule import PlacementSchedule


def peaks(graph: PlacementGraph, schedule: "PlacementSchedule", *, is_shared: bool) -> IntArray:
    """Return the most memory that each device has in use at any time, shape (D,).

    Parameters
    ----------
    is_shared
        Whether the consumers of a tensor on one device share its transfer.
    """
    held = np.zeros(graph.devices, dtype=np.int64)
    np.add.at(held, schedule.devices, graph.memory)
    if not graph.is_live:
        return held
    device, begin, end, taken = _spans(graph, schedule, is_shared=is_shared)
    counts = (begin < end) & (taken > 0)
    device, begin, end, taken = device[counts], begin[counts], end[counts], taken[counts]
    where, when = np.concatenate([device, device]), np.concatenate([begin, end])
    change = np.concatenate([taken, -taken])
    # At one time, what ends makes room for what begins.
    order = np.lexsort((change > 0, when, where))
    most = np.zeros(graph.devices, dtype=np.int64)
    # What a device has got is given back in the end, so that the next one starts from 0.
    np.maximum.at(most, where[order], np.cumsum(change[order]))
    return np.asarray(held + most)


def _spans(
    graph: PlacementGraph, schedule: "PlacementSchedule", *, is_shared: bool
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Return device, begin, end and size of all that is there for some time, four of one shape."""
    place, starts = schedule.devices, schedule.starts
    ends = starts + graph.duration[np.arange(graph.nodes), place]
    tensor_of, reader = graph.readings
    home = place[graph.producer]
    there = place[reader]
    is_local = there == home[tensor_of]
    last = ends[graph.producer]
    np.maximum.at(last, tensor_of[is_local], ends[reader[is_local]])
    tensors, receivers, sent = schedule.transfers.T
    targets = receivers if is_shared else place[receivers]
    ticks = graph.times[graph.size[tensors], home[tensors], targets]
    np.maximum.at(last, tensors, sent + ticks)
    released = sent + ticks
    # Rows are sorted by tensor and receiver.
    width = graph.devices if is_shared else graph.nodes
    keys = tensors * width + receivers
    moved = ~is_local
    wanted = tensor_of[moved] * width + (there[moved] if is_shared else reader[moved])
    np.maximum.at(released, np.searchsorted(keys, wanted), ends[reader[moved]])
    return (
        np.concatenate([place, home, targets]),
        np.concatenate([starts, starts[graph.producer], sent]),
        np.concatenate([ends, last, released]),
        np.concatenate([graph.result_memory, graph.tensor_memory, graph.tensor_memory[tensors]]),
    )
