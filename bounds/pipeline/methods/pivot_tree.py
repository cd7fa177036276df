"""`pivot-tree`: certified trees, one for each position of the stage of one node, the pivot.

The pivot is the node around which most would have to be transferred: in training graphs it is where
the forward part ends. See `tree.positions`. Where no tensor leads past a node, there is nothing
that this could say, and the mean work is all that is reported.
"""

import math

import numpy as np

from boundmark.bounds import checker
from boundmark.bounds.best import Best
from boundmark.bounds.checker.pipeline.limits import LARGEST_TREE_GRAPH
from boundmark.bounds.pipeline.kernels import separation
from boundmark.bounds.pipeline.kernels.spans import spans
from boundmark.bounds.pipeline.methods import mean_work
from boundmark.bounds.pipeline.mip.quick_slicing import quick_partition, sliced_along
from boundmark.bounds.pipeline.tree.positions import KIND, Positions
from boundmark.problems.arrays import frozen
from boundmark.problems.certificate import Certificate
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph

# Of the time, at most, for a partition, unless one is known: thresholds need not be above its cost.
START_FRACTION = 0.02

# Nodes that the pivot depends on, and that depend on it, as a part of all nodes at least.
LEAST_SIDE = 0.1

# Of the time, for programs: the last certificate has to be checked.
SEARCH_FRACTION = 0.95

# Of the time spent, at most, for partitions near what programs say.
PARTITION_FRACTION = 0.15

# Part of the budget between two certificates, and what is kept of it for the last one, in slowest
# checks so far.
REPORT_EVERY = 0.1
CHECKS_IN_RESERVE = 2.0


def run(instance: PipelineInstance, budget: Budget, seed: int, progress: Progress) -> None:
    """Report ever better certificates until the time is up or the trees are decided.

    Partitions are reported, too: where a program has the nodes is an order, and slicing that order
    anew splits what is before and after the pivot's stage into stages.

    Raises
    ------
    UnsupportedError
        If the instance is too large for the checker, or HiGHS is not installed.
    """
    largest = max(instance.nodes, instance.k)
    if largest > LARGEST_TREE_GRAPH:
        raise UnsupportedError(
            f"the instance has {largest} nodes or stages; expected at most {LARGEST_TREE_GRAPH}."
        )
    best = Best.before(instance, progress)
    mean_work.run(instance, budget, seed, best)
    pivot = widest_span(instance.graph)
    if pivot is None:
        return
    if math.isinf(best.objective):
        floor = int(best.certified)
        best.solution(quick_partition(instance, seed, budget.part(START_FRACTION), floor))
    threshold = int(best.objective) - 1
    if int(instance.graph.work.max()) > threshold or best.is_proven:
        return
    positions = Positions(instance, pivot, threshold, budget.part(SEARCH_FRACTION))
    reported, slowest, slicing = budget.spent(), 0.0, 0.0
    while positions.improve() and budget.remaining() > CHECKS_IN_RESERVE * slowest:
        if positions.places is not None and slicing < PARTITION_FRACTION * budget.spent():
            began = budget.spent()
            best.solution(sliced_along(instance, positions.places))
            positions.places = None
            slicing += budget.spent() - began
        if positions.bound >= best.objective:
            break
        is_due = budget.spent() > reported + REPORT_EVERY * budget.wall_seconds
        if is_due and positions.bound > best.certified:
            began = budget.spent()
            if not _report(instance, positions, best):
                return
            reported = budget.spent()
            slowest = max(slowest, reported - began)
    if positions.bound > best.certified:
        _report(instance, positions, best)


def widest_span(graph: PipelineGraph) -> int | None:
    """Return the node past which most would have to be transferred; None if that is nothing.

    Much comes before it and much after: beside a single large tensor there is little to say.
    """
    dag = graph.dag
    order = dag.topological_order
    before = separation.reached(order, dag.producer_start, dag.producers)
    after = separation.reached(frozen(order[::-1]), dag.consumer_start, dag.targets)
    found = spans(before, after, dag.consumer_start, dag.targets, graph.transfer)
    for side in (before, after):
        found[np.bitwise_count(side).sum(axis=1) < LEAST_SIDE * dag.nodes] = 0
    pivot = int(found.argmax())
    return pivot if found[pivot] > 0 else None


def _report(instance: PipelineInstance, positions: Positions, best: Best) -> bool:
    """Report what the checker accepts; return whether trees are still within its limits."""
    payload = positions.payload()
    unproven = Certificate.of(instance, KIND, 0, payload, "pivot-tree")
    try:
        bound = checker.check_certificate(instance.to_json(), unproven.to_json())
    except checker.TooLarge:
        return False
    best.bound(Certificate.of(instance, KIND, bound, payload, "pivot-tree"))
    return True
