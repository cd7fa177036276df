"""Lower bounds and exact methods for `pipeline`."""

from boundmark.bounds.pipeline import (
    bottleneck_guess_tree,
    bottleneck_tree,
    certify,
    ideal_dp,
    max_work,
    mean_work,
    mip,
    mip_tree,
    node_cut,
    share,
)
from boundmark.problems.method import Method

METHODS: tuple[Method, ...] = (
    max_work.METHOD,
    mean_work.METHOD,
    node_cut.METHOD,
    share.METHOD,
    mip_tree.METHOD,
    bottleneck_tree.METHOD,
    bottleneck_guess_tree.METHOD,
    ideal_dp.METHOD,
    certify.METHOD,
    *mip.METHODS,
)
