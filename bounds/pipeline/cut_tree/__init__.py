"""A lower bound from node weights: no convex set that is cheap weighs the mean over the stages.

Some stage weighs at least the mean over k. A branch and bound over nodes inside and outside a set,
with a minimum cut for each branch, shows that no convex set of cost t or less weighs as much.
"""
