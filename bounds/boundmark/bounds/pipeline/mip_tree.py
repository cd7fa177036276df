"""`mip-tree`: a certified branch-and-bound bound on the exact formulation, strengthened.

The relaxation is the paper's exact MIP (papers/mtpp, Figure 3) with stronger cut rows, and with
rows and windows that hold below a threshold only (see `share`). See `tree` for how it is searched.
"""

import math

from boundmark.bounds import checker
from boundmark.bounds.checker.pipeline.tree import LARGEST_TREE_GRAPH
from boundmark.bounds.pipeline.share import share_table
from boundmark.bounds.pipeline.tree.search import Tree
from boundmark.problems.certificate import Certificate
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Method, Progress
from boundmark.problems.pipeline import PipelineInstance

KIND = "mip-tree/1"

# How much a target is above what has been refuted. Shares at a threshold far above what can be
# refuted are weak; each new target has the worst leaves solved again.
STEP = 0.004

# Part of the budget after which a certificate is made in any case.
REPORT_EVERY = 0.25

# What is kept of the budget for one more step and the last certificate, in slowest steps so far.
STEPS_IN_RESERVE = 2.5


def run(instance: PipelineInstance, budget: Budget, seed: int, progress: Progress) -> None:
    """Report the share bound, then better ones until the time is up or the bound stays."""
    largest = max(instance.nodes, instance.k)
    if largest > LARGEST_TREE_GRAPH:
        raise UnsupportedError(
            f"the instance has {largest} nodes or stages; expected at most {LARGEST_TREE_GRAPH}."
        )
    table = share_table(instance.graph)
    first = table.certificate(instance)
    progress.bound(first)
    tree = Tree(instance, table, budget)
    best, threshold = first.bound, first.bound
    # The root alone: its optimum hardly depends on the threshold, so this settles quickly.
    while tree.start(threshold):
        best = _report(tree, best, progress)
        if tree.bound <= threshold:
            break
        threshold = max(_next_target(threshold), math.floor(min(tree.leaves[0][0], 2 * threshold)))
    next_report, slowest = REPORT_EVERY, 0.0
    while tree.leaves and budget.remaining() > STEPS_IN_RESERVE * slowest:
        began = budget.spent()
        if tree.bound > tree.threshold:
            best = _report(tree, best, progress)
            if not tree.raise_threshold(_next_target(tree.threshold)):
                break
        elif not tree.grow():
            break
        if budget.spent() > next_report * budget.wall_seconds:
            next_report += REPORT_EVERY
            best = _report(tree, best, progress)
        slowest = max(slowest, budget.spent() - began)
    if tree.leaves:
        _report(tree, best, progress)


def _next_target(threshold: int) -> int:
    return threshold + max(1, int(STEP * threshold))


def _report(tree: Tree, best: int, progress: Progress) -> int:
    """Report what the tree proves in exact arithmetic, if it is better."""
    if tree.bound <= best:
        return best
    payload = tree.payload()
    bound = checker.check_certificate(
        tree.instance.to_json(),
        Certificate.of(tree.instance, KIND, 0, payload, METHOD.name).to_json(),
    )
    if bound <= best:
        return best
    progress.bound(Certificate.of(tree.instance, KIND, bound, payload, METHOD.name))
    return bound


METHOD = Method(
    name="mip-tree",
    problem="pipeline",
    kind="bound",
    summary="Branch and bound on the strengthened exact MIP, every leaf certified.",
    run=run,
)
