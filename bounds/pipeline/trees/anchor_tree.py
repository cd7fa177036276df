"""`anchor-tree`: certified trees, one for each position of the stage of one node, the anchor.

The anchor is the node around which most would have to be transferred; if no tensor leads past any
node, the mean work is all that is reported. Let the anchor be in stage j. What it depends on is in
stage j or before, and what depends on it is in stage j or after. In training graphs, with a anchor
where the forward part of the graph ends, only stage j can hold forward operators together with the
backward operators that read what they wrote: all other such tensors leave a stage before and enter
one after, or they leave or enter stage j. The program of three superblocks ([MTPP24], Section 3.3)
says how little that may be, and minimum cuts solve it (see `superblock_cuts`).

It is a certificate of the kind `bottleneck-guess-tree/1`, in which only the anchor demands anything
of its stage. Each position has a tree of its own. Multipliers of one position hold for others as
well, and prove little less if these are near. So cuts are found where the bound is least, and many
positions never have their own.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from boundmark.bounds import checker
from boundmark.bounds.best import Best
from boundmark.bounds.checker.pipeline.limits import LARGEST_TREE_GRAPH
from boundmark.bounds.pipeline import forced_transfer, work
from boundmark.bounds.pipeline.minimum_cuts import transfers_around
from boundmark.bounds.pipeline.quick_partition import segmented_along, start_from_quick_partition
from boundmark.bounds.pipeline.trees.mip_tree import FRACTIONAL, checked_certificate, heaviest
from boundmark.bounds.pipeline.trees.relaxation import (
    TREE_FAMILIES,
    FloatArray,
    refuse_more_than,
)
from boundmark.bounds.pipeline.trees.superblock_cuts import (
    MIDDLE,
    PRECISION,
    Costs,
    Multipliers,
    Plane,
    Proof,
    SuperblockCuts,
)
from boundmark.bounds.pipeline.windows import SHARE_UNITS, Windows, branch, narrowed
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.dag import Dag
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph
from boundmark.problems.pipeline.instance import stage_costs, stage_overflow

KIND = "bottleneck-guess-tree/1"

ROWS = (*TREE_FAMILIES, "demand")
NOTHING: dict[str, list[int]] = {name: [] for name in ROWS}

# The leaf with the anchor outside its stage, which the demand row alone refutes.
ELSEWHERE = {**NOTHING, "demand": [0, 1]}


# Above any cost: the bound of a leaf without partitions.
LARGEST = 2**62


@dataclass(eq=False)
class Leaf:
    """Partitions with the anchor in a given stage, until it is branched on.

    Attributes
    ----------
    merged
        How many stages are before the anchor's stage, in it and after it.
    bound
        What the multipliers prove of the bottleneck stage.
    multipliers
        None if nothing is proven.
    planes
        Solutions of cuts, to begin with.
    is_solved
        Whether cuts of its own were found.
    choice
        Node and superblock to branch on; None if all is decided, or not known yet.
    """

    merged: IntArray
    windows: Windows
    bound: int = 0
    multipliers: Multipliers | None = None
    planes: list[Plane] = field(default_factory=list)
    is_solved: bool = False
    choice: tuple[int, int] | None = None
    children: "tuple[Leaf, Leaf] | None" = None


class Positions:
    """Branch and bound at a threshold: one tree for each position of the anchor's stage.

    Parameters
    ----------
    anchor
        The node.
    threshold
        What all stages are supposed to cost at most. No bound gets above it by more than a tick.

    Attributes
    ----------
    places
        Where cuts have each node, on the average: from 0, before the anchor's stage, to 2, after
        it: those of the roots, and behind them, those found last; whoever uses one takes it out.
    """

    def __init__(
        self, instance: PipelineInstance, anchor: int, threshold: int, budget: Budget
    ) -> None:
        self._instance, self._pivot, self._budget = instance, anchor, budget
        self.threshold = threshold
        self._costs = Costs.of(instance.graph)
        self._around = transfers_around(instance.graph)
        self._roots = [self._root(instance.graph.dag, stage) for stage in range(instance.k)]
        self._leaves = list(self._roots)
        self.places: list[FloatArray] = []
        self._are_last_of_roots = True

    def _root(self, dag: Dag, stage: int) -> Leaf:
        """Return all partitions with the anchor in a stage."""
        merged = np.array([stage, 1, self._instance.k - 1 - stage])
        first = np.full(dag.nodes, MIDDLE if stage == 0 else 0)
        last = np.full(dag.nodes, MIDDLE if stage == self._instance.k - 1 else 2)
        first[self._pivot] = last[self._pivot] = MIDDLE
        return Leaf(merged, narrowed(dag, Windows(first, last)))

    @property
    def bound(self) -> int:
        """The bound proven so far."""
        return min(self.threshold + 1, min(leaf.bound for leaf in self._leaves))

    def improve(self) -> bool:
        """Find cuts for the leaf with the least bound or, if it has them, branch on it.

        Returns
        -------
        Whether something may be left to do, and there is time.
        """
        worst = min(self._leaves, key=lambda leaf: leaf.bound)
        if worst.bound > self.threshold:
            return False
        if not worst.is_solved:
            return self._solve(worst)
        if worst.choice is None:
            return False
        node, superblock = worst.choice
        dag, children = self._instance.graph.dag, []
        for windows, is_later in zip(
            branch(dag, worst.windows, node, superblock), (False, True), strict=True
        ):
            planes = [one for one in worst.planes if one.y[node, superblock] != is_later]
            child = Leaf(worst.merged, windows, planes=planes)
            self._prove(child, worst.multipliers)
            children.append(child)
        worst.children = children[0], children[1]
        self._leaves.remove(worst)
        self._leaves += worst.children
        return True

    def payload(self) -> dict[str, Any]:
        """Return the payload: each root below two branchings that place the anchor."""
        nodes: list[Any] = []
        for root in self._roots:
            nodes += [[self._pivot, MIDDLE], [self._pivot, MIDDLE - 1], ELSEWHERE]
            waiting = [root]
            while waiting:
                leaf = waiting.pop()
                if leaf.children is None:
                    nodes.append(self._leaf_payload(leaf))
                else:
                    nodes.append(list(leaf.choice or ()))
                    waiting += leaf.children[::-1]
            nodes.append(ELSEWHERE)
        demand = [0] * self._instance.nodes
        demand[self._pivot] = SHARE_UNITS
        # Rows of shares are not used. At a threshold that all nodes together meet, there is nothing
        # to be checked about them.
        graph = self._instance.graph
        threshold = int(graph.work.sum()) + int(graph.param_load.sum())
        return {"threshold": threshold, "flows": [], "nodes": nodes, "demand": demand}

    def _leaf_payload(self, leaf: Leaf) -> dict[str, list[int]]:
        """Return the multipliers of a leaf as the certificate has them."""
        if leaf.multipliers is None:
            return NOTHING
        return {**NOTHING, **leaf.multipliers.to_json(self._costs.unit)}

    def _solve(self, leaf: Leaf) -> bool:
        """Find multipliers for a leaf, and try those of a root at others.

        Returns
        -------
        Whether the time was enough.
        """
        leaf.is_solved = True
        cuts = SuperblockCuts(self._costs, leaf.merged, leaf.windows)
        found = cuts.strongest(leaf.planes, self.threshold, self._budget)
        if found is None:
            return False
        if self.places and not self._are_last_of_roots:
            self.places.pop()
        self.places.append(2 - found.y.sum(axis=1))
        self._are_last_of_roots = leaf in self._roots
        leaf.planes = found.planes
        self._prove(leaf, found.multipliers)
        leaf.choice = self._choice(leaf, found)
        if leaf in self._roots:
            for root in self._roots:
                if not root.is_solved:
                    self._prove(root, found.multipliers)
        return True

    def _choice(self, leaf: Leaf, found: Proof) -> tuple[int, int] | None:
        """Return the node and superblock to branch on; None if that would prove no more.

        Who is in the anchor's stage matters more than what is before it, and a node among expensive
        tensors matters most: its neighbours must follow it, or the stage is expensive.
        """
        first, last = leaf.windows.first, leaf.windows.last
        at = np.arange(2)
        is_open = (at >= first[:, None]) & (at < last[:, None])
        if not is_open.any() or any(self._attain(leaf, plane) for plane in found.planes):
            return None
        inside = found.y[:, 1] - found.y[:, 0]
        undecided = np.where(is_open, np.minimum(found.y, 1 - found.y), -1.0)
        is_any_open = is_open.any(axis=1)
        reasons = (
            np.minimum(inside, 1 - inside),
            undecided.max(axis=1),
            (~found.is_consistent).astype(np.float64),
            is_any_open.astype(np.float64),
        )
        for reason in reasons:
            amounts: FloatArray = np.where(is_any_open, reason, 0.0)
            if amounts.max() >= FRACTIONAL:
                node = heaviest(amounts, self._around)
                return node, int(undecided[node].argmax())
        return None

    def _attain(self, leaf: Leaf, plane: Plane) -> bool:
        """Put nodes into superblocks, about as in a solution, and return whether the bound is met.

        If it is, that is another place of the nodes.
        """
        graph, merged = self._instance.graph, leaf.merged
        used = np.flatnonzero(merged)
        most = (1 + PRECISION) * leaf.bound
        if (plane.slopes[0, used] / merged[used]).max() * self._costs.unit > most:
            return False
        for is_early in (False, True):
            sides = _completed(graph.dag, plane, is_early)
            if (sides[graph.dag.sources] > sides[graph.dag.targets]).any():
                continue
            load = np.bincount(sides, graph.param_load, minlength=3)
            overflow = np.maximum(load - merged * graph.cache, 0)
            costs = stage_costs(graph, sides, 3) - stage_overflow(graph, sides, 3) + overflow
            if not costs[merged == 0].any() and (costs[used] / merged[used]).max() <= most:
                self.places.insert(0, sides.astype(np.float64))
                return True
        return False

    def _prove(self, leaf: Leaf, multipliers: Multipliers | None) -> None:
        """Keep multipliers if they prove more of a leaf than those that it has."""
        if not leaf.windows.are_possible:
            leaf.bound = LARGEST
            return
        if multipliers is None:
            return
        bound = multipliers.bound(self._costs, leaf.merged, leaf.windows)
        if bound > leaf.bound:
            leaf.bound, leaf.multipliers = bound, multipliers


def _completed(dag: Dag, plane: Plane, is_early: bool) -> IntArray:
    """Return a superblock for each node; those that a solution leaves open join their neighbours.

    Parameters
    ----------
    is_early
        Whether open nodes are before the anchor's stage rather than after it, if they can be both.
    """
    sides: IntArray = 2 - plane.y.sum(axis=1)
    is_open = ~plane.is_consistent
    sides[is_open] = MIDDLE
    order = dag.topological_order[is_open[dag.topological_order]].tolist()
    for to_early in (is_early, not is_early):
        for v in order if to_early else order[::-1]:
            others = dag.producers_of(v) if to_early else dag.consumers_of(v)
            if sides[v] == MIDDLE and (sides[others] == (0 if to_early else 2)).all():
                sides[v] = 0 if to_early else 2
    return sides


def run(instance: PipelineInstance, budget: Budget, seed: int, progress: Progress) -> None:
    """Report ever better certificates until the time is up or the trees are decided.

    Partitions are reported, too: where cuts have the nodes is an order, and the best segmentation
    of that order splits what is before and after the anchor's stage into stages.

    Raises
    ------
    UnsupportedError
        If the instance is too large for the checker.
    """
    refuse_more_than(LARGEST_TREE_GRAPH, instance)
    best = Best.before(instance, progress)
    work.run_mean_work(instance, budget, seed, best)
    anchor = widest_span(instance.graph)
    if anchor is None:
        return
    # Thresholds stay below what a partition costs.
    start_from_quick_partition(instance, seed, budget, best)
    threshold = int(best.objective) - 1
    if int(instance.graph.work.max()) > threshold or best.is_proven:
        return
    # The rest of the time is for checking the last certificate.
    positions = Positions(instance, anchor, threshold, budget.part(0.95))
    # Parts of the time: for partitions rounded from solutions of cuts, and between two reports.
    partition_part, report_part = 0.15, 0.1
    reported, slowest_check, cutting = budget.spent(), 0.0, 0.0
    while positions.improve() and budget.remaining() > 2 * slowest_check:
        if positions.places and cutting < partition_part * budget.spent():
            began = budget.spent()
            best.solution(segmented_along(instance, positions.places.pop(0)))
            cutting += budget.spent() - began
        if positions.bound >= best.objective:
            break
        is_due = budget.spent() > reported + report_part * budget.wall_seconds
        if is_due and positions.bound > best.certified:
            began = budget.spent()
            if not _report(instance, positions, best):
                return
            reported = budget.spent()
            slowest_check = max(slowest_check, reported - began)
    if positions.bound > best.certified:
        _report(instance, positions, best)
    most = partition_part * budget.wall_seconds
    while positions.places and cutting < most and not best.is_proven and not budget.is_spent():
        began = budget.spent()
        best.solution(segmented_along(instance, positions.places.pop(0)))
        cutting += budget.spent() - began


def widest_span(graph: PipelineGraph) -> int | None:
    """Return the node that tensors of most transfer lead past; None if no tensor passes a node.

    Much comes before it and much after: beside a single large tensor there is little to say.
    """
    dag = graph.dag
    order = dag.topological_order
    before = forced_transfer.reached(order, dag.producer_start, dag.producers)
    after = forced_transfer.reached(frozen(order[::-1]), dag.consumer_start, dag.targets)
    found = forced_transfer.spans(before, after, dag.consumer_start, dag.targets, graph.transfer)
    for side in (before, after):
        found[np.bitwise_count(side).sum(axis=1) < 0.1 * dag.nodes] = 0
    anchor = int(found.argmax())
    return anchor if found[anchor] > 0 else None


def _report(instance: PipelineInstance, positions: Positions, best: Best) -> bool:
    """Report the certificate; return False if it exceeds the checker's limits."""
    try:
        best.bound(checked_certificate(instance, KIND, positions.payload(), "anchor-tree"))
    except checker.TooLarge:
        return False
    return True
