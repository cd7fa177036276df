"""Limits on certificates, and units, that producers have to know."""

# Nodes and stages of an instance that a tree is about, or the steps of reach.
LARGEST_TREE_GRAPH = 2**14

# In trees, shares of a stage are integers in units of 1 / TREE_SHARE_UNITS, rounded down.
TREE_SHARE_UNITS = 2**30

# Nodes and edges of an instance that a packing is about, units of cost of its front, and what its
# search may spend: the rest of a check's steps is for the front and the graph.
LARGEST_PACKING_GRAPH = 2**12
MOST_PACKING_EDGES = 2**19
MOST_PACKING_UNITS = 2**13
MOST_PACKING_STEPS = 3 * 2**24

# In the plan of a packing's search: the sets are split in two.
SPLIT = -1

# What a search of sets spends on a decision about a neighbour, on a node that is put inside or
# outside, and as much again for each tensor at the node.
DECISION_STEPS = 8
MOVE_STEPS = 1

# Nodes of an instance that a tree of cuts is about.
LARGEST_CUT_GRAPH = 2**12

# Where a search of down-sets ends: steps from one down-set to the next by a single node, those
# times the number of nodes, and pairs of down-sets compared. Of the latter, there are fewer in
# graphs of many nodes, where sets take longer.
MOST_IDEAL_STEPS = 2_000_000
MOST_IDEAL_BITS = 2**31
MOST_IDEAL_PAIRS = 20_000_000
NODES_PER_UNIT = 2**13

# Nodes of an instance with towers, and down-sets of a tower, or of the nodes beside it.
LARGEST_TOWER_GRAPH = 2**14
MOST_TOWER_IDEALS = 2**13


def most_ideal_steps(nodes: int) -> int:
    """Return how many steps a graph may have."""
    return min(MOST_IDEAL_STEPS, MOST_IDEAL_BITS // nodes)


def plan_steps(nodes: int) -> int:
    """Return the steps that an entry of a packing's plan spends before its search."""
    return 10 + nodes // 4


def flow_steps(nodes: int, edges: int, levels: int) -> int:
    """Return the steps that reading a flow spends, given how often the front changes."""
    return 4 * (nodes + edges) + levels


def most_ideal_pairs(nodes: int) -> int:
    """Return how many pairs of down-sets may be compared."""
    return MOST_IDEAL_PAIRS // (1 + nodes // NODES_PER_UNIT)


def cut_steps(nodes: int, numbers: int) -> int:
    """Return the steps that an entry of a tree of cuts spends, given how many numbers it has."""
    return nodes + numbers
