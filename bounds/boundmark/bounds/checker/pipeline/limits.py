"""Numbers that producers have to know: what certificates of each kind may be about, and units."""

# Nodes and stages of an instance that a tree is about.
LARGEST_TREE_GRAPH = 2**12

# In trees, shares of a stage are integers in units of 1 / TREE_SHARE_UNITS, rounded down.
TREE_SHARE_UNITS = 2**30

# Where a search of down-sets ends: steps from one down-set to the next by a single node, those
# times the number of nodes, and pairs of down-sets compared. Of the latter, there are fewer in
# graphs of many nodes, where sets take longer.
MOST_IDEAL_STEPS = 2_000_000
MOST_IDEAL_BITS = 2**31
MOST_IDEAL_PAIRS = 20_000_000
NODES_PER_UNIT = 2**13


def most_ideal_steps(nodes: int) -> int:
    """Return how many steps a graph may have."""
    return min(MOST_IDEAL_STEPS, MOST_IDEAL_BITS // nodes)


def most_ideal_pairs(nodes: int) -> int:
    """Return how many pairs of down-sets may be compared."""
    return MOST_IDEAL_PAIRS // (1 + nodes // NODES_PER_UNIT)
