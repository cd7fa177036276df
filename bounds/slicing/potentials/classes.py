"""Classes of widths: single widths where they matter most, and ranges in between."""

from boundmark.bounds.checker.slicing.ticks import MOST_COMBINED
from boundmark.problems.slicing import SlicingInstance

# The more classes, the less an operator's width can change for nothing within a class.
CHOICES = (40, 28, 20, 14, 8)

# Entries of the tables of all operators: a second or two, to check as well.
MOST_ENTRIES = 300_000


def all_begins(instance: SlicingInstance, count: int) -> list[list[int]]:
    """Return the least width of each class of each operator.

    Parameters
    ----------
    count
        Of classes of an operator, at most; 0 for the most for which tables are small enough.
    """
    for choice in (count,) if count else CHOICES:
        begins = [
            class_begins(length, instance.graph.devices, choice)
            for length in instance.graph.length.tolist()
        ]
        if _entries(instance, begins) <= MOST_ENTRIES:
            break
    return begins


def _entries(instance: SlicingInstance, begins: list[list[int]]) -> int:
    """Return the entries of the tables of all operators together."""
    total = 0
    for own, inputs in zip(begins, instance.graph.inputs, strict=True):
        sizes = [len(begins[producer]) for producer in {edge.producer for edge in inputs}]
        combined = 1
        for size in sizes:
            combined *= size
        total += len(own) * (combined if len(sizes) <= MOST_COMBINED else sum(sizes))
    return total


def class_begins(length: int, devices: int, count: int) -> list[int]:
    """Return the least width of each class, ascending; the last class is the whole operator.

    Parameters
    ----------
    count
        Of classes, at most. If there are more widths, the least one has a class of its own, and the
        others are divided evenly.
    """
    least = -(-length // devices)
    if length - least < count:
        return list(range(least, length + 1))
    ranges = count - 2
    inner = [least + 1 + (length - least - 1) * at // ranges for at in range(ranges)]
    return sorted({least, *inner, length})
