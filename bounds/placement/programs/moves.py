"""The transfers that there may be, whatever the devices."""

from typing import NamedTuple

from boundmark.problems.placement import PlacementInstance
from boundmark.problems.placement.feasibility import PER_TENSOR


class Move(NamedTuple):
    """A transfer for some of a tensor's consumers.

    Attributes
    ----------
    receiver
        As in rows of `PlacementSchedule.transfers`: a device per tensor, a consumer per edge.
    readers
        The consumers that wait for it if they are on its target.
    targets
        The devices that it may go to: one per tensor, any per edge.
    """

    tensor: int
    receiver: int
    producer: int
    readers: tuple[int, ...]
    targets: tuple[int, ...]


def possible_moves(instance: PlacementInstance) -> list[Move]:
    """Return all transfers that some placement needs, by tensor and receiver."""
    graph = instance.graph
    producers = graph.producer.tolist()
    every = tuple(range(graph.devices))
    if instance.transfers == PER_TENSOR:
        return [
            Move(tensor, target, producers[tensor], readers, (target,))
            for tensor, readers in enumerate(graph.consumers)
            for target in every
        ]
    return [
        Move(tensor, reader, producers[tensor], (reader,), every)
        for tensor, readers in enumerate(graph.consumers)
        for reader in readers
    ]
