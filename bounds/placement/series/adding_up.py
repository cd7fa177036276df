"""Adds up the times of a chain's modules: the (min, +) product of their tables."""

from collections.abc import Callable, Sequence

from boundmark.bounds.placement.series.parts import Pair, Part

# Ticks of a pair of devices of a part.
Ticks = Callable[[Part, Pair], int]

Durations = Sequence[Sequence[int]]


def least(part: Part, pair: Pair) -> int:
    """Return what is proven."""
    return part.least[pair]


def least_ends(parts: Sequence[Part], duration: Durations, ticks: Ticks = least) -> list[list[int]]:
    """Return, for each part, the least end of its first operator on each device.

    Parameters
    ----------
    duration
        Of each operator on each device.
    """
    ends = [[0]]
    for part in parts[:-1]:
        ends.append(least_targets(part, duration, ends[-1], ticks))
    return ends


def least_targets(
    part: Part, duration: Durations, ends: Sequence[int], ticks: Ticks = least
) -> list[int]:
    """Return the least end of a part's last operator on each device, from those of its first."""
    return [
        duration[part.last][target]
        + min(ends[source] + ticks(part, (source, target)) for source in range(part.sources))
        for target in range(part.targets)
    ]


def least_rests(
    parts: Sequence[Part], duration: Durations, ticks: Ticks = least
) -> list[list[int]]:
    """Return, for each part, the least time from its last operator's start to the end."""
    rests = [[0]]
    for part in reversed(parts[1:]):
        rests.append(
            [
                duration[part.first][source]
                + min(
                    ticks(part, (source, target)) + rests[-1][target]
                    for target in range(part.targets)
                )
                for source in range(part.sources)
            ]
        )
    return rests[::-1]


def shortest_way(parts: Sequence[Part], duration: Durations, ticks: Ticks = least) -> list[Pair]:
    """Return the pair of devices of each part for which the times add up to the least."""
    rests = least_rests(parts, duration, ticks)
    way: list[Pair] = []
    source = 0
    for part, rest in zip(parts, rests, strict=True):
        totals = [ticks(part, (source, target)) + rest[target] for target in range(part.targets)]
        target = totals.index(min(totals))
        way.append((source, target))
        source = target
    return way
