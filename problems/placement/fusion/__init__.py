"""Graph coarsening by operator fusion ([MOIRAI24], Section III-B).

What runs as one operator is placed as one: `rules` says which types of operators fuse, `chains`
finds where they do, and `coarse` makes a graph of it whose schedules expand to the original one.
"""
