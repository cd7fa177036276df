"""Computes how much of a tensor parts of an operator need, wherever the parts are."""

from itertools import pairwise

from ..budget import hold, spend
from .instance import Edge

# The begin and the end of what a part at an index needs.
INDEX_BYTES = 80


class Needs:
    """The ranges that parts need of one edge's tensor, counted in its indices.

    A plan's parts begin and end at cuts c_0 = 0 < c_1 < ... < c_p = length. What they need begins
    at first(c_0), ..., first(c_(p-1)) and ends at end(c_1), ..., end(c_p). So their needs add up to
    `cover`, from the first begin to the last end, plus end(c) - first(c) for each cut in between.

    Attributes
    ----------
    cover
        From the begin of what the first part needs to the end of what the last one needs.
    least_overlap
        The least of end(c) - first(c) over all cuts, negative if something in between is not
        needed.
    least_twice
        The least that both sides of a cut need: `least_overlap`, but not below 0.
    most_skipped
        The most that neither side of a cut needs.
    """

    def __init__(self, edge: Edge, length: int) -> None:
        hold(200 * length)
        spend(4 * length)
        self._first = [edge.first(a) for a in range(length)]
        self._end = [edge.end(b) for b in range(1, length + 1)]
        self._of_width: dict[int, tuple[int, int]] = {}
        overlaps = [
            end - first for end, (_, first) in zip(self._end, pairwise(self._first), strict=False)
        ]
        self.cover = self._end[-1] - self._first[0]
        self.least_overlap = min(overlaps, default=0)
        self.least_twice = max(0, self.least_overlap)
        self.most_skipped = max(0, -self.least_overlap)

    def of_width(self, width: int) -> tuple[int, int]:
        """Return the least and the most that a part of this width needs, wherever it is."""
        if width not in self._of_width:
            places = len(self._first) - width + 1
            spend(2 * places)
            ends = self._end[width - 1 :]
            found = [end - first for end, first in zip(ends, self._first, strict=False)]
            self._of_width[width] = min(found), max(found)
        return self._of_width[width]
