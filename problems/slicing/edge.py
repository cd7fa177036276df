"""The part of a tensor that an operator needs, by the part of its own output that it computes."""

from typing import NamedTuple

# The dimensions in which operators are sliced.
CHANNELS, HEIGHT = 0, 1


class Edge(NamedTuple):
    """A tensor between two operators, and which part of it each part of the consumer needs.

    Whoever computes the indices ``a .. b - 1`` of the consumer's output, along the dimension in
    which the consumer is sliced, needs the tensor's indices from ``scale * ((a * multiply + add) //
    divide)`` up to ``scale * (((b - 1) * multiply + add + size - 1) // divide + 1)`` along the same
    dimension, cut off at 0 and `extent`. So strides of windows are in `multiply`, their padding in
    `add` and their reach in `size`; groups of channels and reshaped dimensions are in `divide` and
    `scale`.

    Attributes
    ----------
    producer, consumer
        Numbers of operators.
    unit
        Bytes of the smallest part: for one index of the dimension in which the consumer is sliced
        and, if the producer is sliced in another one, one index of that.
    extent
        Of the tensor, along the dimension in which the consumer is sliced.
    """

    producer: int
    consumer: int
    unit: int
    extent: int
    multiply: int
    add: int
    size: int
    divide: int
    scale: int

    @property
    def is_whole(self) -> bool:
        """Whether every part needs the whole tensor."""
        return self.multiply == 0

    def needed(self, begin: int, end: int) -> tuple[int, int]:
        """Return the indices that a part ``begin .. end - 1`` needs; an empty part needs none."""
        if begin >= end:
            return 0, 0
        first = self.scale * ((begin * self.multiply + self.add) // self.divide)
        reach = (end - 1) * self.multiply + self.add + self.size - 1
        last = self.scale * (reach // self.divide + 1)
        first = min(max(first, 0), self.extent)
        return first, max(first, min(last, self.extent))


def whole(producer: int, consumer: int, unit: int, extent: int) -> Edge:
    """Return an edge whose whole tensor every part of the consumer needs."""
    return Edge(producer, consumer, unit, extent, 0, 0, extent, 1, 1)
