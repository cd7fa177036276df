"""Searches all schedules of a module, between its first and its last operator, for a short one.

A module is a few operators with what they read from one another; the begin of the interval is 0.
The search first decides on devices, then on the order of what happens on each device and port.
A branch ends where the threshold is exceeded for sure:

- Each operator has, on each device that is still allowed, a least start (head) and a least time
  from its end to the end of the interval (tail), each along paths with the best allowed devices of
  what comes before and after. Where head + duration + tail exceeds the threshold, the device is not
  allowed any more.
- What can only be on a device has room there together, and with each one that may come to it.
- Of two devices that can be exchanged without any change to the branch, one is tried.
- A device runs what can only be there one after another; a port moves what has to pass it one after
  another. So for any of these, the least head, the ticks of all and the least tail add up to at
  most the threshold.
- Once devices are known, so are the transfers. Of two operators or transfers that cannot overlap,
  one comes first. Where one order exceeds the threshold, the other is decided; where both do, the
  branch ends; else one of the two is tried, and then the other.

If no branch is left, no schedule takes as little as the threshold. If nothing overlaps although
not all orders are decided, all at its head is a schedule.

The functions here and in `module_devices` take and change plain sequences of integers (see
`module_data`), so that the producer of certificates can compile them as they are: no slices, no
nested lists. Each function adds to ``count[0]`` what it does, in steps.
"""

from .module_data import BACKWARD, FORWARD, OPEN, Module, Scratch
from .module_devices import (
    is_overloaded,
    is_too_much,
    most_urgent,
    narrow,
    one_of_each,
    put,
)

REFUTED, FOUND, TOO_LONG = 0, 1, 2


def list_items(module: Module, room: Scratch) -> None:
    """List operators, transfers and their precedences, given the devices."""
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
    """Delay j behind i, and lengthen the tail of i; return whether either changed."""
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
    """Propagate starts and tails, and decide pairs for which one order exceeds the threshold."""
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
    """Whether the jobs of a device or a port exceed the threshold, given all devices."""
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
    """Return the pair that overlaps most if all start as early as possible, -1 if none does."""
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
    """Search all orders of items, given the devices; return the outcome."""
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
    """Tell whether schedules up to a threshold are refuted, one was found, or it took too long."""
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
        left = one_of_each(module, room, allowed[chosen])
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
