"""The certificate of a chain: as few and as short searches as its bound needs."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from boundmark.bounds.checker.placement import limits
from boundmark.bounds.checker.placement.instance import Instance
from boundmark.bounds.checker.placement.paths import OUTSIDE, Network
from boundmark.bounds.placement.interval_load import least_whole
from boundmark.bounds.placement.series.parts import Known, Pair, Part

# Maps a part and a pair of devices to ticks.
Ticks = Callable[[Part, Pair], int]

Durations = Sequence[Sequence[int]]


def least(part: Part, pair: Pair) -> int:
    """Return the proven minimum ticks of a part for a pair of devices."""
    return part.least[pair]


def least_ends(parts: Sequence[Part], duration: Durations, ticks: Ticks = least) -> list[list[int]]:
    """Return, for each part, the least end of its first operator on each device."""
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


def total(parts: Sequence[Part], duration: Durations) -> int:
    """Return the least total of the parts over all choices of devices."""
    return min(
        parts[0].least[0, target] + rest
        for target, rest in enumerate(least_rests(parts, duration)[0])
    )


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


# How often a lower bound is tried if the searches take too long to be checked.
MOST_TRIALS = 8

# Number of sums, about, up to which pairs of devices are lowered one by one: some seconds.
MOST_SUMS = 10_000_000

# How often the ticks in doubt of a shared pair are halved: to a millionth.
HALVINGS = 20

WHOLE = {"first": OUTSIDE, "last": OUTSIDE, "rows": [], "searches": []}


def lowered(
    parts: Sequence[Part], duration: Durations, bound: int, most_steps: int = 0
) -> list[Part]:
    """Weaken the parts to what the bound needs, beginning with the longest searches.

    What a pair of devices has to take is what the rest leaves of the bound. So as one pair after
    the other is lowered, all ways along the chain still take at least the bound. Of long chains,
    pairs are lowered from the beginning to the end, in one go. What several parts or pairs of
    devices share is left out or kept as a whole; where that leaves too many steps, it is lowered.
    With at most `most_steps` in all searches, nothing that is shared is lowered.
    """
    given, parts = parts, _copied(parts)
    names = _names(parts)
    sums = len(names) * sum(len(part.least) for part in parts)
    if len(names) < sum(len(part.proofs) for part in parts):
        if sums <= MOST_SUMS:
            _lower_shared(parts, duration, bound, 0)
        if sums * HALVINGS <= MOST_SUMS and _steps(parts) > most_steps:
            # What is left out has used up what lowering could.
            parts = _copied(given)
            _lower_shared(parts, duration, bound, HALVINGS)
    elif sums > MOST_SUMS:
        _sweep(parts, duration, bound)
    else:
        for _, at, (source, target) in sorted(names.values(), reverse=True):
            ahead = least_ends(parts, duration)[at][source]
            needed = bound - ahead - least_rests(parts, duration)[at][target]
            _lower(parts[at], (source, target), needed)
    return parts


def _copied(parts: Sequence[Part]) -> list[Part]:
    """Return parts with copies of what is known; those that share it share the copy."""
    copies: dict[int, Known] = {}
    for part in parts:
        copies.setdefault(id(part.known), part.known.copy())
    return [replace(part, known=copies[id(part.known)]) for part in parts]


# What is known of a module, and the first of the pairs of devices that are alike.
Name = tuple[int, Pair]


def _names(parts: Sequence[Part]) -> dict[Name, tuple[int, int, Pair]]:
    """Return steps, a part and a pair of devices for each proof; one of those that share it."""
    return {
        (id(part.known), part.first_like(pair)): (proof.steps, at, pair)
        for at, part in enumerate(parts)
        for pair, proof in part.proofs.items()
    }


def _lower_shared(parts: Sequence[Part], duration: Durations, bound: int, halvings: int) -> None:
    """Weaken each proof wherever it is shared, the longest first, within some halvings.

    Without halvings, a proof is left out if the parts add up to the bound without it.
    """
    for _, at, pair in sorted(_names(parts).values(), reverse=True):
        part = parts[at]
        proof, low, enough = part.proofs[pair], part.by_paths[pair], part.least[pair]
        part.forget(pair)
        if total(parts, duration) >= bound:
            continue
        for _ in range(halvings):
            if enough - low <= 1:
                break
            middle = (low + enough) // 2
            part.record(pair, replace(proof, threshold=middle - 1))
            if total(parts, duration) >= bound:
                enough = middle
            else:
                low = middle
        part.record(pair, proof)
        _lower(part, pair, enough)


def _sweep(parts: Sequence[Part], duration: Durations, bound: int) -> None:
    """Weaken all parts in one pass along the chain."""
    rests = least_rests(parts, duration)
    ends = [0]
    for part, rest in zip(parts, rests, strict=True):
        for source, target in list(part.proofs):
            _lower(part, (source, target), bound - ends[source] - rest[target])
        if part is not parts[-1]:
            ends = least_targets(part, duration, ends)


def _lower(part: Part, pair: Pair, needed: int) -> None:
    """Weaken the proof of a pair to what is needed: fewer steps, or none."""
    proof = part.proofs[pair]
    if needed <= part.by_paths[pair]:
        part.forget(pair)
    elif needed < part.least[pair] and not proof.weights:
        part.refute_less(pair, needed - 1, proof.steps)


def payload(
    instance: Instance,
    parts: Sequence[Part],
    duration: Durations,
    bound: int,
    most_steps: int | None = None,
) -> tuple[int, dict[str, Any]]:
    """Return a bound and its payload: the given bound, or a lower one that can be checked.

    The parts add up to the given bound; all searches take at most `most_steps`, so that they are
    checked in time, and no more than the checker allows.
    """
    limit = limits.MOST_SEARCH_STEPS // limits.step_price(len(instance.capacity))
    if most_steps is None or most_steps > limit:
        most_steps = limit
    found = lowered(parts, duration, bound, most_steps)
    if _steps(found) > most_steps:
        low, found = 0, lowered(parts, duration, 0, most_steps)
        for _ in range(MOST_TRIALS):
            middle = (low + bound) // 2
            trial = lowered(parts, duration, middle, most_steps)
            if _steps(trial) <= most_steps:
                low, found = middle, trial
            else:
                bound = middle
    network = Network(instance)
    # Modules count without proofs, too: all their paths begin, and end, on one device.
    listed = [part for part in found if part.body or part.proofs]
    for part in listed:
        network.add(part.jump())
    whole = least_whole(network)
    intervals = [part.to_json() for part in listed]
    if len(parts) == 1:
        whole = found[0].least[0, 0]
    if len(parts) > 1 or not listed:
        intervals.append(WHOLE)
    return whole, {"intervals": intervals}


def _steps(parts: Sequence[Part]) -> int:
    """Return the steps of all searches; what parts and devices share is searched once."""
    return sum(steps for steps, _, _ in _names(parts).values())
