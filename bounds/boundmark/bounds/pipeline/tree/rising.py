"""Reports better and better bounds of a formulation, at thresholds that rise."""

import math
from collections.abc import Callable, Iterable

from boundmark.bounds import checker
from boundmark.bounds.checker.pipeline.tree import LARGEST_TREE_GRAPH
from boundmark.bounds.pipeline.share import ShareTable, share_table
from boundmark.bounds.pipeline.tree.formulation import Formulation
from boundmark.bounds.pipeline.tree.search import Tree
from boundmark.problems.certificate import Certificate
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import PipelineInstance

# How much a target is above what has been refuted. Shares at a threshold far above what can be
# refuted are weak; each new target has the worst leaves solved again.
STEP = 0.004

# Part of the budget after which a certificate is made in any case.
REPORT_EVERY = 0.25

# What is kept of the budget for one more step and the last certificate, in slowest steps so far.
STEPS_IN_RESERVE = 2.5


def report_rising_bounds(
    instance: PipelineInstance,
    formulate: Callable[[ShareTable, int], Iterable[Formulation]],
    budget: Budget,
    progress: Progress,
    producer: str,
) -> None:
    """Report the share bound, then better ones until the time is up or the bound stays.

    Parameters
    ----------
    formulate
        Maps the graph's table and the share bound to what trees start from. The next one is begun
        when the bound of the one before stays.
    producer
        Name of the method.
    """
    largest = max(instance.nodes, instance.k)
    if largest > LARGEST_TREE_GRAPH:
        raise UnsupportedError(
            f"the instance has {largest} nodes or stages; expected at most {LARGEST_TREE_GRAPH}."
        )
    table = share_table(instance.graph)
    first = table.certificate(instance)
    progress.bound(first)
    best = first.bound
    for formulation in formulate(table, best):
        best = _rise(Tree(instance, table, formulation, budget), best, progress, producer)


def _rise(tree: Tree, best: int, progress: Progress, producer: str) -> int:
    """Report what a tree adds to the best bound; return the best one then."""
    budget, threshold = tree.budget, best
    # The roots alone: their optima hardly depend on the threshold, so this settles quickly.
    while tree.start(threshold):
        best = _report(tree, best, progress, producer)
        if tree.bound <= threshold:
            break
        threshold = max(_next_target(threshold), math.floor(min(tree.leaves[0][0], 2 * threshold)))
    next_report, slowest = REPORT_EVERY, 0.0
    while tree.leaves and budget.remaining() > STEPS_IN_RESERVE * slowest:
        began = budget.spent()
        if tree.bound > tree.threshold:
            best = _report(tree, best, progress, producer)
            if not tree.raise_threshold(_next_target(tree.threshold)):
                break
        elif not tree.grow():
            break
        if budget.spent() > next_report * budget.wall_seconds:
            next_report += REPORT_EVERY
            best = _report(tree, best, progress, producer)
        slowest = max(slowest, budget.spent() - began)
    return _report(tree, best, progress, producer) if tree.leaves else best


def _next_target(threshold: int) -> int:
    return threshold + max(1, int(STEP * threshold))


def _report(tree: Tree, best: int, progress: Progress, producer: str) -> int:
    """Report what the tree proves in exact arithmetic, if it is better."""
    if tree.bound <= best:
        return best
    instance, kind, payload = tree.instance, tree.formulation.kind, tree.payload()
    bound = checker.check_certificate(
        instance.to_json(), Certificate.of(instance, kind, 0, payload, producer).to_json()
    )
    if bound <= best:
        return best
    progress.bound(Certificate.of(instance, kind, bound, payload, producer))
    return bound
