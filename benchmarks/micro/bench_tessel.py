"""Questions of `tessel` to Z3, with both encodings of memory."""

from boundmark.datasets.microbatch.shapes import load
from boundmark.heuristics.microbatch.repetend import shortest_repetend
from boundmark.heuristics.microbatch.start_times import finder
from boundmark.problems.method import Budget


class ZeroBubble:
    """The repetend of M on four devices that has no bubble, and one that has to have some."""

    param_names = ("memory",)
    params = ("timeline", "pairs")

    def setup(self, memory: str) -> None:
        self.layout = load("m-4-train")
        self.find = finder(Budget(600), 1, memory)

    def time_found(self, memory: str) -> None:
        members = (5, 5, 5, 4, 4, 3, 2, 1, 0, 0)
        assert shortest_repetend(self.layout, (6,) * 4, members, 6, self.find)

    def time_refuted(self, memory: str) -> None:
        members = (5, 5, 5, 5, 5, 4, 3, 2, 1, 0)
        assert not shortest_repetend(self.layout, (6,) * 4, members, 6, self.find)
