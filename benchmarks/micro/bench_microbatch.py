"""Searches of `tessel` for a repetend."""

from boundmark.datasets.microbatch.shapes import load
from boundmark.heuristics.microbatch.repetend import RepetendSearch


class ZeroBubble:
    """The repetend of NN without a bubble on four devices, and that there is none of five."""

    def setup(self) -> None:
        self.search = RepetendSearch(load("nn-4-train"), (6,) * 4)

    def time_found(self) -> None:
        assert self.search.find(6, 8, 10**6)[0] == "found"

    def time_refuted(self) -> None:
        assert self.search.find(5, 8, 10**6)[0] == "refuted"
