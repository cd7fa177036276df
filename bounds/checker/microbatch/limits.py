"""Limits on certificates that producers have to know."""

# Periods that a modulo-tree may refute are shorter.
LONGEST_TREE_PERIOD = 2**10

# Phases that a modulo-tree may try in all: as many, and as many as keep these phases times edges
# times allocations below a number.
MOST_TREE_NODES = 100_000
MOST_TREE_STEPS = 2**24
