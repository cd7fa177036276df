"""`interleave`: virtual stages in proportion to speed, improved by moving layers between them.

With v virtual stages on each of p devices, the ends of v p stages are all that there is to choose,
beside the order of the devices. Moves shift one end, or neighbouring ends together, by one layer;
where none helps and all fits, two ends by one layer each. A move is taken if less memory is
missing, or as little and the loads of the devices, largest first, are smaller.
"""

import bisect
import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from boundmark.problems.errors import UnsupportedError
from boundmark.problems.layers import LayerAssignment, LayersInstance, Stage
from boundmark.problems.layers.flights import INTERLEAVED, held, interleaved_peak
from boundmark.problems.layers.instance import FREE
from boundmark.problems.method import Budget, Progress


def run(
    instance: LayersInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the best assignment found from each start, on as many devices as possible.

    Raises
    ------
    UnsupportedError
        If there are no virtual stages, or none that was tried fits.
    """
    v, layers = instance.virtual_stages, instance.chain.layers
    if v == 1:
        raise UnsupportedError("there are no virtual stages; the method expects some.")
    parts, most = layers - len(instance.chain.joined), len(instance.chain.devices)
    sizes = [p for p in range(min(most, parts // v), 1, -1) if _goes_round(instance, p)]
    missing: int | None = None
    for ranks in sizes:
        best: _Value | None = None
        for order in _orders(instance, ranks):
            devices = _Devices(instance, order)
            for ends in _starts(instance, devices):
                if budget.is_spent():
                    return
                value, moved = _improved(devices, ends, budget)
                if value.missing:
                    missing = min(value.missing, missing or value.missing)
                elif best is None or value < best:
                    best = value
                    progress.solution(devices.assignment(moved))
        if best is not None:
            return
    raise UnsupportedError(
        f"no assignment that was tried fits into memory; the best one lacks {missing:,} bytes."
        if missing
        else f"{parts} parts of the chain and {instance.micro_batches} micro-batches do not go "
        f"round two of {most} devices {v} times; the method expects more."
    )


class _Value(NamedTuple):
    """The value by which assignments are compared: missing bytes, and loads, largest first."""

    missing: int
    loads: list[int]


def _goes_round(instance: LayersInstance, ranks: int) -> bool:
    return instance.in_flight != INTERLEAVED or instance.micro_batches % ranks == 0


class _Devices:
    """Devices in an order, on which ends of stages have a value.

    Ends are numbers of places in `places`, where stages may end; the last one is the chain's end.
    """

    def __init__(self, instance: LayersInstance, order: Sequence[int]) -> None:
        self.instance, self.order = instance, order
        chain = instance.chain
        self.kinds = [chain.devices[device] for device in order]
        self.places = [at for at in range(1, chain.layers + 1) if at not in set(chain.joined)]
        self.count = instance.virtual_stages * len(order)
        self._time = [_sums(row) for row in chain.time.tolist()]
        self._weights, self._held = _sums(chain.weights.tolist()), _sums(chain.held.tolist())
        transfer, link = chain.transfer.tolist(), chain.link.tolist()
        after = [*self.kinds[1:], self.kinds[0]]
        self._capacity = [int(chain.capacity[kind]) for kind in self.kinds]
        self._known: dict[tuple[int, tuple[int, ...]], int] = {}
        self._sending = [transfer[link[a][b]] for a, b in zip(self.kinds, after, strict=True)]

    def loads(self, ends: Sequence[int]) -> list[int]:
        """Return the load of each device."""
        found, first, ranks = [0] * len(self.order), 0, len(self.order)
        for at, place in enumerate(ends):
            end, rank = self.places[place], at % ranks
            time = self._time[self.kinds[rank]]
            found[rank] += time[end] - time[first]
            if at + 1 < len(ends):
                found[rank] += self._sending[rank][end - 1]
            first = end
        return found

    def missing(self, ends: Sequence[int]) -> list[int]:
        """Return how many bytes each device lacks."""
        instance, ranks = self.instance, len(self.order)
        stops = [self.places[place] for place in ends]
        taken, kept = [0] * ranks, [[0] * instance.virtual_stages for _ in self.order]
        for at, (first, end) in enumerate(itertools.pairwise([0, *stops])):
            taken[at % ranks] += self._weights[end] - self._weights[first]
            kept[at % ranks][at // ranks] = self._held[end] - self._held[first]
        for i, j, shared in instance.chain.tied:
            rank = bisect.bisect_right(stops, i) % ranks
            if rank == bisect.bisect_right(stops, j) % ranks:
                taken[rank] -= shared
        for rank, parts in enumerate(kept):
            taken[rank] += self._activations(rank, tuple(parts))
        return [max(0, a - b) for a, b in zip(taken, self._capacity, strict=True)]

    def _activations(self, rank: int, parts: tuple[int, ...]) -> int:
        """Return the bytes of all micro-batches in flight on a device, of which few differ."""
        if (rank, parts) not in self._known:
            rule, batches = self.instance.in_flight, self.instance.micro_batches
            self._known[rank, parts] = (
                interleaved_peak(parts, rank, len(self.order), batches)
                if rule == INTERLEAVED
                else held(rule, batches, 0, self.count) * sum(parts)
            )
        return self._known[rank, parts]

    def assignment(self, ends: Sequence[int]) -> LayerAssignment:
        """Return the assignment with these ends of stages."""
        stops = [0, *(self.places[place] for place in ends)]
        return LayerAssignment.of_stages(
            Stage(self.order[at % len(self.order)], first, end)
            for at, (first, end) in enumerate(itertools.pairwise(stops))
        )


def _sums(values: list[int]) -> list[int]:
    return [0, *itertools.accumulate(values)]


def _orders(instance: LayersInstance, ranks: int) -> list[list[int]]:
    """Return the fastest devices as they stand and, if the order is free, by speed either way."""
    chain = instance.chain
    work = [sum(row) for row in chain.time.tolist()]
    fast = sorted(range(len(chain.devices)), key=lambda device: work[chain.devices[device]])[:ranks]
    if instance.device_order != FREE or len({chain.devices[device] for device in fast}) == 1:
        return [sorted(fast)]
    return [sorted(fast), fast, fast[::-1]]


def _starts(instance: LayersInstance, devices: _Devices) -> Iterator[list[int]]:
    """Yield ends of stages of even sizes, and of sizes in proportion to the devices' speeds."""
    times = instance.chain.time.tolist()
    speeds = [1 / max(1, sum(times[kind])) for kind in devices.kinds] * instance.virtual_stages
    sizes = [1] * instance.chain.layers
    for shares, work in (
        ([1.0] * devices.count, sizes),
        (speeds, [1 + time for time in times[devices.kinds[0]]]),
    ):
        yield _ends(devices, shares, _sums(work))


def _ends(devices: _Devices, shares: Sequence[float], work: Sequence[int]) -> list[int]:
    """Return ends up to which the work is nearest to the shares so far."""
    found, last, total = [-1], len(devices.places) - 1, sum(shares)
    for at, share in enumerate(itertools.accumulate(shares[:-1])):
        wanted = share / total * work[-1]
        allowed = range(found[-1] + 1, last - (devices.count - at - 2))
        found.append(min(allowed, key=lambda place: abs(work[devices.places[place]] - wanted)))
    return [*found[1:], last]


def _improved(devices: _Devices, ends: list[int], budget: Budget) -> tuple[_Value, list[int]]:
    """Return the ends that moves lead to, and their value."""
    loads, missing = devices.loads(ends), devices.missing(ends)
    value = _Value(sum(missing), sorted(loads, reverse=True))
    is_better = True
    while is_better and not budget.is_spent():
        is_better = False
        # The device that lacks most, or else the slowest one, has to give a layer.
        worst = missing if value.missing else loads
        giver = worst.index(max(worst))
        moves: Iterator[list[int]] = _shifts(devices, ends, giver)
        if not value.missing:
            moves = itertools.chain(moves, _pairs(devices, ends, giver))
        for moved in moves:
            other, tried, lacking = _compared(devices, moved, value)
            if other < value:
                ends, loads, missing, value, is_better = moved, tried, lacking, other, True
                break
            if budget.is_spent():
                break
    return value, ends


def _compared(
    devices: _Devices, ends: list[int], best: _Value
) -> tuple[_Value, list[int], list[int]]:
    """Return the value, loads and missing bytes of ends, or the best value if these are no better.

    Loads take less time than memory, and most moves make them larger.
    """
    loads = devices.loads(ends)
    descending = sorted(loads, reverse=True)
    if best.missing == 0 and descending >= best.loads:
        return best, [], []
    missing = devices.missing(ends)
    return _Value(sum(missing), descending), loads, missing


def _shifts(devices: _Devices, ends: list[int], giver: int) -> Iterator[list[int]]:
    """Yield ends after moves of one layer from a device's stage to one of another device.

    Ends between the two go one place towards the stage that gives.
    """
    ranks = len(devices.order)
    for stage in range(giver, len(ends), ranks):
        for other in range(len(ends)):
            if other % ranks != giver:
                low, high, by = min(stage, other), max(stage, other), -1 if stage < other else 1
                moved = [end + by if low <= at < high else end for at, end in enumerate(ends)]
                if _ascend(moved):
                    yield moved


def _pairs(devices: _Devices, ends: list[int], giver: int) -> Iterator[list[int]]:
    """Yield ends of which two are moved by one place, the first one next to a device's stage."""
    ranks, last = len(devices.order), len(ends) - 1
    beside = [at for at in range(last) if giver in (at % ranks, (at + 1) % ranks)]
    for first, second in itertools.product(beside, range(last)):
        for by, other in itertools.product((-1, 1), repeat=2):
            if first != second:
                moved = list(ends)
                moved[first] += by
                moved[second] += other
                if _ascend(moved):
                    yield moved


def _ascend(ends: list[int]) -> bool:
    return ends[0] >= 0 and all(a < b for a, b in itertools.pairwise(ends))
