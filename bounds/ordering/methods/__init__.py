"""One module per method; what several of them use is in the folders beside this one."""

from boundmark.bounds.ordering.methods import btsearch, downset_dp, live_cut
from boundmark.problems.method import Method

METHODS: tuple[Method, ...] = (
    live_cut.METHOD,
    downset_dp.METHOD,
    btsearch.METHOD,
)
