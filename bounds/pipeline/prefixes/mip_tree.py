"""`mip-tree`: certified branch and bound on the paper's exact program ([MTPP24], Figure 3).

Suppose that all stages cost at most a threshold t. That narrows the stages that a node can be in,
its window (see `fractional-load`). Branching narrows windows further, and the linear relaxation of
the program, with stronger cut rows, bounds the bottleneck stage at each leaf. Every partition whose
stages cost at most t is in some leaf, so OPT is at least the smallest of t + 1 and the leaves'
bounds. When all leaves are above t, a larger t comes next. The tree stays: shares shrink a little,
and a leaf is solved again only when it is the worst one.
"""

import heapq
import itertools
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from boundmark.bounds import checker
from boundmark.bounds.best import Best
from boundmark.bounds.pipeline.flows.fractional_load import ShareTable, Tables, table_in_time
from boundmark.bounds.pipeline.prefixes.relaxation import (
    TREE_FAMILIES,
    Multipliers,
    Point,
    Relaxation,
    refuse_more_than,
    relax,
    single_stages,
    solve,
    whole_multipliers,
)
from boundmark.bounds.pipeline.prefixes.windows import Windows, branch, share_windows, shares
from boundmark.problems.arrays import IntArray
from boundmark.problems.certificate import Certificate
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import PipelineInstance

KIND = "mip-tree/1"

# Nodes and stages: the programs of larger instances are out of reach, and so are their shares.
LARGEST_GRAPH = 2**12

# A column within this of 0 or 1 is as good as fixed.
FRACTIONAL = 1e-4


def run(
    instance: PipelineInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    *,
    tables: Tables = table_in_time,
) -> None:
    """Report the share bound, then better ones until the time is up or the bound stays.

    Parameters
    ----------
    progress
        If it is a `Best`, no threshold is tried that its best partition meets.
    tables
        Maps the graph and the time left to its table of shares.
    """
    refuse_more_than(LARGEST_GRAPH, instance)
    table = tables(instance.graph, budget)
    best = Best.before(instance, progress)
    table.report(instance, "mip-tree", best, budget)
    _raise_bound(Tree(instance, table, budget), best)


def choose_branching(
    amounts: IntArray, windows: Windows, relaxation: Relaxation, point: Point
) -> tuple[int, int] | None:
    """Return the node and stage to branch on; None if everything is decided.

    It is a node with a large share whose stage is far from decided.
    """
    is_open = relaxation.y >= 0
    # Those that are not open are fixed by their windows.
    y = (np.arange(relaxation.y.shape[1]) >= windows.last[:, None]).astype(np.float64)
    y[is_open] = point.columns[relaxation.y[is_open]]
    undecided = np.minimum(y, 1 - y)
    if undecided.max() < FRACTIONAL:
        return None
    best = int(np.argmax(undecided * amounts[:, None]))
    if undecided.flat[best] < FRACTIONAL:
        # No node with a share is undecided.
        best = int(undecided.argmax())
    node, stage = divmod(best, y.shape[1])
    return node, stage


@dataclass(eq=False)
class Node:
    """A node of the tree: a leaf until it is branched on."""

    windows: Windows
    threshold: int
    optimum: float
    multipliers: Multipliers
    choice: tuple[int, int] | None
    children: "tuple[Node, Node] | None" = None


@dataclass(eq=False)
class Tree:
    """A tree at a threshold.

    Attributes
    ----------
    amounts
        Shares at this threshold.
    root
        None until the tree is started.
    leaves
        Heap of (optimum, tie-break, leaf).
    """

    instance: PipelineInstance
    table: ShareTable
    budget: Budget
    threshold: int = 0
    amounts: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))
    root: Node | None = None
    leaves: list[tuple[float, int, Node]] = field(default_factory=list)
    ticket: "itertools.count[int]" = field(default_factory=itertools.count)

    def start(self, threshold: int) -> bool:
        """Solve the root at a threshold; return False if that took too long or is not possible."""
        amounts = shares(self.table, threshold)
        if amounts is None:
            return False
        root = self._solved(self._root_windows(amounts), threshold, amounts)
        if root is None:
            return False
        self.root, self.threshold, self.amounts = root, threshold, amounts
        self.leaves = []
        self._push(root)
        return True

    def raise_threshold(self, threshold: int) -> bool:
        """Keep the tree and go on at a larger threshold; return False if that is not possible."""
        amounts = shares(self.table, threshold)
        if amounts is None or self.root is None:
            return False
        self.threshold, self.amounts = threshold, amounts
        waiting = [(self.root, self._root_windows(amounts))]
        while waiting:
            node, own = waiting.pop()
            node.windows = own
            if node.children is not None and node.choice is not None:
                earlier, later = branch(self.instance.graph.dag, own, *node.choice)
                waiting += [(node.children[0], earlier), (node.children[1], later)]
            elif node.optimum == np.inf and own.are_possible:
                # Its windows are wider again, so its bound is lost.
                node.optimum = 0.0
        self.leaves = [(leaf.optimum, next(self.ticket), leaf) for _, _, leaf in self.leaves]
        heapq.heapify(self.leaves)
        return True

    @property
    def optimum(self) -> float:
        """The least of the leaves' optima, in floating point."""
        return self.leaves[0][0] if self.leaves else np.inf

    @property
    def bound(self) -> float:
        """The bound on OPT that the leaves prove, in floating point."""
        return min(self.optimum, self.threshold + 1)

    def grow(self) -> bool:
        """Branch on the worst leaf, or solve it again if its solution is of an older threshold.

        If the worst leaf is decided, the bound can still gain: leaves of an older threshold prove
        less now than they did, and are solved again.

        Returns
        -------
        False if nothing can be improved on, or the time is up.
        """
        entry = self.leaves[0]
        if entry[2].choice is None:
            older = (entry for entry in self.leaves if entry[2].threshold < self.threshold)
            entry = next(older, entry)
        leaf = entry[2]
        if leaf.threshold < self.threshold:
            again = self._solved(leaf.windows, self.threshold, self.amounts)
            if again is None:
                return False
            self.leaves.remove(entry)
            heapq.heapify(self.leaves)
            leaf.threshold, leaf.optimum = again.threshold, again.optimum
            leaf.multipliers, leaf.choice = again.multipliers, again.choice
            self._push(leaf)
            return True
        if leaf.choice is None:
            return False
        first, second = (
            self._solved(side, self.threshold, self.amounts)
            for side in branch(self.instance.graph.dag, leaf.windows, *leaf.choice)
        )
        if first is None or second is None:
            return False
        heapq.heappop(self.leaves)
        leaf.children, leaf.multipliers = (first, second), {}
        self._push(first)
        self._push(second)
        return True

    def payload(self, threshold: int) -> dict[str, Any] | None:
        """Return the certificate's payload; None if the time is up before.

        The multipliers are valid for any threshold; they prove less at larger ones.
        """
        flows = self.table.flows_in_time(threshold, self.budget)
        if flows is None:
            return None
        nodes: list[Any] = []
        waiting = [] if self.root is None else [self.root]
        while waiting:
            node = waiting.pop()
            if node.children is None:
                nodes.append({name: node.multipliers.get(name, []) for name in TREE_FAMILIES})
            else:
                nodes.append(list(node.choice or ()))
                waiting += [node.children[1], node.children[0]]
        return {"threshold": threshold, "flows": flows, "nodes": nodes}

    def _root_windows(self, amounts: IntArray) -> Windows:
        return share_windows(self.instance.graph.dag, amounts, self.instance.k)

    def _push(self, node: Node) -> None:
        heapq.heappush(self.leaves, (node.optimum, next(self.ticket), node))

    def _solved(self, windows: Windows, threshold: int, amounts: IntArray) -> Node | None:
        """Return a leaf with its relaxation solved; None if the time is up before."""
        if not windows.are_possible:
            return Node(windows, threshold, np.inf, {}, None)
        # To set up a program of thousands of nodes takes a second, however little time it has then.
        if self.budget.is_spent():
            return None
        instance, budget = self.instance, self.budget
        relaxation = relax(instance.graph, single_stages(instance.k), amounts, windows)
        # Price of excess shares: large enough to refute an impossible leaf.
        price = 100 * (threshold + 1)
        # From these ticks on, the solver sees costs in units of the threshold. Smaller ones stay
        # unscaled, which keeps the results of earlier versions.
        unit = float(threshold) if threshold >= 2**32 else 1.0
        point = solve(relaxation, price, budget.remaining(), budget.threads, unit=unit)
        if point is None:
            return None
        # Multipliers are rounded to multiples of 1 / 2^24.
        multipliers = whole_multipliers(relaxation, point.multipliers * 2**24)
        choice = choose_branching(amounts, windows, relaxation, point)
        return Node(windows, threshold, point.optimum, multipliers, choice)


def _raise_bound(tree: Tree, best: Best) -> None:
    """Report the bounds of a tree at rising thresholds."""
    report = _Report(tree, best)
    refuted = _refute_by_root(tree, report)
    # Distance of the first target from what has been refuted, as a part of it; it doubles up to the
    # largest. Shares far above what can be refuted are weak, and each new target has the worst
    # leaves solved again, so steps begin small.
    step, largest_step = 0.0005, 0.016
    if best.is_proven or not tree.start(_next_target(refuted, step, best)):
        return
    budget, slowest = tree.budget, 0.0
    next_report = next_report_at(budget.spent(), report.seconds)
    # Time is kept for one more step and the last certificate. The last tree is checked at lower
    # thresholds, too, by bisection.
    while (
        not report.is_too_large
        and not best.is_proven
        and budget.remaining() > 2.5 * slowest + 5 * report.seconds
    ):
        began = budget.spent()
        if tree.bound > tree.threshold:
            report.at(tree.threshold)
            step = min(2 * step, largest_step)
            if not tree.raise_threshold(_next_target(tree.threshold, step, best)):
                break
        elif best.proven > tree.threshold:
            # Another method has proven more.
            if not tree.raise_threshold(_next_target(best.proven - 1, step, best)):
                break
        elif not tree.grow():
            break
        if budget.spent() > next_report:
            report.at(tree.threshold)
            next_report = next_report_at(budget.spent(), report.seconds)
        slowest = max(slowest, budget.spent() - began)
    report.at(tree.threshold)
    _refute_less(tree, report)


def next_report_at(spent: float, check: float) -> float:
    """Return when the next certificate is due, in seconds of the tree's own time.

    That is after a part of the time so far, and after many of the slowest check. So a tree shows
    early what it is worth, also where it only has short turns of a long time (see `certify`).
    """
    return spent + max(0.25 * spent, 10 * check)


def _refute_by_root(tree: Tree, report: "_Report") -> int:
    """Estimate the largest threshold that the root alone refutes.

    By how much its optimum is above the threshold falls as the threshold rises, and steeply at
    first: shares that fill all stages leave little freedom. The secant method finds where it is 0.
    """
    trials, precision = 6, 0.0005
    threshold = report.best.proven
    refuted, above = threshold - 1, 0.0
    stands, below = 0, 0.0
    for _ in range(trials):
        if not tree.start(threshold):
            break
        report.at(threshold)
        excess = min(tree.optimum, 2.0 * threshold) - threshold
        if excess > 0:
            refuted, above = threshold, excess
        else:
            stands, below = threshold, excess
        width = stands - refuted
        if not stands:
            threshold += max(1, math.floor(above / 2))
        elif width <= max(1, precision * stands):
            break
        else:
            step = math.floor(width * above / (above - below))
            threshold = refuted + min(max(1, step), width - 1)
    return refuted


def _refute_less(tree: Tree, report: "_Report") -> None:
    """Bisect for the largest threshold below the tree's that its leaves refute, and report it."""
    low, high = report.best.proven - 1, tree.threshold
    while (
        high - low > 1 and not report.is_too_large and tree.budget.remaining() > 2 * report.seconds
    ):
        threshold = (low + high) // 2
        if report.at(threshold) > threshold:
            low = threshold
        else:
            high = threshold


def _next_target(refuted: int, step: float, best: Best) -> int:
    """Return the next threshold, below the cost of the best partition."""
    return int(min(refuted + max(1, int(step * refuted)), max(refuted + 1, best.objective - 1)))


@dataclass
class _Report:
    """Reporter of a tree's bounds, checked in exact arithmetic.

    Attributes
    ----------
    seconds
        What the slowest check took.
    is_too_large
        Whether the tree has grown beyond what the checker checks.
    """

    tree: Tree
    best: Best
    seconds: float = 0.0
    is_too_large: bool = False

    def at(self, threshold: int) -> int:
        """Check and report the tree's bound at a threshold.

        Return 0 if it cannot be better, or if there is too little time: turns of other methods may
        have used up what was kept for a check.
        """
        tree, best = self.tree, self.best
        if (tree.bound if threshold == tree.threshold else threshold + 1) <= best.proven:
            return 0
        if tree.budget.remaining() < self.seconds:
            return 0
        began, payload = tree.budget.spent(), tree.payload(threshold)
        if payload is None:
            return 0
        try:
            unproven = Certificate.of(tree.instance, KIND, 0, payload, "mip-tree")
            bound = checker.check_certificate(tree.instance.to_json(), unproven.to_json())
        except checker.TooLarge:
            self.is_too_large = True
            return 0
        self.seconds = max(self.seconds, tree.budget.spent() - began)
        best.bound(Certificate.of(tree.instance, KIND, bound, payload, "mip-tree"))
        return bound
