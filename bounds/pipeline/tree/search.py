"""Best-first branch and bound on the windows of the nodes, at a threshold that rises.

Every partition whose stages cost at most the threshold t is in some leaf, and every leaf has a
bound on its bottleneck stage. So at any moment, OPT is at least the smallest of t + 1 and the
leaves' bounds. When all leaves are above t, a larger t comes next. The tree stays; the shares
shrink a little, and a leaf is solved again only when it is the worst one.

A formulation of several programs has a tree for each, and their leaves wait in one queue.
"""

import heapq
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from boundmark.bounds.pipeline.minimum_cuts import transfers_around
from boundmark.bounds.pipeline.share import ShareTable
from boundmark.bounds.pipeline.tree.relaxation import (
    FAMILIES,
    TREE_FAMILIES,
    FloatArray,
    Point,
    Relaxation,
    relax,
    solve,
    whole_numbers,
)
from boundmark.bounds.pipeline.tree.superblocks import (
    MIDDLE,
    Demand,
    Superblocks,
    around,
    around_any,
    merged_windows,
    single_stages,
)
from boundmark.bounds.pipeline.windows import Windows, branch, share_windows, shares
from boundmark.problems.arrays import IntArray
from boundmark.problems.dag import Dag
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph

Roots = list[tuple[Superblocks, Windows]]

Multipliers: TypeAlias = dict[str, list[int]]

# A column within this of 0 or 1 is as good as fixed.
FRACTIONAL = 1e-4

# Multipliers are rounded to multiples of 1 / MULTIPLIER_UNITS.
MULTIPLIER_UNITS = 2**24

# Thresholds in ticks from which on the solver sees costs in units of the threshold. Smaller ones
# stay unscaled, which keeps the results of earlier versions.
LARGE_THRESHOLD = 2**32

# Price of excess shares, in thresholds: large enough to refute an impossible leaf.
EXCESS_PRICE = 100


@dataclass(frozen=True)
class Formulation:
    """The program that a tree relaxes.

    Attributes
    ----------
    kind
        Kind of its certificates, which fixes the roots.
    roots
        Maps a graph and its shares at a threshold to superblocks and windows. Each partition whose
        stages cost at most the threshold is in one of them.
    demand
        Of the stage that is singled out, if any.
    """

    kind: str
    roots: Callable[[Dag, IntArray], Roots]
    demand: Demand | None = None


def exact(k: int) -> Formulation:
    """Return the paper's exact program ([MTPP24], Figure 3)."""
    superblocks = single_stages(k)
    return Formulation(
        "mip-tree/1", lambda dag, amounts: [(superblocks, share_windows(dag, amounts, k))]
    )


def bottleneck(k: int, demand: Demand) -> Formulation:
    """Return the program of one stage, wherever it is ([MTPP24], Section 3.2)."""
    superblocks = around_any(k, demand)

    def roots(dag: Dag, amounts: IntArray) -> Roots:
        first = np.zeros(dag.nodes, dtype=np.int64)
        return [(superblocks, Windows(first, first + len(superblocks.merged) - 1))]

    return Formulation("bottleneck-tree/1", roots, demand)


def bottleneck_guess(k: int, demand: Demand) -> Formulation:
    """Return a program for each position of one stage ([MTPP24], Section 3.3)."""
    superblocks = [around(stage, k, demand) for stage in range(k)]

    def roots(dag: Dag, amounts: IntArray) -> Roots:
        windows = share_windows(dag, amounts, k)
        return [(superblocks[stage], merged_windows(windows, stage)) for stage in range(k)]

    return Formulation("bottleneck-guess-tree/1", roots, demand)


def choice(
    graph: PipelineGraph,
    superblocks: Superblocks,
    amounts: IntArray,
    windows: Windows,
    relaxation: Relaxation,
    point: Point,
) -> tuple[int, int] | None:
    """Return the node and superblock to branch on; None if everything is decided.

    The exact program branches on a large share whose superblock is far from decided. If a
    superblock is singled out, who is in it matters more than what is before it, and a node among
    expensive tensors matters most: its neighbours must follow it, or the superblock is expensive.
    """
    y = prefix_values(windows, relaxation, point)
    undecided = np.minimum(y, 1 - y)
    if undecided.max() < FRACTIONAL:
        return None
    if superblocks.demand is not None:
        inside = y[:, MIDDLE] - y[:, MIDDLE - 1]
        membership = np.minimum(inside, 1 - inside)
        if membership.max() >= FRACTIONAL:
            node = heaviest(membership, transfers_around(graph))
            return node, int(undecided[node].argmax())
    node, superblock = divmod(
        heaviest(undecided.ravel(), amounts.repeat(len(superblocks.merged))),
        len(superblocks.merged),
    )
    return node, superblock


def prefix_values(windows: Windows, relaxation: Relaxation, point: Point) -> FloatArray:
    """Return y(v, b) of a point, with those that windows fix, shape (n, K)."""
    is_open = relaxation.y >= 0
    y = (np.arange(relaxation.y.shape[1]) >= windows.last[:, None]).astype(np.float64)
    y[is_open] = point.columns[relaxation.y[is_open]]
    return y


def heaviest(undecided: FloatArray, weights: IntArray) -> int:
    """Return the most undecided, by weight; if none of any weight is, the most undecided."""
    best = int(np.argmax(undecided * weights))
    return best if undecided[best] >= FRACTIONAL else int(undecided.argmax())


@dataclass(eq=False)
class Node:
    """A node of the tree: a leaf until it is branched on."""

    superblocks: Superblocks
    windows: Windows
    threshold: int
    optimum: float
    multipliers: Multipliers
    choice: tuple[int, int] | None
    children: "tuple[Node, Node] | None" = None


@dataclass(eq=False)
class Tree:
    """A tree at a threshold, or one for each program of a formulation.

    Attributes
    ----------
    amounts
        Shares at this threshold.
    leaves
        Heap of (optimum, tie-break, leaf).
    """

    instance: PipelineInstance
    table: ShareTable
    formulation: Formulation
    budget: Budget
    threshold: int = 0
    amounts: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))
    roots: list[Node] = field(default_factory=list)
    leaves: list[tuple[float, int, Node]] = field(default_factory=list)
    ticket: "itertools.count[int]" = field(default_factory=itertools.count)

    def start(self, threshold: int) -> bool:
        """Solve the roots at a threshold; return False if that took too long or is not possible."""
        amounts = shares(self.table, threshold)
        if amounts is None:
            return False
        roots = []
        for superblocks, windows in self.formulation.roots(self.instance.graph.dag, amounts):
            root = self._solved(superblocks, windows, threshold, amounts)
            if root is None:
                return False
            roots.append(root)
        self.roots, self.threshold, self.amounts = roots, threshold, amounts
        self.leaves = []
        for root in roots:
            self._push(root)
        return True

    def raise_threshold(self, threshold: int) -> bool:
        """Keep the tree and go on at a larger threshold; return False if that is not possible."""
        dag = self.instance.graph.dag
        amounts = shares(self.table, threshold)
        if amounts is None or not self.roots:
            return False
        self.threshold, self.amounts = threshold, amounts
        windows = [windows for _, windows in self.formulation.roots(dag, amounts)]
        waiting = list(zip(self.roots, windows, strict=True))
        while waiting:
            node, own = waiting.pop()
            node.windows = own
            if node.children is not None and node.choice is not None:
                earlier, later = branch(dag, own, *node.choice)
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
            again = self._solved(leaf.superblocks, leaf.windows, self.threshold, self.amounts)
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
        earlier, later = branch(self.instance.graph.dag, leaf.windows, *leaf.choice)
        first, second = (
            self._solved(leaf.superblocks, side, self.threshold, self.amounts)
            for side in (earlier, later)
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
        demand = self.formulation.demand
        rows = TREE_FAMILIES if demand is None else (*TREE_FAMILIES, "demand")
        nodes: list[Any] = []
        waiting = self.roots[::-1]
        while waiting:
            node = waiting.pop()
            if node.children is None:
                nodes.append({name: node.multipliers.get(name, []) for name in rows})
            else:
                nodes.append(list(node.choice or ()))
                waiting += [node.children[1], node.children[0]]
        payload = {"threshold": threshold, "flows": flows, "nodes": nodes}
        return payload if demand is None else {**payload, "demand": demand.amounts.tolist()}

    def _push(self, node: Node) -> None:
        heapq.heappush(self.leaves, (node.optimum, next(self.ticket), node))

    def _solved(
        self, superblocks: Superblocks, windows: Windows, threshold: int, amounts: IntArray
    ) -> Node | None:
        if not windows.are_possible:
            return Node(superblocks, windows, threshold, np.inf, {}, None)
        # To set up a program of thousands of nodes takes a second, however little time it has then.
        if self.budget.is_spent():
            return None
        relaxation = relax(self.instance.graph, superblocks, amounts, windows)
        price = EXCESS_PRICE * (threshold + 1)
        unit = float(threshold) if threshold >= LARGE_THRESHOLD else 1.0
        budget = self.budget
        point = solve(relaxation, price, budget.remaining(), budget.threads, unit=unit)
        if point is None:
            return None
        return Node(
            superblocks,
            windows,
            threshold,
            point.optimum,
            rounded_multipliers(relaxation, point),
            choice(self.instance.graph, superblocks, amounts, windows, relaxation, point),
        )


def rounded_multipliers(relaxation: Relaxation, point: Point) -> Multipliers:
    """Return multipliers as certificates store them: by family, rows and multipliers in turn."""
    result, numbers = {}, relaxation.number.tolist()
    scaled = whole_numbers(point.multipliers * MULTIPLIER_UNITS)
    for i, name in enumerate(FAMILIES):
        used = np.flatnonzero(relaxation.family == i).tolist()
        result[name] = [x for row in used if scaled[row] > 0 for x in (numbers[row], scaled[row])]
    return result
