"""Searches all schedules of a module, between its first and its last operator, for a short one.

A module is a few operators with what they read from one another; the begin of the interval is 0.
The search first decides on devices, then on the order of what happens on each device and port.
A branch ends where the threshold is exceeded for sure:

- Each operator has, on each device that is still allowed, a least start (head) and a least time
  from its end to the end of the interval (tail), each along paths with the best allowed devices of
  what comes before and after. Where head + duration + tail exceeds the threshold, the device is not
  allowed any more.
- A device runs what can only be there one after another; a port moves what has to pass it one after
  another. So for any of these, the least head, the ticks of all and the least tail add up to at
  most the threshold.
- Once devices are known, so are the transfers. Of two operators or transfers that cannot overlap,
  one comes first. Where one order exceeds the threshold, the other is decided; where both do, the
  branch ends; else one of the two is tried, and then the other.

If no branch is left, no schedule takes as little as the threshold. If nothing overlaps although
not all orders are decided, all at its head is a schedule.

The functions take and change plain sequences of integers, so that the producer of certificates can
compile them as they are: no slices, no nested lists. Entry (v, d) of a table of operators
and devices is at ``v * devices + d``. Sets of devices are bits. Each function adds to ``count[0]``
what it does, in steps.
"""

from typing import Any, NamedTuple, TypeAlias

# A list of integers, or an array of them.
Numbers: TypeAlias = Any

# What can never be; larger than all thresholds, and sums of a few fit into 64 bits.
NEVER = 2**60

REFUTED, FOUND, TOO_LONG = 0, 1, 2

# The order of a pair: open, as it is written, or the other way round.
OPEN, FORWARD, BACKWARD = 0, 1, 2


class Module(NamedTuple):
    """Operators in topological order, the first and the last one of the interval among them.

    Attributes
    ----------
    duration
        Ticks by operator and device.
    allowed
        For each operator, the devices where it can be.
    source, target
        Operators of each arc, a tensor or an interval proven before; arcs are sorted by target.
    ticks
        Of each arc, from each device to each other one.
    tensor
        Of each arc; -1 for intervals, which occupy no port.
    is_shared
        1 if the consumers of a tensor on a device share its transfer, else 0.
    waits
        At ``u * operators + v``, 1 if v waits for u.
    is_inner
        1 for operators inside of chains, which are decided last.
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


class Scratch(NamedTuple):
    """What the search writes to.

    Attributes
    ----------
    count
        Steps so far; operators and transfers, precedences and pairs of the schedule.
    allowed, only, heads, tails, stack
        Of the current branch, and the allowed devices of those that wait; `only` is the device
        where there is just one, else -1.
    head, ticks, tail, key, order
        Of what one device or port has to do.
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
        4, operators, operators, table, table, rows,
        *[items + 1] * 5,
        operators, *[items + 1] * 6,
        *[2 * arcs + 1] * 3,
        *[pairs] * 5,
    ]  # fmt: skip


def fill_heads(module: Module, room: Scratch) -> None:
    """Fill in the least starts."""
    width, only, heads, allowed = module.devices, room.only, room.heads, room.allowed
    source, target, ticks, duration = module.source, module.target, module.ticks, module.duration
    wide = 0
    for arc in range(len(source)):
        u, v = source[arc], target[arc]
        if only[u] >= 0 and only[v] >= 0:
            at = u * width + only[u]
            there = heads[at] + duration[at] + ticks[(arc * width + only[u]) * width + only[v]]
            if there > heads[v * width + only[v]]:
                heads[v * width + only[v]] = there
            continue
        wide += 1
        for e in range(width):
            if allowed[v] >> e & 1:
                least = NEVER
                for d in range(width):
                    if allowed[u] >> d & 1:
                        at = u * width + d
                        there = heads[at] + duration[at] + ticks[(arc * width + d) * width + e]
                        if there < least:
                            least = there
                if least > heads[v * width + e]:
                    heads[v * width + e] = least
    room.count[0] += len(source) // 2 + wide * width


def fill_tails(module: Module, room: Scratch) -> None:
    """Fill in the least times from ends to the end of the interval."""
    width, only, tails, allowed = module.devices, room.only, room.tails, room.allowed
    source, target, ticks, duration = module.source, module.target, module.ticks, module.duration
    wide = 0
    for arc in range(len(source) - 1, -1, -1):
        u, v = source[arc], target[arc]
        if only[u] >= 0 and only[v] >= 0:
            at = v * width + only[v]
            there = tails[at] + duration[at] + ticks[(arc * width + only[u]) * width + only[v]]
            if there > tails[u * width + only[u]]:
                tails[u * width + only[u]] = there
            continue
        wide += 1
        for d in range(width):
            if allowed[u] >> d & 1:
                least = NEVER
                for e in range(width):
                    if allowed[v] >> e & 1:
                        at = v * width + e
                        there = tails[at] + duration[at] + ticks[(arc * width + d) * width + e]
                        if there < least:
                            least = there
                if least > tails[u * width + d]:
                    tails[u * width + d] = least
    room.count[0] += len(source) // 2 + wide * width


def narrow(module: Module, room: Scratch, threshold: int, limit: int) -> bool:
    """Fill in heads and tails, take away devices that are too late; False if none is left."""
    width, allowed, only, duration = module.devices, room.allowed, room.only, module.duration
    heads, tails = room.heads, room.tails
    while True:
        for at in range(module.operators * width):
            heads[at] = 0
            tails[at] = 0
        for v in range(module.operators):
            only[v] = -1
            if allowed[v] & (allowed[v] - 1) == 0:
                only[v] = 0
                while allowed[v] >> only[v] != 1:
                    only[v] += 1
        fill_heads(module, room)
        fill_tails(module, room)
        is_changed = False
        room.count[0] += module.operators
        for v in range(module.operators):
            for d in range(width):
                at = v * width + d
                if allowed[v] >> d & 1 and heads[at] + duration[at] + tails[at] > threshold:
                    allowed[v] ^= 1 << d
                    is_changed = True
            if allowed[v] == 0:
                return False
        if not is_changed or room.count[0] > limit:
            return True


def is_too_much(room: Scratch, size: int, threshold: int) -> bool:
    """Whether some of what a device or port has to do cannot be done within the threshold."""
    head, ticks, tail, order = room.head, room.ticks, room.tail, room.order
    room.count[0] += size + size * size // 6
    # Longest tail first.
    for i in range(size):
        at = i
        while at > 0 and tail[order[at - 1]] < tail[i]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = i
    for i in range(size):
        least, total = head[i], 0
        for at in range(size):
            j = order[at]
            if head[j] >= least:
                total += ticks[j]
                if least + total + tail[j] > threshold:
                    return True
    return False


def put(room: Scratch, size: int, key: int, head: int, ticks: int, tail: int) -> int:
    """Add to what a port has to do, or lengthen a tail if the key is there; return how many."""
    if key >= 0:
        for i in range(size):
            if room.key[i] == key:
                if tail > room.tail[i]:
                    room.tail[i] = tail
                return size
    room.key[size], room.head[size], room.ticks[size], room.tail[size] = key, head, ticks, tail
    return size + 1


def is_overloaded(module: Module, room: Scratch, threshold: int) -> bool:
    """Whether a device or a port has too much to do, whatever is decided later."""
    width = module.devices
    allowed, heads, tails, duration = room.allowed, room.heads, room.tails, module.duration
    source, target, arcs = module.source, module.target, len(module.source)
    room.count[0] += width * (module.operators + 2 * arcs) // 6
    for d in range(width):
        size, bit = 0, 1 << d
        for v in range(module.operators):
            at = v * width + d
            if allowed[v] == bit and duration[at] > 0:
                size = put(room, size, -1, heads[at], duration[at], tails[at])
        if size > 1 and is_too_much(room, size, threshold):
            return True
    for d in range(width):
        received, sent, bit = 0, 0, 1 << d
        for arc in range(arcs):
            u, v = source[arc], target[arc]
            if allowed[v] != bit or allowed[u] & bit or module.tensor[arc] < 0:
                continue
            head, ticks = NEVER, NEVER
            for e in range(width):
                if allowed[u] >> e & 1:
                    head = min(head, heads[u * width + e] + duration[u * width + e])
                    ticks = min(ticks, module.ticks[(arc * width + e) * width + d])
            if ticks > 0:
                key = module.tensor[arc] if module.is_shared else -1
                tail = duration[v * width + d] + tails[v * width + d]
                received = put(room, received, key, head, ticks, tail)
        if received > 1 and is_too_much(room, received, threshold):
            return True
        for arc in range(arcs):
            u, v = source[arc], target[arc]
            if allowed[u] != bit or allowed[v] & bit or module.tensor[arc] < 0:
                continue
            # Two consumers of a shared tensor on devices not yet known may need only one transfer.
            if module.is_shared and allowed[v] & (allowed[v] - 1):
                continue
            tail, ticks, to = NEVER, NEVER, 0
            for e in range(width):
                if allowed[v] >> e & 1:
                    to = e
                    tail = min(tail, duration[v * width + e] + tails[v * width + e])
                    ticks = min(ticks, module.ticks[(arc * width + d) * width + e])
            if ticks > 0:
                key = module.tensor[arc] * width + to if module.is_shared else -1
                head = heads[u * width + d] + duration[u * width + d]
                sent = put(room, sent, key, head, ticks, tail)
        if sent > 1 and is_too_much(room, sent, threshold):
            return True
    return False


def most_urgent(module: Module, room: Scratch) -> int:
    """Return the operator to decide next, -1 if all have one device.

    Ends of chains come first, then those with fewest devices, then those for which the second best
    device is worst in comparison with the best.
    """
    width, found, fewest, largest = module.devices, -1, 0, 0
    room.count[0] += module.operators
    for v in range(module.operators):
        if room.allowed[v] & (room.allowed[v] - 1) == 0:
            continue
        devices = 2 * width * module.is_inner[v]
        best, second = NEVER, NEVER
        for d in range(width):
            if room.allowed[v] >> d & 1:
                devices += 1
                at = v * width + d
                total = room.heads[at] + module.duration[at] + room.tails[at]
                if total < best:
                    best, second = total, best
                elif total < second:
                    second = total
        if found < 0 or devices < fewest or (devices == fewest and second - best > largest):
            found, fewest, largest = v, devices, second - best
    return found


def list_items(module: Module, room: Scratch) -> None:
    """Write down operators, transfers and their precedences, given the devices."""
    width, device = module.devices, room.device
    items, precedences = module.operators, 0
    for v in range(module.operators):
        ticks = module.duration[v * width + device[v]]
        room.long[v], room.moved[v], room.receiver[v] = ticks, -1, -1
        room.sender[v] = device[v] if ticks > 0 else -1
    for arc in range(len(module.source)):
        u, v, tensor = module.source[arc], module.target[arc], module.tensor[arc]
        ticks = module.ticks[(arc * width + device[u]) * width + device[v]]
        first, lag = u, ticks
        if tensor >= 0 and ticks > 0 and device[u] != device[v]:
            to, first, lag = 2 * width + device[v], -1, 0
            for i in range(module.operators, items):
                if module.is_shared and room.moved[i] == tensor and room.receiver[i] == to:
                    first = i
            if first < 0:
                first = items
                room.long[first], room.moved[first] = ticks, tensor
                room.sender[first], room.receiver[first] = width + device[u], to
                items += 1
                room.before[precedences], room.behind[precedences] = u, first
                room.lag[precedences] = 0
                precedences += 1
        room.before[precedences], room.behind[precedences] = first, v
        room.lag[precedences] = lag
        precedences += 1
    pairs = 0
    for i in range(items):
        for j in range(i + 1, items):
            is_same = room.sender[i] >= 0 and room.sender[i] == room.sender[j]
            is_same = is_same or (room.receiver[i] >= 0 and room.receiver[i] == room.receiver[j])
            if is_same and j < module.operators:
                is_same = module.waits[i * module.operators + j] == 0
            if is_same:
                room.one[pairs], room.other[pairs], room.decided[pairs] = i, j, OPEN
                pairs += 1
    room.count[0] += items * items // 4
    room.count[1], room.count[2], room.count[3] = items, precedences, pairs


def delay(room: Scratch, i: int, j: int, lag: int) -> bool:
    """Let j start and i end in time, if i comes first; whether that changes anything."""
    start, after, is_changed = room.start, room.after, False
    there = start[i] + room.long[i] + lag
    if there > start[j]:
        start[j] = there
        is_changed = True
    there = after[j] + room.long[j] + lag
    if there > after[i]:
        after[i] = there
        is_changed = True
    return is_changed


def settle(room: Scratch, threshold: int, trailed: int, limit: int) -> int:
    """Fill in starts and tails, and decide pairs of which one order is too late.

    Returns
    -------
    int
        How many pairs are in the trail then, -1 - that if the threshold is exceeded.
    """
    items, precedences, pairs = room.count[1], room.count[2], room.count[3]
    for i in range(items):
        room.start[i] = 0
        room.after[i] = 0
    is_changed = True
    while is_changed and room.count[0] <= limit:
        is_changed = False
        room.count[0] += (items + 2 * precedences + pairs) // 3
        for at in range(precedences):
            if delay(room, room.before[at], room.behind[at], room.lag[at]):
                is_changed = True
        for at in range(precedences - 1, -1, -1):
            if delay(room, room.before[at], room.behind[at], room.lag[at]):
                is_changed = True
        for pair in range(pairs):
            i, j = room.one[pair], room.other[pair]
            if room.decided[pair] == OPEN:
                both = room.long[i] + room.long[j]
                if room.start[i] + both + room.after[j] > threshold:
                    room.decided[pair] = BACKWARD
                elif room.start[j] + both + room.after[i] > threshold:
                    room.decided[pair] = FORWARD
                else:
                    continue
                room.trail[trailed], room.is_choice[trailed] = pair, 0
                trailed += 1
            if room.decided[pair] == BACKWARD:
                i, j = j, i
            if delay(room, i, j, 0):
                is_changed = True
        for i in range(items):
            if room.start[i] + room.long[i] + room.after[i] > threshold:
                return -1 - trailed
    return trailed


def is_port_overloaded(module: Module, room: Scratch, threshold: int) -> bool:
    """Whether a device or a port has too much to do, once all operators have a device."""
    room.count[0] += module.devices * room.count[1] // 2
    for resource in range(3 * module.devices):
        size = 0
        for i in range(room.count[1]):
            if room.sender[i] == resource or room.receiver[i] == resource:
                size = put(room, size, -1, room.start[i], room.long[i], room.after[i])
        if size > 2 and is_too_much(room, size, threshold):
            return True
    return False


def conflict(room: Scratch) -> int:
    """Return the pair that overlaps most if all start at their heads, -1 if none does."""
    found, largest = -1, 0
    for pair in range(room.count[3]):
        if room.decided[pair] == OPEN:
            i, j = room.one[pair], room.other[pair]
            overlap = min(
                room.start[i] + room.long[i] - room.start[j],
                room.start[j] + room.long[j] - room.start[i],
            )
            if overlap > largest:
                found, largest = pair, overlap
    return found


def order(module: Module, room: Scratch, threshold: int, limit: int) -> int:
    """Search all orders, given the devices; return what came of it."""
    list_items(module, room)
    trailed = 0
    while True:
        trailed = settle(room, threshold, trailed, limit)
        if room.count[0] > limit:
            return TOO_LONG
        is_refuted = trailed < 0
        if is_refuted:
            trailed = -1 - trailed
        else:
            is_refuted = is_port_overloaded(module, room, threshold)
        if not is_refuted:
            pair = conflict(room)
            if pair < 0:
                return FOUND
            i, j = room.one[pair], room.other[pair]
            is_forward = room.start[i] + room.after[j] <= room.start[j] + room.after[i]
            room.decided[pair] = FORWARD if is_forward else BACKWARD
            room.trail[trailed], room.is_choice[trailed] = pair, 1
            trailed += 1
            continue
        # Back to the last choice, and on with its alternative.
        while trailed > 0 and room.is_choice[trailed - 1] == 0:
            trailed -= 1
            room.decided[room.trail[trailed]] = OPEN
        if trailed == 0:
            return REFUTED
        pair = room.trail[trailed - 1]
        room.decided[pair] = FORWARD + BACKWARD - room.decided[pair]
        room.is_choice[trailed - 1] = 0


def search(module: Module, room: Scratch, threshold: int, limit: int) -> int:
    """Return whether schedules up to the threshold are refuted, one was found, or it took too long.

    Parameters
    ----------
    limit
        Steps after which the search ends.
    """
    size, width, allowed = module.operators, module.devices, room.allowed
    room.count[0] = 0
    for v in range(size):
        room.stack[v] = module.allowed[v]
    rows = 1
    while rows > 0:
        if room.count[0] > limit:
            return TOO_LONG
        rows -= 1
        for v in range(size):
            allowed[v] = room.stack[rows * size + v]
        if not narrow(module, room, threshold, limit) or is_overloaded(module, room, threshold):
            continue
        chosen = most_urgent(module, room)
        if chosen < 0:
            for v in range(size):
                room.device[v] = 0
                while not allowed[v] >> room.device[v] & 1:
                    room.device[v] += 1
            found = order(module, room, threshold, limit)
            if found != REFUTED:
                return found
            continue
        # The best device comes last, and is taken first.
        left = allowed[chosen]
        while left:
            worst, largest = 0, -1
            for d in range(width):
                at = chosen * width + d
                total = room.heads[at] + module.duration[at] + room.tails[at]
                if left >> d & 1 and total > largest:
                    worst, largest = d, total
            left ^= 1 << worst
            for v in range(size):
                room.stack[rows * size + v] = allowed[v]
            room.stack[rows * size + chosen] = 1 << worst
            rows += 1
    return REFUTED
