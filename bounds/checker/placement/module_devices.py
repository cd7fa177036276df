"""The first half of the search of a module: which devices are left for each operator.

See `module_search`, of which these are steps.
"""

from .module_data import NEVER, Module, Scratch


def fill(module: Module, room: Scratch, is_forward: bool) -> None:
    """Fill in the heads of all operators, or else their tails."""
    width, only, allowed, arcs = module.devices, room.only, room.allowed, len(module.source)
    ticks, duration = module.ticks, module.duration
    # From the near operator u on device d to the far operator v on device e.
    near, far = module.source, module.target
    found, first, step, stride_d, stride_e = room.heads, 0, 1, width, 1
    if not is_forward:
        near, far = far, near
        found, first, step, stride_d, stride_e = room.tails, arcs - 1, -1, 1, width
    wide = 0
    for number in range(arcs):
        arc = first + step * number
        u, v, begin = near[arc], far[arc], arc * width * width
        if only[u] >= 0 and only[v] >= 0:
            d, e = only[u], only[v]
            there = found[u * width + d] + duration[u * width + d]
            there += ticks[begin + d * stride_d + e * stride_e]
            if there > found[v * width + e]:
                found[v * width + e] = there
            continue
        wide += 1
        for e in range(width):
            if allowed[v] >> e & 1:
                least = NEVER
                for d in range(width):
                    if allowed[u] >> d & 1:
                        there = found[u * width + d] + duration[u * width + d]
                        there += ticks[begin + d * stride_d + e * stride_e]
                        if there < least:
                            least = there
                if least > found[v * width + e]:
                    found[v * width + e] = least
    room.count[0] += arcs // 2 + wide * width


def narrow(module: Module, room: Scratch, threshold: int, limit: int) -> bool:
    """Fill in heads and tails, take away devices that are late or full; False if none is left."""
    width, allowed, only, duration = module.devices, room.allowed, room.only, module.duration
    heads, tails, held = room.heads, room.tails, room.held
    while True:
        for at in range(module.operators * width):
            heads[at] = 0
            tails[at] = 0
        for d in range(width):
            held[d] = 0
        for v in range(module.operators):
            only[v] = -1
            if allowed[v] & (allowed[v] - 1) == 0:
                only[v] = 0
                while allowed[v] >> only[v] != 1:
                    only[v] += 1
                held[only[v]] += module.memory[v]
        fill(module, room, True)
        fill(module, room, False)
        is_changed = False
        room.count[0] += module.operators
        for v in range(module.operators):
            left = range(width) if only[v] < 0 else range(only[v], only[v] + 1)
            for d in left:
                at = v * width + d
                if allowed[v] >> d & 1:
                    beside = held[d] if only[v] == d else held[d] + module.memory[v]
                    is_late = heads[at] + duration[at] + tails[at] > threshold
                    if is_late or beside > module.capacity[d]:
                        allowed[v] ^= 1 << d
                        is_changed = True
            if allowed[v] == 0:
                return False
        if not is_changed or room.count[0] > limit:
            return True


def is_too_much(room: Scratch, size: int, threshold: int) -> bool:
    """Whether some of the jobs of a device or port exceed the threshold together."""
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
    """Add a job, or lengthen the tail of the job with the same key; return how many there are."""
    if key >= 0:
        for i in range(size):
            if room.key[i] == key:
                if tail > room.tail[i]:
                    room.tail[i] = tail
                return size
    room.key[size], room.head[size], room.ticks[size], room.tail[size] = key, head, ticks, tail
    return size + 1


def is_overloaded(module: Module, room: Scratch, threshold: int) -> bool:
    """Whether the jobs that a device or a port has for sure exceed the threshold."""
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


def one_of_each(module: Module, room: Scratch, left: int) -> int:
    """Return a set of devices with one representative of each group of devices that are alike.

    Two devices that are alike, and are allowed for the same operators, can be exchanged in every
    schedule of the branch. Whoever tries one of them knows of the other.
    """
    kept, allowed = left, room.allowed
    for d in range(module.devices):
        for e in range(module.alike[d], d):
            if kept >> d & 1 and kept >> e & 1 and module.alike[e] == module.alike[d]:
                room.count[0] += module.operators // 2
                is_same = True
                for v in range(module.operators):
                    if (allowed[v] >> d ^ allowed[v] >> e) & 1:
                        is_same = False
                        break
                if is_same:
                    kept ^= 1 << d
    return kept


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
