"""Longest paths: how long a block cannot start, and how long it is from its start to the end."""

from collections import defaultdict

from ..graph import topological_order
from .instance import Instance


def heads(instance: Instance) -> list[int]:
    """Return the ticks before which each block cannot start."""
    earliest = [0] * len(instance.duration)
    producers, order = _producers(instance)
    for v in order:
        earliest[v] = max((earliest[u] + instance.duration[u] for u in producers[v]), default=0)
    return earliest


def tails(instance: Instance) -> list[int]:
    """Return the ticks from the end of each block to the end of what waits for it."""
    left = [0] * len(instance.duration)
    producers, order = _producers(instance)
    for v in reversed(order):
        for u in producers[v]:
            left[u] = max(left[u], instance.duration[v] + left[v])
    return left


def from_block(instance: Instance, block: int) -> list[int | None]:
    """Return the ticks between the start of a block and those that wait for it, else None."""
    after: list[int | None] = [None] * len(instance.duration)
    after[block] = 0
    producers, order = _producers(instance)
    for v in order:
        for u in producers[v]:
            start = after[u]
            if start is not None:
                after[v] = max(after[v] or 0, start + instance.duration[u])
    return after


def _producers(instance: Instance) -> tuple[dict[int, list[int]], list[int]]:
    producers: dict[int, list[int]] = defaultdict(list)
    for u, v in instance.edges:
        producers[v].append(u)
    return producers, topological_order(instance.edges) or []
