"""Searches all assignments of `layers` that cost little enough, from the last stage to the first.

A state is what is left to do: the layers before `start`, the devices that are not taken yet, the
type of the device that receives what these layers hand on, and the number of the next stage,
counted from the end, as far as it says how many micro-batches that stage holds. If devices may have
any order, those of a type that are left count only by their number; if not, it is the position up
to which they are taken.

The rest costs at least `Rest.least`, less the prices of all devices that are left: the cheapest
way to cover these layers where every device costs its price more, and any number of each may be
used. The way that does so with the devices that are left pays for no more than all of them. So
states whose cost so far and least rest are above the target lead nowhere, whatever the prices are.
Where there may be few stages only, these pay for no more than as many of the dearest devices, and
those that are left for no more than what is left of this.
"""

import heapq
from typing import Any, NamedTuple

from ..budget import hold, spend
from ..values import Rejected, fields, integer, integers
from .instance import Case, Instance
from .limits import MOST_PRICE

NEVER = 2**80

# Bytes that a layer takes where a stage may begin, and a state.
SPAN_BYTES = 120
STATE_BYTES = 600


class Step(NamedTuple):
    """A stage that begins at a layer, and what comes after it."""

    start: int
    device: int
    cost: int
    largest: int
    after: "Step | None"


class Rest:
    """Lower bounds on the cost of the first layers, if each device costs its type's price more."""

    def __init__(self, instance: Instance, case: Case, prices: list[int], cap: int) -> None:
        # cap: No stage may take longer.
        # case: How many micro-batches stages hold.
        self.instance, self.case, self.prices, self.cap = instance, case, prices, cap
        # Whether the memory refuses a stage that the cap leaves.
        self.is_tight = False
        self._spans: dict[tuple[int, int, int], list[tuple[int, int]]] = {}
        self._starts: dict[tuple[int, int, int, int], int] = {}
        self._size = 0
        n, types, most = len(instance.weights), len(prices), len(case.held)
        hold(100 * n * types * (most + 1))
        # By number of the stage, type of the receiver, and number of layers; `root` for all layers.
        self.least = [[[0] + [NEVER] * n for _ in prices] for _ in range(most + 1)]
        self.root = NEVER
        # If all types have the same stages, price and links, in some order, so are their bounds.
        columns = {frozenset(column) for column in zip(*instance.link, strict=True)}
        is_one = not any(instance.alike) and len({*columns, *map(frozenset, instance.link)}) == 1
        one_link = next(iter(columns)) if is_one and len(set(prices)) == 1 else None
        for count in range(most, 0, -1):
            table, behind = self.least[count], self.least[case.alike(count + 1)]
            if one_link is not None:
                self.least[count] = [table[0]] * types
            for end in range(1, n):
                if not instance.apart[end]:
                    continue
                if one_link is not None:
                    found = self._over_links(count, 0, end, behind[0])
                    table[0][end] = min(found[kind] for kind in one_link)
                    continue
                for sender in range(types):
                    kinds = instance.link[sender]
                    found = self._over_links(count, sender, end, behind[sender])
                    for receiver in range(types):
                        value = found[kinds[receiver]]
                        if value < table[receiver][end]:
                            table[receiver][end] = value
        behind = self.least[case.alike(2)]
        for sender in range(types):
            for start, time in self.spans(1, sender, n):
                value = behind[sender][start] + instance.adds * time + prices[sender]
                self.root = min(self.root, value)

    def spans(self, count: int, kind: int, end: int) -> list[tuple[int, int]]:
        """Return where a stage up to `end` may begin on a type, nearest first, and its ticks."""
        # `count`: Its number from the end.
        held, kind = self.case.held[self.case.alike(count) - 1], self.instance.alike[kind]
        known = self._spans.get((held, kind, end))
        if known is not None:
            return known
        one, time, size = self.instance, 0, 0
        found = []
        times, capacity, start = one.time[kind], one.capacity[kind], end
        while start > 0:
            start -= 1
            time += times[start]
            size += one.weights[start] + held * one.held[start]
            if start in one.partner and one.partner[start][0] < end:
                size -= one.partner[start][1]
            if size > capacity or time > self.cap:
                self.is_tight |= time <= self.cap
                break
            if one.apart[start] and (start == 0 or kind not in one.first):
                found.append((start, time))
        self._size += 4 + end - start
        spend(2 + end - start)
        hold(SPAN_BYTES * self._size)
        self._spans[held, kind, end] = found
        return found

    def starts(self, count: int, kind: int, over: int, ends: int) -> int:
        """Return where stages up to any of `ends` may begin, as bits; `over` is their link."""
        found, one, held = 0, self.instance, self.case.held[self.case.alike(count) - 1]
        kind = self.instance.alike[kind]
        spend(2 + 3 * ends.bit_count())
        while ends:
            bit = ends & -ends
            ends ^= bit
            end = bit.bit_length() - 1
            known = self._starts.get((held, kind, over, end))
            if known is None:
                known, limit = 0, self.cap - (one.transfer[over][end - 1] if over >= 0 else 0)
                spans = self.spans(count, kind, end)
                spend(4 + len(spans))
                for start, time in spans:
                    if time > limit:
                        break
                    known |= 1 << start
                self._starts[held, kind, over, end] = known
            found |= known
        return found

    def _over_links(self, count: int, sender: int, end: int, behind: list[int]) -> dict[int, int]:
        """Return the least cost of the first layers for each kind of link that the sender has."""
        one = self.instance
        spend(2 * len(one.link))
        ticks = {kind: one.transfer[kind][end - 1] for kind in set(one.link[sender])}
        waiting = sorted(ticks, key=lambda kind: ticks[kind])
        found, smallest = {}, NEVER
        spans = self.spans(count, sender, end)
        spend(len(spans))
        for start, time in spans:
            while waiting and time + ticks[waiting[-1]] > self.cap:
                found[waiting.pop()] = smallest
            smallest = min(smallest, behind[start] + one.adds * time)
        found.update(dict.fromkeys(waiting, smallest))
        return {
            kind: value + one.adds * ticks[kind] + self.prices[sender]
            for kind, value in found.items()
        }


class Reached(NamedTuple):
    """Layers that a stage on a device may begin at, as bits, and what comes after it."""

    starts: int
    device: int
    kind: int
    number: int
    unused: Any
    left: int
    after: "Reached | None"


def reached(instance: Instance, cap: int, prices: list[int]) -> tuple[Rest, Reached] | None:
    """Return a way to cover all layers with loads of at most `cap`; None if there is none."""
    for case in instance.cases:
        rest = Rest(instance._replace(adds=0), case, prices, cap)
        found = _reached(instance, rest)
        if found is not None:
            return rest, found
        if covers_others(instance, rest):
            break
    return None


def covers_others(instance: Instance, rest: Rest) -> bool:
    """Whether nothing is found in the cases behind the first one that it does not have.

    Their pipelines hold less on each stage. If the memory refuses no stage of the first case that
    is short enough, all of them are among its pipelines.
    """
    return rest.case is instance.cases[0] and not rest.is_tight


def _reached(instance: Instance, rest: Rest) -> Reached | None:
    """Return a way to cover all layers in one case.

    States that differ in nothing but the layers before them are expanded together.
    """
    n, case, prices = len(instance.weights), rest.case, rest.prices
    total = most_paid(instance, case, prices)
    if rest.root > total:
        return None
    stack = [Reached(1 << n, -1, -1, 1, _all_devices(instance), total, None)]
    seen: dict[tuple[Any, int, int], int] = {}
    while stack:
        state = stack.pop()
        later = case.later(state.number)
        found = []
        for kind, fewer, device, paid in _choices(instance, state.unused, prices):
            over = instance.link[kind][state.kind] if state.kind >= 0 else -1
            starts = rest.starts(state.number, kind, over, state.starts)
            new, key = starts & ~seen.get((fewer, kind, later), 0), (fewer, kind, later)
            left, kept, slack = state.left - paid, new & 1, -1
            least, waiting = rest.least[case.alike(later)][kind], new & ~1
            if kept:
                return Reached(1, device, kind, later, fewer, left, state)
            if state.number == case.most:
                continue
            while waiting:
                bit = waiting & -waiting
                waiting ^= bit
                spare = left - least[bit.bit_length() - 1]
                if spare >= 0:
                    kept |= bit
                    slack = max(slack, spare)
            spend(8 + 2 * new.bit_count() + new.bit_length() // 64)
            if kept:
                seen[key] = seen.get(key, 0) | kept
                found.append((slack, Reached(kept, device, kind, later, fewer, left, state)))
        stack += [one for _, one in sorted(found, key=lambda pair: pair[0])]
        hold((STATE_BYTES + n // 4) * (len(stack) + len(seen)))
    return None


def cheapest(
    instance: Instance, target: int, prices: list[int], largest_at_least: int = 0
) -> Step | None:
    """Return an assignment with the least sum or makespan up to the target, or None.

    Of those whose largest load is small enough, too, if it counts by itself.
    """
    # `largest_at_least`: What is known of the largest load of all assignments.
    best: Step | None = None
    for case in instance.cases:
        rest, found = _cheapest(instance, case, target, prices, largest_at_least)
        if found is not None:
            best = found
            target = found.cost + instance.rounds * found.largest - 1
        if covers_others(instance, rest):
            break
    return best


def _cheapest(
    instance: Instance, case: Case, target: int, prices: list[int], largest_at_least: int
) -> tuple[Rest, Step | None]:
    """Return the best assignment of one case, if its cost is at most the target."""
    n, rounds = len(instance.weights), instance.rounds
    total = most_paid(instance, case, prices)
    floor, cap = rounds * largest_at_least, min(target // (1 + rounds), target // instance.turns)
    rest = Rest(instance, case, prices, cap)
    if rounds and rest.root - total + floor <= target:
        # The largest load may be what the sum of all leaves to it; in this case, not in others.
        is_tight = rest.is_tight
        rest = Rest(instance, case, prices, min(cap, (target - rest.root + total) // rounds))
        rest.is_tight |= is_tight
    if rest.root - total + floor > target:
        return rest, None
    # Least cost, a number that breaks ties, layers left, devices left, receiver, number of the
    # stage, price, step.
    queue: list[Any] = [(0, 0, n, _all_devices(instance), -1, 1, total, Step(n, -1, 0, 0, None))]
    seen: dict[tuple[Any, ...], list[tuple[int, int]]] = {}
    pushed = 0
    while queue:
        _, _, end, unused, receiver, count, left, step = heapq.heappop(queue)
        assert isinstance(step, Step)
        if end == 0:
            return rest, step
        if (step.cost, step.largest) not in seen.get((end, unused, receiver, count), [(0, 0)]):
            # A better one came after it.
            continue
        later = case.later(count)
        for sender, fewer, device, paid in _choices(instance, unused, prices):
            sending = 0
            if receiver >= 0:
                sending = instance.transfer[instance.link[sender][receiver]][end - 1]
            spans, least = rest.spans(count, sender, end), rest.least[case.alike(later)][sender]
            spend(8 + 4 * len(spans))
            for start, time in spans:
                load = time + sending
                if load > rest.cap:
                    break
                cost = step.cost + load
                largest = max(step.largest, load) if rounds else 0
                bound = cost + max(rounds * largest, floor) + least[start]
                if start:
                    bound -= left - paid
                if bound > target or (start and count == case.most):
                    continue
                known = seen.setdefault((start, fewer, sender, later), [])
                spend(len(known))
                if any(c <= cost and most_ <= largest for c, most_ in known):
                    continue
                known[:] = [pair for pair in known if pair[0] < cost or pair[1] < largest]
                known.append((cost, largest))
                pushed += 1
                after = Step(start, device, cost, largest, step)
                heapq.heappush(
                    queue, (bound, -pushed, start, fewer, sender, later, left - paid, after)
                )
        hold(STATE_BYTES * pushed)
    return rest, None


def most_paid(instance: Instance, case: Case, prices: list[int]) -> int:
    """Return the most that the devices of an assignment pay, and empty ones in a given order."""
    spend(len(instance.devices))
    every = sorted((prices[kind] for kind in instance.devices), reverse=True)
    return sum(every[: case.most] if instance.is_free else every)


def _all_devices(instance: Instance) -> Any:
    """Return all devices: how many there are of each type, or the end of the order."""
    if instance.is_free:
        return tuple(map(len, instance.members))
    return len(instance.devices)


def _choices(instance: Instance, unused: Any, prices: list[int]) -> list[tuple[int, Any, int, int]]:
    """Return types that the next stage may have, what is then left, its device, and what it pays.

    In a given order, the last device of a type is taken, and those behind it stay empty.
    """
    if instance.is_free:
        spend(len(prices) * len(prices))
        return [
            (
                kind,
                (*unused[:kind], count - 1, *unused[kind + 1 :]),
                instance.members[kind][count - 1],
                prices[kind],
            )
            for kind, count in enumerate(unused)
            if count
        ]
    found: dict[int, tuple[int, Any, int, int]] = {}
    paid = 0
    for place in range(unused - 1, -1, -1):
        spend(1)
        kind = instance.devices[place]
        paid += prices[kind]
        found.setdefault(kind, (kind, place, place, paid))
        if len(found) == len(prices):
            break
    return list(found.values())


def layer_reach(instance: Instance, payload: Any) -> int:
    """Return the bound of a payload if no assignment costs less."""
    if instance.virtual_stages > 1:
        raise Rejected("the kind does not prove anything of instances with virtual stages")
    payload = fields(payload, "the payload", {"bound", "prices", "largest", "largest_prices"})
    bound = integer(payload["bound"], "bound of the payload", 0, NEVER)
    largest = integer(payload["largest"], "largest of the payload", 0, NEVER)
    prices, others = (
        integers(payload[name], f"{name} of the payload", 0, MOST_PRICE)
        for name in ("prices", "largest_prices")
    )
    if not len(prices) == len(others) == len(instance.members):
        raise Rejected("prices of the payload are not one for each type of device")
    if largest and reached(instance, largest - 1, others) is not None:
        raise Rejected("an assignment has a smaller largest load than the payload says")
    if not instance.adds:
        return largest
    if (
        bound > instance.turns * largest
        and cheapest(instance, bound - 1, prices, largest) is not None
    ):
        raise Rejected("an assignment costs less than the bound of the payload")
    return bound
