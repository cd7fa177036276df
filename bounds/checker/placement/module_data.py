"""The data of a module's search, in plain sequences of integers, so that it can be compiled.

Entry (v, d) of a table of operators and devices is at ``v * devices + d``. Sets of devices are
bits.
"""

from typing import Any, NamedTuple, TypeAlias

# A list of integers, or an array of them.
Numbers: TypeAlias = Any

# What can never be; larger than all thresholds, and sums of a few fit into 64 bits.
NEVER = 2**60

# The order of a pair: open, as it is written, or the other way round.
OPEN, FORWARD, BACKWARD = 0, 1, 2


class Module(NamedTuple):
    """The operators of an interval and its ends, in topological order, with what connects them.

    Attributes
    ----------
    duration
        Ticks by operator and device.
    allowed
        For each operator, the devices where it can be.
    source, target
        Operators of each arc, a tensor or an interval proven before; arcs are sorted by target.
    ticks
        Time of each arc, from each device to each other one.
    tensor
        Tensor of each arc; -1 for intervals, which occupy no port.
    is_shared
        1 if the consumers of a tensor on a device share its transfer, else 0.
    waits
        At ``u * operators + v``, 1 if v waits for u.
    is_inner
        1 for operators inside of chains, which are decided last.
    memory, capacity
        Memory of each operator, and of each device.
    alike
        For each device, the first one that it can be exchanged for without any change but of
        `allowed`.
    """

    operators: int
    devices: int
    duration: Numbers
    allowed: Numbers
    source: Numbers
    target: Numbers
    ticks: Numbers
    tensor: Numbers
    is_shared: int
    waits: Numbers
    is_inner: Numbers
    memory: Numbers
    capacity: Numbers
    alike: Numbers


class Scratch(NamedTuple):
    """Arrays that the search writes to.

    Attributes
    ----------
    count
        Steps so far; operators and transfers, precedences and pairs of the schedule.
    allowed, only, heads, tails, stack, held
        Of the current branch, and the allowed devices of those that wait; `only` is the device
        where there is just one, else -1; `held` is their memory.
    head, ticks, tail, key, order
        Jobs of one device or port.
    device, start
        Of the operators, and in `start` then of the transfers, of what was found.
    long, after, sender, receiver, moved
        Ticks, tail, resources and tensor of operators and transfers; -1 for none.
    before, behind, lag
        Precedences: who ends `lag` ticks before who starts.
    one, other, decided, trail, is_choice
        Pairs that cannot overlap, their order, and in which sequence it was decided.
    """

    count: Numbers
    allowed: Numbers
    only: Numbers
    heads: Numbers
    tails: Numbers
    stack: Numbers
    held: Numbers
    head: Numbers
    ticks: Numbers
    tail: Numbers
    key: Numbers
    order: Numbers
    device: Numbers
    start: Numbers
    long: Numbers
    after: Numbers
    sender: Numbers
    receiver: Numbers
    moved: Numbers
    before: Numbers
    behind: Numbers
    lag: Numbers
    one: Numbers
    other: Numbers
    decided: Numbers
    trail: Numbers
    is_choice: Numbers


def scratch_sizes(operators: int, devices: int, arcs: int) -> list[int]:
    """Return how long the sequences of a `Scratch` have to be."""
    items = operators + arcs
    pairs = items * (items - 1) // 2 + 1
    table, rows = operators * devices, (operators * devices + 1) * operators
    return [
        4, operators, operators, table, table, rows, devices,
        *[items + 1] * 5,
        operators, *[items + 1] * 6,
        *[2 * arcs + 1] * 3,
        *[pairs] * 5,
    ]  # fmt: skip
