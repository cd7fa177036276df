"""Repetends: which blocks they have, and their shortest schedule ([TESSEL24], Section IV-B)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from boundmark.heuristics.microbatch.start_times import Find, Question
from boundmark.problems.dag import Dag
from boundmark.problems.microbatch import BlockLayout


@dataclass(frozen=True)
class TimedRepetend:
    """A repetend with start times.

    Attributes
    ----------
    members
        The micro-batch of each block.
    starts
        The start of each block; the first one starts at 0.
    period
        Ticks from one repetition to the next.
    """

    members: tuple[int, ...]
    starts: tuple[int, ...]
    period: int


def most_in_flight(layout: BlockLayout, capacity: Sequence[int]) -> int:
    """Return how many micro-batches fit into memory at a time (CalMaxInflight, Algorithm 1).

    A device can hold what a block allocates for at most floor(capacity / memory) micro-batches;
    the least such number counts. Without allocations, it is the number of blocks on the longest
    path: with so many micro-batches each block can run a repetition later than what it waits for,
    and no device idles.
    """
    fitting = [
        capacity[device] // block.memory
        for block in layout.blocks
        for device in block.devices
        if block.memory > 0
    ]
    return min(fitting, default=longest_path(layout.dag))


def longest_path(dag: Dag) -> int:
    """Return the number of nodes on a longest path."""
    length = [1] * dag.nodes
    for node in dag.topological_order.tolist():
        for consumer in dag.consumers_of(node).tolist():
            length[consumer] = max(length[consumer], length[node] + 1)
    return max(length)


def assignments(dag: Dag, micro_batches: int) -> Iterator[tuple[int, ...]]:
    """Yield assignments of micro-batches to the blocks of a repetend (IterRepetendBlocks).

    They do not increase along dependencies (Property IV.2). The least one is 0, because a repetend
    with all numbers increased by 1 is the same, and the largest one is `micro_batches` - 1, because
    Algorithm 1 has tried those with fewer before.
    """
    order = dag.topological_order.tolist()
    producers = [dag.producers_of(node).tolist() for node in order]
    sources = [node for node in order if not len(dag.producers_of(node))]
    sinks = [node for node in order if not len(dag.consumers_of(node))]
    members = [0] * dag.nodes

    def choices(position: int) -> Iterator[int]:
        node = order[position]
        least = 0
        most = min((members[p] for p in producers[position]), default=micro_batches - 1)
        if node == sources[-1] and all(members[s] < micro_batches - 1 for s in sources[:-1]):
            least = micro_batches - 1
        if node == sinks[-1] and all(members[s] > 0 for s in sinks[:-1]):
            most = 0
        return iter(range(most, least - 1, -1))

    left = [choices(0)]
    while left:
        member = next(left[-1], None)
        if member is None:
            left.pop()
            continue
        members[order[len(left) - 1]] = member
        if len(left) == len(order):
            yield tuple(members)
        else:
            left.append(choices(len(left)))


def held_before(layout: BlockLayout, members: Sequence[int]) -> tuple[int, ...]:
    """Return the memory in use on each device when its first block of a repetend starts.

    Each block has run with all micro-batches before its member of the repetend.
    """
    return tuple(
        sum(layout.blocks[i].memory * members[i] for i in here) for here in layout.on_device
    )


def shortest_repetend(
    layout: BlockLayout,
    capacity: Sequence[int],
    members: tuple[int, ...],
    at_most: int,
    find: Find,
) -> TimedRepetend | None:
    """Return the schedule of a repetend with the shortest period, None if that exceeds `at_most`.

    The period is t_R of Equation 4: the least number of ticks by which repetitions can follow one
    another such that each device finishes one repetition before it begins the next, and no block
    starts before what it waits for is done in an earlier repetition (Figure 6b). Bisection over
    periods (Section V) begins with `at_most`, since most repetends fail there.
    """
    least, most = max(layout.loads), at_most
    best = None
    period = most
    while least <= most:
        starts = find(_question(layout, capacity, members, period))
        if starts is None:
            least = period + 1
        else:
            first = min(starts)
            starts = [start - first for start in starts]
            best = TimedRepetend(members, tuple(starts), period_of(layout, members, starts))
            most = best.period - 1
        period = (least + most) // 2
    return best


def period_of(layout: BlockLayout, members: Sequence[int], starts: Sequence[int]) -> int:
    """Return t_R of Equation 4 for the start times of a repetend."""
    ends = [start + block.duration for start, block in zip(starts, layout.blocks, strict=True)]
    executing = [
        max(ends[i] for i in here) - min(starts[i] for i in here)
        for here in layout.on_device
        if here
    ]
    waiting: list[int] = [
        -((starts[j] - ends[i]) // (members[i] - members[j]))
        for i, j in layout.dag.edge_pairs().tolist()
        if members[i] > members[j]
    ]
    return max(executing + waiting)


def _question(
    layout: BlockLayout, capacity: Sequence[int], members: Sequence[int], period: int
) -> Question:
    durations = tuple(layout.durations.tolist())
    # The result of i that j needs comes from so many repetitions before.
    lags = [
        (i, j, durations[i] - period * (members[i] - members[j]))
        for i, j in layout.dag.edge_pairs().tolist()
    ]
    # A device ends a repetition within a period of its first start.
    pairs = {(i, j) for here in layout.on_device for i in here for j in here if i != j}
    lags += [(i, j, durations[i] - period) for i, j in sorted(pairs)]
    return Question(
        durations,
        tuple(layout.memory.tolist()),
        layout.on_device,
        tuple(c - h for c, h in zip(capacity, held_before(layout, members), strict=True)),
        tuple(lags),
        # Where a block starts as early as the others allow, it starts at the end of one of them or
        # earlier, so this is no restriction.
        sum(durations),
    )
