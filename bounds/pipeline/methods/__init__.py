"""One module per method; what several of them use is in the folders beside this one."""

from boundmark.bounds.pipeline.methods import (
    bottleneck,
    bottleneck_guess,
    bottleneck_guess_tree,
    bottleneck_tree,
    certify,
    exact,
    exact_strong,
    forward_greedy,
    ideal_dp,
    max_work,
    mean_work,
    mip_tree,
    node_cut,
    packing,
    pivot_tree,
    reach,
    separation,
    share,
)
from boundmark.problems.method import Method

METHODS: tuple[Method, ...] = (
    max_work.METHOD,
    mean_work.METHOD,
    node_cut.METHOD,
    share.METHOD,
    separation.METHOD,
    packing.METHOD,
    mip_tree.METHOD,
    bottleneck_tree.METHOD,
    bottleneck_guess_tree.METHOD,
    pivot_tree.METHOD,
    ideal_dp.METHOD,
    reach.METHOD,
    forward_greedy.METHOD,
    certify.METHOD,
    bottleneck.METHOD,
    bottleneck_guess.METHOD,
    exact.METHOD,
    exact_strong.METHOD,
)
