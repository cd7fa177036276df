"""Whether the checker can repeat a search within its limits."""

from boundmark.bounds.checker.ordering import limits
from boundmark.bounds.checker.ordering.section import Section


def check_steps(part: Section, steps: int) -> int:
    """Return what the checker spends at most on so many steps of a section's search."""
    reads = max(map(len, part.reads))
    feeds = max(sum(len(part.tensors[t].readers) for t in written) for written in part.writes)
    return steps * (5 + reads + feeds + limits.set_steps(len(part.operators)))


def fits_in_memory(part: Section, largest: int) -> bool:
    """Whether the checker may hold so many down-sets of two sizes that follow each other."""
    return largest * limits.state_bytes(len(part.operators)) <= limits.MOST_LEVEL_BYTES
