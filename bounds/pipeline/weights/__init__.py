"""Lower bounds from node weights: no stage of cost t weighs as much as t would take.

If no stage that costs at most t weighs more than 1, and all nodes weigh more than k, then t is
refuted. Two methods find such weights and prove what they say of all stages:

`packing`: two nodes are neighbours if they are ends of one tensor. A stage of an acyclic partition
falls into connected parts. Each part is convex, and the stage costs at least what its parts cost
together. So if no parts that cost at most t together weigh more than 1, then no stage of cost t
does.

`cut-tree`: some stage weighs at least the mean over k. A branch and bound over nodes inside and
outside a set, with a minimum cut for each branch, shows that no convex set of cost t or less weighs
as much.
"""
