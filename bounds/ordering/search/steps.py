"""A section in the form that the compiled search reads."""

import numpy as np

from boundmark.bounds.checker.ordering.section import EARLIER, Section
from boundmark.bounds.ordering.kernels.levels import Level, Steps
from boundmark.problems.arrays import IntArray, frozen


def steps_of(part: Section, least: list[int]) -> Steps:
    """Return what each operator of a section reads, leaves and feeds.

    Parameters
    ----------
    least
        The least that each operator takes.
    """
    count = len(part.operators)
    needs, others, sizes, overwritten, leaves = [], [], [], [], []
    read_start, feed_start, feeds = [0], [0], []
    for v in range(count):
        producers = {part.tensors[t].producer for t in part.reads[v]} - {EARLIER}
        needs.append(sum(1 << u for u in producers))
        for place in part.reads[v]:
            tensor = part.tensors[place]
            if not tensor.stays:
                others.append(sum(1 << reader for reader in tensor.readers if reader != v))
                sizes.append(tensor.size)
                overwritten.append(int(place in part.overwrites[v]))
        read_start.append(len(others))
        written = [part.tensors[t] for t in part.writes[v]]
        leaves.append(sum(t.size for t in written if t.readers or t.stays))
        feeds += sorted({reader for t in written for reader in t.readers})
        feed_start.append(len(feeds))
    return Steps(
        needs=as_words(needs, count),
        read_start=frozen(read_start),
        others=as_words(others, count),
        read_size=frozen(sizes or np.zeros(0)),
        is_overwritten=frozen(overwritten or np.zeros(0)),
        feed_start=frozen(feed_start),
        feeds=frozen(feeds or np.zeros(0)),
        running=frozen(part.running),
        written=frozen(part.written),
        leaves=frozen(leaves),
        least=frozen(least),
    )


def as_words(sets: list[int], count: int) -> IntArray:
    """Return sets of operators as rows of 64-bit words, shape (sets, W)."""
    words = (count + 63) // 64
    given = b"".join(members.to_bytes(8 * words, "little") for members in sets)
    return frozen(np.frombuffer(given, np.int64).reshape(len(sets), words))


def first_level(part: Section, steps: Steps, cost: int) -> Level:
    """Return the empty set.

    Parameters
    ----------
    cost
        What it costs: the least of all operators together, or what is known to be needed.
    """
    count, words = steps.needs.shape
    ready = [at for at in range(count) if not steps.needs[at].any()]
    live = part.base + sum(t.size for t in part.tensors if t.producer == EARLIER)
    return Level(
        np.zeros((1, words), np.int64),
        as_words([sum(1 << at for at in ready)], count).copy(),
        np.array([live]),
        np.array([cost]),
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
    )
