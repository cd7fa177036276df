"""Checks `pipeline`: a graph on the stages of a pipeline.

The instance: nodes with `work`, `transfer` (ticks to move a node's output) and `param_load` (ticks
to stream its parameters), of which `cache` fit; edges from producer to consumer. A solution maps
the nodes to `k` stages without a cycle among the stages. A stage S costs

    f(S) = work(S) + io(S) + max(0, param_load(S) - cache),

io(S) being the transfer of each tensor that enters S, plus that of each that leaves it, once each.
OPT is the least possible cost of the most expensive stage. Kinds of certificates for OPT >= bound:

max-work/1
    Some stage runs the given node.
mean-work/1
    Some stage has at least the mean work.
node-cut/1
    Some stage contains the given node v, and a flow shows that every set S with v in it has
    io(S) + work(S) >= C. Then OPT >= C + max(0, param_load[v] - cache).
fractional-load/1
    Suppose OPT <= t, the threshold. Flows show a io(S) + work(S) >= C_v for all S with v in it; so
    the stage S of v has (a - 1) io(S) >= C_v - t, which bounds io(S) from below, by io_v. Hence
    work(S) <= t - io(S) <= t - io_v for every v in S, and the sum of work[v] / (t - io_v) is at
    most 1 in each stage and at most k over all nodes. If it is more, OPT >= t + 1. The same is
    tried with work + param_load, of which a stage has at most t + cache - io(S).
packing/2
    Suppose OPT <= t, the threshold. Neighbours are ends of one tensor. A stage falls into connected
    parts, each of them convex: no path leaves it and comes back. What the parts cost adds up to
    what the stage costs at most. A search through all connected convex sets shows that none weighs
    more than a front allows for its cost, and a knapsack that sets of cost t or less together weigh
    at most W. So if all nodes weigh more than k W, OPT >= t + 1. If trees show that the first stage
    weighs A at most, and the last one B, as for cut-tree/2, A + B + (k - 2) W is enough. The same
    is tried with work + param_load, of which parts cost at most t + cache together.
ideal-dp/1
    Suppose OPT <= t, the threshold. Leave out some nodes with their edges: no stage's cost grows,
    and no cycle among the stages appears. In the order in which data flows, the first stages make
    up a down-set each: a set of nodes with all their producers. So there is a chain of down-sets,
    from the empty one to all nodes, with at most k steps from J to I that cost f(I - J) <= t. All
    down-sets that begin such a chain are found, fewest steps first. Those are dropped from which
    r steps cannot lead to the end, because the work outside, the transfer of each tensor that has
    a consumer outside, and the param_load outside beyond r caches add up to more than r t. If all
    nodes are not among those found, OPT >= t + 1.
two-branch-dp/1
    Suppose OPT <= t, the threshold. The tower is a down-set of the graph. In the order in which
    data flows, the first stages hold a down-set of the tower and one of the nodes beside it, which
    reads nothing from the rest of the tower. Apart, the parts of a stage on both sides cost no more
    than together, if tensors between the sides are free. All pairs of down-sets that stages within
    t lead to are found, fewest stages first. If the pair of all nodes is not among them after k
    stages, OPT >= t + 1. Before, nodes are merged with neighbours whose stage they can share for
    free.
mip-tree/1
    Suppose OPT <= t, the threshold. Then shares as above hold, and narrow the stages that a node
    can be in. A tree branches on these; at each leaf, non-negative multipliers of the rows of a
    linear relaxation bound the cost of the bottleneck stage (see `tree`). OPT is at least the least
    of t + 1 and the leaves' bounds.
prefix-bound/1
    Suppose OPT <= t, the threshold. Nodes have weights. In the order in which data flows, the first
    s stages make up a prefix each. A step proves that prefix s + 1 weighs at most X, given what is
    known of prefix s, or that prefix s weighs at least X, given what is known of prefix s + 1; and
    likewise over several stages. Its superblocks are the stages, what is before them, and what is
    after them; rows about the weights of prefixes come in, and at each leaf of a tree, multipliers
    contradict that the prefix weighs more, or less. If some prefix would have to weigh more than it
    can, OPT >= t + 1.
cut-tree/2
    Suppose OPT <= t, the threshold. Nodes have weights. The first stage holds all producers of its
    nodes, and the last one all their consumers: trees may show that these weigh A and B at most. Of
    the other k - 2 stages, or of all k, one weighs at least the mean of what is left. A tree of
    nodes inside and outside a set looks for convex sets that weigh as much and cost at most t.
    Flows and prices of weight bound f(S) for all sets of a branch (see `cut_tree`); they end it, or
    put nodes inside or outside. If no set is left, OPT >= t + 1. The same is tried with
    work + param_load, of which a stage has at most t + cache - io(S).

A flow gives each edge (u, w) an amount, positive from u to w or negative from w to u. For each u
the positive amounts on its out-edges add up to at most a transfer[u], and so do the negative ones:
at most a io(S) leaves any S. Every node but v keeps at most its work. So if v is in S, what v sends
out is at most a io(S) + work(S) - work[v].
"""

from .cut_tree import cut_tree
from .ideals import ideal_dp
from .instance import objective, read_instance
from .packing import packing
from .prefix_bound import prefix_bound
from .single_stage import fractional_load, max_work, mean_work, node_cut
from .tree import mip_tree
from .two_branch_dp import two_branch_dp

SOLUTION_FIELDS = frozenset({"stages"})

KINDS = {
    "max-work/1": max_work,
    "mean-work/1": mean_work,
    "node-cut/1": node_cut,
    "fractional-load/1": fractional_load,
    "mip-tree/1": mip_tree,
    "prefix-bound/1": prefix_bound,
    "ideal-dp/1": ideal_dp,
    "two-branch-dp/1": two_branch_dp,
    "packing/2": packing,
    "cut-tree/2": cut_tree,
}

__all__ = ["KINDS", "SOLUTION_FIELDS", "objective", "read_instance"]
