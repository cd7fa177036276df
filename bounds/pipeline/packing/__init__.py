"""A lower bound from node weights under which every feasible stage weighs at most 1.

Two nodes are neighbours if they are ends of one tensor. A stage of an acyclic partition falls into
connected parts. Each part is convex, and the stage costs at least what its parts cost together. So
if no parts that cost at most t together weigh more than 1, then no stage of cost t does, and a
total weight above k refutes t.
"""
