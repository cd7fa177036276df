"""Say how many micro-batches a stage holds in flight, and with them caches or activations.

A pipeline of k stages is as fast as its slowest stage only if k micro-batches are in flight, and in
inference each of them has a cache on every stage. In training, a schedule says how many forward
passes a stage is ahead of its backward passes.
"""

from collections.abc import Sequence

from boundmark.problems.errors import InvalidInputError, quoted

STAGES, ONE_F_ONE_B, ZB_H2, INTERLEAVED = RULES = ("stages", "1f1b", "zb-h2", "interleaved")

MOST_IN_FLIGHT = 2**20

EXPECTED = f"an integer from 1 to 2^20, or {', '.join(RULES)}"


def read_in_flight(value: object) -> int | str:
    """Return a number of micro-batches, or the name of a rule.

    ``stages``
        Every one of k stages holds min(m, k): the steady state of an inference pipeline.
    ``1f1b``
        Stage s, from 0, holds min(m, k - s) ([MEGATRON21], Section 2.2); ZB-H1's is the same.
    ``zb-h2``
        Stage s holds min(m, 2 (k - s) - 1) ([ZEROBUBBLE24], Section 2).
    ``interleaved``
        With virtual stages; see `interleaved_peak`.

    Raises
    ------
    InvalidInputError
        If it is neither.
    """
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= 7:
        value = int(value)
    is_number = type(value) is int and 1 <= value <= MOST_IN_FLIGHT
    if not is_number and value not in RULES:
        raise InvalidInputError(f"in_flight is {quoted(value)}; expected {EXPECTED}.")
    assert isinstance(value, int | str)
    return value


def held(rule: int | str, micro_batches: int, stage: int, stages: int) -> int:
    """Return how many micro-batches a stage of a pipeline without virtual stages holds."""
    if rule == STAGES:
        return min(micro_batches, stages)
    if rule == ONE_F_ONE_B:
        return min(micro_batches, stages - stage)
    if rule == ZB_H2:
        return min(micro_batches, 2 * (stages - stage) - 1)
    assert isinstance(rule, int)
    return rule


def interleaved_peak(held: Sequence[int], rank: int, ranks: int, micro_batches: int) -> int:
    """Return the most bytes of activations that a device has at a time with virtual stages.

    Megatron's interleaved schedule ([MEGATRON21], Section 2.2; `schedules.py`): on p devices with
    v virtual stages each, the device of rank r begins with min(v m, 2 (p - r - 1) + (v - 1) p)
    forward steps, and goes on with one forward and one backward step in turn. Forward step i is of
    virtual stage (i / p) mod v, backward steps go through these from the last to the first. As p v
    steps of either kind hold and release the same, that many turns show all that there is.
    """
    virtual = len(held)
    steps = virtual * micro_batches
    first = min(steps, 2 * (ranks - rank - 1) + (virtual - 1) * ranks)
    rounds, more = divmod(first, ranks)
    now = more * held[rounds % virtual] + ranks * sum(held[at % virtual] for at in range(rounds))
    most, turn, turns = now, 0, min(ranks * virtual, steps - first)
    while turn < turns:
        # So many turns in a row are of the same two virtual stages.
        alike = min(ranks - turn % ranks, ranks - (first + turn) % ranks, turns - turn)
        forward = held[(first + turn) // ranks % virtual]
        gained = forward - held[virtual - 1 - turn // ranks % virtual]
        most = max(most, now + forward + max(0, (alike - 1) * gained))
        now += alike * gained
        turn += alike
    return most
