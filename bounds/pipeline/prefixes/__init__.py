"""Lower bounds from how much work the first stages of a pipeline can do within a threshold.

Stages in the order in which data flows have prefixes that are down-sets. Whatever weights nodes
have: if the first s stages weigh at most X, then the first s + 1 stages weigh at most what the
heaviest stage, behind a prefix of weight X or less, leads to. That is a small integer program, and
any upper bound of it serves. If even k such steps do not reach all nodes, the threshold is refuted.
"""
