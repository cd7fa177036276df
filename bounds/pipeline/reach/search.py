"""Best-first branch and bound on the windows of a step's nodes."""

import heapq
import itertools
from dataclasses import dataclass

import numpy as np

from boundmark.bounds.pipeline.reach.closure import Closure
from boundmark.bounds.pipeline.reach.program import Point, Program
from boundmark.bounds.pipeline.shares.windows import Windows
from boundmark.bounds.pipeline.tree.relaxation import FloatArray
from boundmark.problems.arrays import IntArray
from boundmark.problems.method import Budget
from boundmark.problems.pipeline.graph import PipelineGraph

# A column within this of 0 or 1 is as good as fixed.
FRACTIONAL = 1e-5


@dataclass(eq=False)
class Leaf:
    """A part of the search space: a leaf of the tree until it is branched on.

    Attributes
    ----------
    parent
        The part that it was branched from; its multipliers hold here, too.
    branching
        Node and superblock.
    """

    windows: Windows
    point: Point | None
    parent: "Leaf | None" = None
    branching: tuple[int, int] | None = None
    children: "tuple[Leaf, Leaf] | None" = None

    @property
    def optimum(self) -> float:
        """The least that the objective can be here."""
        return np.inf if self.point is None else self.point.optimum


class Search:
    """A tree over the partitions that windows leave to a program.

    Attributes
    ----------
    root
        Of the tree.
    """

    def __init__(
        self,
        graph: PipelineGraph,
        closure: Closure,
        program: Program,
        windows: Windows,
        budget: Budget,
    ) -> None:
        self._closure, self._budget, self.program = closure, budget, program
        self._weights = branching_weights(graph)
        self._ticket = itertools.count()
        self._waiting: list[tuple[float, int, Leaf]] = []
        self.root = self._solved(windows, None)
        self._push(self.root)

    @property
    def optimum(self) -> float:
        """The least that the objective can be, as far as the search has come."""
        return self._waiting[0][0] if self._waiting else np.inf

    @property
    def worst(self) -> Leaf | None:
        """The leaf where the objective may be least; None if there is no solution at all."""
        return self._waiting[0][2] if self._waiting else None

    def grow(self, leaf: Leaf | None = None) -> bool:
        """Branch on a leaf, or where the objective may be least; return False if it is decided.

        Raises
        ------
        OutOfTimeError
            If the budget ends first. The tree stays as it was.
        """
        leaf = self.worst if leaf is None else leaf
        if leaf is None or leaf.point is None or leaf.point.y is None:
            return False
        branching = self._branching(leaf.point.y)
        if branching is None:
            return False
        sides = self._closure.branch(leaf.windows, *branching)
        first, second = (self._solved(side, leaf) for side in sides)
        leaf.branching, leaf.children = branching, (first, second)
        self._push(first)
        self._push(second)
        while self._waiting and self._waiting[0][2].children is not None:
            heapq.heappop(self._waiting)
        return True

    def _branching(self, y: FloatArray) -> tuple[int, int] | None:
        undecided = np.minimum(y, 1 - y)
        if undecided.max(initial=0.0) < FRACTIONAL:
            return None
        node, block = divmod(int((undecided * self._weights[:, None]).argmax()), y.shape[1])
        if undecided[node, block] < FRACTIONAL:
            node, block = divmod(int(undecided.argmax()), y.shape[1])
        return node, block

    def _solved(self, windows: Windows, parent: Leaf | None) -> Leaf:
        if not windows.are_possible:
            return Leaf(windows, None, parent)
        basis = None if parent is None or parent.point is None else parent.point.basis
        return Leaf(windows, self.program.solve(windows, self._budget.remaining(), basis), parent)

    def _push(self, leaf: Leaf) -> None:
        if leaf.point is not None and leaf.point.y is not None:
            heapq.heappush(self._waiting, (leaf.optimum, next(self._ticket), leaf))


def branching_weights(graph: PipelineGraph) -> IntArray:
    """Return how much depends on where a node is: its work and the tensors around it, shape (n,).

    Where the tensors of a node alone cost much, its neighbours follow it.
    """
    dag = graph.dag
    weights = graph.work + 1
    np.add.at(weights, dag.targets, graph.transfer[dag.sources])
    producers = np.unique(dag.sources)
    weights[producers] += graph.transfer[producers]
    return weights
