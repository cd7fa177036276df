"""A section of an order: operators between two breakpoints, and the tensors they read or write."""

from typing import NamedTuple

from ..budget import hold, spend
from .instance import ENTRY_BYTES, INPUT, Instance

# As a producer: the tensor is there before the section.
EARLIER = -1


class Tensor(NamedTuple):
    """A tensor of a section.

    Attributes
    ----------
    number
        That of the instance.
    producer
        Place of the operator that writes it, or `EARLIER`.
    readers
        Places of the operators that read it.
    stays
        Whether it is still there after the section.
    """

    number: int
    size: int
    producer: int
    readers: list[int]
    stays: bool


class Section(NamedTuple):
    """The operators between two breakpoints; each is known by its place, sets of them are bits.

    Attributes
    ----------
    operators
        Their numbers, in the given order.
    base
        Size of the tensors that are there all the time.
    tensors
        All others that the operators read or write.
    reads, writes
        The tensors of each operator, by their place in `tensors`.
    before, behind
        The operators that each one waits for, and those that wait for it.
    running
        What each operator writes, and its workspace.
    written
        What each operator writes, if it can overwrite something: else 0.
    overwrites
        The tensors that each operator can overwrite, by their place.
    """

    operators: list[int]
    base: int
    tensors: list[Tensor]
    reads: list[list[int]]
    writes: list[list[int]]
    before: list[int]
    behind: list[int]
    running: list[int]
    written: list[int]
    overwrites: list[list[int]]

    @property
    def all(self) -> int:
        """The set of all operators."""
        return (1 << len(self.operators)) - 1


def section(
    instance: Instance, order: list[int], position: list[int], live: int, begin: int, end: int
) -> Section:
    """Return the section of an order from one position to another."""
    count = end - begin
    hold(ENTRY_BYTES * count + count * count // 2)
    base = live
    tensors: list[Tensor] = []
    place: dict[int, int] = {}
    operators = order[begin:end]
    touched = {t for v in operators for t in (*instance.reads[v], *instance.writes[v])}
    spend(8 * count + sum(2 + len(instance.consumers[t]) for t in touched))
    for number in sorted(touched):
        producer = instance.producer[number]
        written_at = EARLIER if producer == INPUT else position[producer] - begin
        where = [position[reader] - begin for reader in instance.consumers[number]]
        stays = number in instance.kept or max(where, default=-1) >= count
        if written_at < 0:
            if stays:
                continue
            base -= instance.size[number]
            written_at = EARLIER
        place[number] = len(tensors)
        readers = [at for at in where if 0 <= at < count]
        tensors.append(Tensor(number, instance.size[number], written_at, readers, stays))
    reads = [[place[t] for t in instance.reads[v] if t in place] for v in operators]
    writes = [[place[t] for t in instance.writes[v]] for v in operators]
    before, behind = [0] * count, [0] * count
    spend((count // 64 + 1) * sum(1 + len(read) for read in reads))
    for at in range(count):
        for tensor in reads[at]:
            producer = tensors[tensor].producer
            if producer != EARLIER:
                before[at] |= before[producer] | 1 << producer
    for at in reversed(range(count)):
        for tensor in writes[at]:
            for reader in tensors[tensor].readers:
                behind[at] |= behind[reader] | 1 << reader
    # What stays after the section is read again, so that nobody overwrites it here.
    overwrites = [
        [place[t] for t in instance.overwrites[v] if t in place and not tensors[place[t]].stays]
        for v in operators
    ]
    return Section(
        operators, base, tensors, reads, writes, before, behind,
        [instance.written[v] + instance.workspace[v] for v in operators],
        [instance.written[v] if overwrites[at] else 0 for at, v in enumerate(operators)],
        overwrites,
    )  # fmt: skip


def _readers_of_overwritten(part: Section, v: int) -> int:
    return 1 + sum(1 + len(part.tensors[tensor].readers) for tensor in part.overwrites[v])


def may_overwrite(part: Section, v: int) -> bool:
    """Whether in some order, an operator is the last to read a tensor that it can overwrite."""
    spend(_readers_of_overwritten(part, v))
    return any(
        not any(part.behind[v] >> reader & 1 for reader in part.tensors[tensor].readers)
        for tensor in part.overwrites[v]
    )


def always_overwrites(part: Section, v: int) -> bool:
    """Whether in all orders, an operator is the last to read a tensor that it can overwrite."""
    spend(_readers_of_overwritten(part, v))
    return any(
        all(reader == v or part.before[v] >> reader & 1 for reader in part.tensors[tensor].readers)
        for tensor in part.overwrites[v]
    )
