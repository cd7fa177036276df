"""Certificates of `ordering` that prove the optimum of a tiny instance."""

from brute_force_ordering import instance

from boundmark.problems.ordering import ExecutionOrder, OrderingInstance

# Two branches that each are small at both ends: one has to be done before the other one begins.
BRANCHES = [
    (2, -1, [0]), (2, 0, [1, 3]), (9, 1, [2]), (1, 2, [5]), (9, 3, [4]), (1, 4, [5]), (1, 5, []),
]  # fmt: skip
# The first operator behind the fork may go last, or overwrite in some orders only.
FORK = [(4, 0, [1, 2]), (3, 1, [3]), (4, 2, [4]), (1, 4, [3])]
# The same, with a tensor for each branch, so that a branch that is done is the lowest point.
APART = [(2, -1, [0]), (2, 0, [1]), (2, 0, [3]), *BRANCHES[2:]]
# While operator 2 runs, what waits is the least of several tensors.
CUT = [(3, -1, [0, 1]), (2, 0, [4]), (4, 1, [2]), (1, 2, [3]), (5, 3, [4])]
# A skip connection: nothing can be exchanged.
SKIP = [(3, -1, [0]), (2, 0, [1, 3]), (4, 1, [2]), (1, 2, [3]), (5, 3, [])]

TIGHT: dict[str, tuple[str, OrderingInstance]] = {
    "live-cut, peak": ("live-cut", instance(5, CUT)),
    "live-cut, sum": ("live-cut", instance(4, SKIP, metric="sum")),
    "live-cut, weights": (
        "live-cut",
        instance(3, [(5, 0, [1, 2]), (3, 1, [2])], parameters=[7, 1, 2], weights="streamed"),
    ),
    "downset-dp, peak": (
        "downset-dp",
        instance(6, BRANCHES),
    ),
    "downset-dp, slopes": ("downset-dp", instance(6, APART, metric="sum")),
    "downset-dp, sum": ("downset-dp", instance(6, BRANCHES, metric="sum")),
    "downset-dp, in place": (
        "downset-dp",
        instance(5, FORK, metric="sum", in_place="yes"),
    ),
    "downset-dp, whole": (
        "btsearch",
        instance(5, FORK, metric="sum", kept=[1], weights="resident", parameters=[1] * 5),
    ),
    "downset-dp, whole peak": ("btsearch", instance(6, BRANCHES, in_place="yes")),
}


def is_tiny(sample: OrderingInstance) -> bool:
    """Whether all orders are enumerated in a fraction of a second."""
    return sample.nodes <= 6


def solution(sample: OrderingInstance) -> ExecutionOrder:
    """Return a solution in the right form."""
    return ExecutionOrder(sample.graph.dag.topological_order)
