"""Best-first branch and bound on superblocks: a linear relaxation, solved again as windows narrow.

Columns and rows are those of `relaxation`, in units of a stage: costs over the threshold,
weights over SHARE_UNITS. HiGHS keeps the program, and each solution starts from the basis of one
that differs in a few bounds, which takes the dual simplex method some dozen iterations.
`prefix-bound` searches steps of few stages so, and `mip-tree` all stages at once.
"""

import heapq
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_matrix, diags

from boundmark.bounds.mip.highs import LinearProgram
from boundmark.bounds.pipeline.flows.minimum_cuts import transfers_around
from boundmark.bounds.pipeline.prefixes.relaxation import (
    FAMILIES,
    FloatArray,
    Multipliers,
    Superblocks,
    relax,
    whole_multipliers,
)
from boundmark.bounds.pipeline.prefixes.windows import (
    SHARE_UNITS,
    Closure,
    OutOfTimeError,
    Windows,
)
from boundmark.problems.arrays import IntArray
from boundmark.problems.method import Budget
from boundmark.problems.pipeline.graph import PipelineGraph

# The objective: minus the weight of the last prefix, the weight of the first one, or the cost of
# the bottleneck stage.
Objective = Literal["upper", "lower", "cost"]

# Multipliers of costs are rounded to multiples of 1 / MULTIPLIER_UNITS.
MULTIPLIER_UNITS = 2**24

# Rounding error allowed in a row without columns.
ROUNDING_ERROR = 1e-9

# A column within this of 0 or 1 is as good as fixed.
FRACTIONAL = 1e-5

_TICK_ROWS = [FAMILIES.index(name) for name in ("cost", "overflow")]


@dataclass(frozen=True, eq=False)
class Point:
    """The solver's answer to a program."""

    # In stages, or in ticks if it is a cost; infinite if there is no solution.
    optimum: float
    # Values of y(v, b), those that windows fix included, shape (n, K); None without a solution, and
    # once the part is branched on.
    y: FloatArray | None
    # One per row, of a minimum, or of a proof that there is no solution.
    multipliers: FloatArray
    # To start the solutions of its two parts from.
    basis: Any


class Program:
    """The linear relaxation over the partitions that windows allow."""

    # `threshold`: What a stage costs at most, in ticks. `amounts`: Each node's share of a stage, in
    # units of 1 / SHARE_UNITS, shape (n,). `price`: Of transfers from the superblocks to what comes
    # after them, as a part of their ticks; only where the weight of the last prefix is the
    # objective.

    def __init__(
        self,
        graph: PipelineGraph,
        threshold: int,
        superblocks: Superblocks,
        windows: Windows,
        objective: Objective,
        amounts: IntArray,
        threads: int,
        price: float = 0.0,
    ) -> None:
        self._relaxation = relaxation = relax(graph, superblocks, amounts, windows)
        self._objective, self._threshold = objective, threshold
        # Linear programs solved.
        self.count = 0
        self._unit = 1.0 / max(threshold, 1)
        self._size = max(threshold, 1) if objective == "cost" else 1
        self._scale = np.where(np.isin(relaxation.family, _TICK_ROWS), self._unit, 1.0)
        columns = len(relaxation.upper)
        matrix = csr_matrix(
            (relaxation.values, (relaxation.rows, relaxation.columns)),
            shape=(len(relaxation.lower), columns),
        )
        # Overflow and the cost of the bottleneck stage are in units of a threshold, too.
        stages = len(superblocks.merged)
        size = np.ones(columns)
        size[columns - 2 - stages : columns - 2] = size[-1] = max(threshold, 1)
        matrix = (diags(self._scale) @ matrix @ diags(size)).tocsr()
        self._kept = np.flatnonzero(np.diff(matrix.indptr))
        lower = relaxation.lower * self._scale
        lower[self._dropped()] = -np.inf
        empty = np.diff(matrix.indptr) == 0
        self._broken = np.flatnonzero(empty & (lower > ROUNDING_ERROR))
        upper = relaxation.upper / size
        # No stage exceeds the threshold, nor its shares, unless the cost is minimised.
        least = np.zeros(columns)
        if objective != "cost":
            upper[-2] = 0.0
            least[-1] = upper[-1] = threshold * self._unit
        cost, self._constant = self._costs(superblocks, windows)
        if price:
            outer = relaxation.c[:, -1]
            has_column = outer >= 0
            cost[outer[has_column]] += price * graph.transfer[has_column] * self._unit
        rows = lower[self._kept], np.full(len(self._kept), np.inf)
        limits = (least, upper), rows
        self._program = LinearProgram(matrix[self._kept], cost, *limits, threads, "interior")
        self._open_node, self._open_block = np.nonzero(relaxation.y >= 0)
        self._open_column = relaxation.y[self._open_node, self._open_block].astype(np.int32)

    def solve(self, windows: Windows, seconds: float, basis: Any = None) -> Point:
        """Solve the program with narrower windows.

        Raises `OutOfTimeError` if it takes longer than some seconds.
        """
        if seconds <= 0:
            raise OutOfTimeError
        self.count += 1
        if len(self._broken):
            proof = np.zeros(len(self._relaxation.lower))
            proof[self._broken[0]] = 1.0
            return Point(np.inf, None, proof, None)
        node, block = self._open_node, self._open_block
        low = (windows.last[node] <= block).astype(np.float64)
        high = (windows.first[node] <= block).astype(np.float64)
        self._program.limit_columns(self._open_column, low, high)
        solved = self._program.solve(seconds, basis)
        if solved is None:
            raise OutOfTimeError
        multipliers = np.zeros(len(self._relaxation.lower))
        multipliers[self._kept] = np.maximum(solved.multipliers, 0.0)
        if np.isinf(solved.optimum):
            return Point(np.inf, None, multipliers, None)
        y = (np.arange(self._relaxation.y.shape[1]) >= windows.last[:, None]).astype(np.float64)
        y[node, block] = solved.values[self._open_column]
        return Point(self._size * solved.optimum + self._constant, y, multipliers, solved.basis)

    def integers(self, point: Point) -> Multipliers:
        """Return multipliers as certificates store them.

        That of the objective is MULTIPLIER_UNITS thresholds, in the row that says the contrary of
        what is to be proved.
        """
        relaxation = self._relaxation
        units = np.where(np.isin(relaxation.family, _TICK_ROWS), 1, max(self._threshold, 1))
        amounts = point.multipliers * MULTIPLIER_UNITS * units
        if np.isfinite(point.optimum) and self._objective != "cost":
            amounts[self._dropped()] = MULTIPLIER_UNITS * max(self._threshold, 1)
        return whole_multipliers(relaxation, amounts)

    def _dropped(self) -> IntArray:
        """Return the row of the prefix that the objective is about, on the objective's side."""
        family, number = self._relaxation.family, self._relaxation.number
        if self._objective == "upper":
            is_such = family == FAMILIES.index("at_least")
            return np.flatnonzero(is_such & (number == number[is_such].max()))
        if self._objective == "lower":
            return np.flatnonzero((family == FAMILIES.index("at_most")) & (number == 0))
        return np.zeros(0, dtype=np.int64)

    def _costs(self, superblocks: Superblocks, windows: Windows) -> tuple[FloatArray, float]:
        cost = np.zeros(len(self._relaxation.upper))
        if self._objective == "cost":
            # The price of excess shares is large enough to refute an impossible part.
            cost[-2:] = 100.0, 1.0
            return cost, 0.0
        weighed = superblocks.prefixes
        assert weighed is not None
        block, sign = (len(weighed.at_least) - 1, -1) if self._objective == "upper" else (0, 1)
        column = self._relaxation.y[:, block]
        weights = sign * weighed.weights / SHARE_UNITS
        cost[column[column >= 0]] = weights[column >= 0]
        return cost, float(weights[(column < 0) & (windows.last <= block)].sum())


@dataclass(eq=False)
class Leaf:
    """Partitions within windows: a leaf of the tree until it is branched on."""

    windows: Windows
    # A lower bound on the objective in this part.
    optimum: float = np.inf
    # None if the windows leave nothing, or if an earlier program was solved.
    point: Point | None = None
    # The part that it was branched from; its multipliers hold here, too.
    parent: "Leaf | None" = None
    # Node and superblock.
    branching: tuple[int, int] | None = None
    children: "tuple[Leaf, Leaf] | None" = None
    # The multipliers of an earlier program.
    multipliers: Multipliers | None = None


class Search:
    """Branch-and-bound tree over the partitions that windows allow."""

    def __init__(
        self,
        graph: PipelineGraph,
        closure: Closure,
        program: Program,
        windows: Windows,
        budget: Budget,
    ) -> None:
        self._closure, self._budget, self.program = closure, budget, program
        # Work, and tensors around: where those of a node alone cost much, its neighbours follow it.
        self._weights = graph.work + 1 + transfers_around(graph)
        self._ticket = itertools.count()
        self._waiting: list[tuple[float, int, Leaf]] = []
        self.root = self._solved(Leaf(windows))
        self._push(self.root)

    @property
    def optimum(self) -> float:
        """The lower bound on the objective so far."""
        return self._waiting[0][0] if self._waiting else np.inf

    @property
    def worst(self) -> Leaf | None:
        """The leaf with the least bound; None if there is no solution."""
        return self._waiting[0][2] if self._waiting else None

    def walk(self) -> Iterator[Leaf]:
        """Yield all parts as certificates list them: each before its own, the first one first."""
        waiting = [self.root]
        while waiting:
            leaf = waiting.pop()
            yield leaf
            waiting += (leaf.children or ())[::-1]

    def multipliers(self, leaf: Leaf) -> Multipliers:
        """Return the multipliers of a leaf as certificates store them; none if it is empty."""
        if leaf.point is None:
            return leaf.multipliers or {}
        return self.program.integers(leaf.point)

    def go_on(self, program: Program, windows: Windows) -> None:
        """Go on with a program of wider windows: leaves are solved again when they are the worst.

        Until then, they keep their bounds and multipliers.
        """
        self.root.windows = windows
        self._waiting = []
        for leaf in self.walk():
            if leaf.children is not None and leaf.branching is not None:
                sides = self._closure.branch(leaf.windows, *leaf.branching)
                for child, side in zip(leaf.children, sides, strict=True):
                    child.windows = side
            else:
                leaf.multipliers = self.multipliers(leaf)
                if np.isinf(leaf.optimum) and leaf.windows.are_possible:
                    leaf.optimum = 0.0
                self._push(leaf)
            leaf.point = None
        self.program = program

    def grow(self) -> bool:
        """Solve the worst leaf if the program is new to it, or branch on it.

        If it is decided, another one to which the program is new may still gain.

        Returns False if nothing is left to improve on. Raises `OutOfTimeError` if the budget ends
        first. The tree stays as it was.
        """
        if not self._waiting:
            return False
        entry = self._waiting[0]
        point = entry[2].point
        branching = None if point is None else self._branching(point)
        if point is not None and branching is None:
            entry = next((entry for entry in self._waiting if entry[2].point is None), entry)
        leaf = entry[2]
        if leaf.point is None:
            self._solved(leaf)
            self._waiting.remove(entry)
            heapq.heapify(self._waiting)
            self._push(leaf)
            return True
        if branching is None:
            return False
        sides = self._closure.branch(leaf.windows, *branching)
        first, second = (self._solved(Leaf(side, parent=leaf)) for side in sides)
        heapq.heappop(self._waiting)
        leaf.branching, leaf.children = branching, (first, second)
        if leaf.point is not None:
            # Only its multipliers may be asked for again; trees have thousands of parts.
            leaf.point = replace(leaf.point, y=None, basis=None)
        self._push(first)
        self._push(second)
        return True

    def _branching(self, point: Point) -> tuple[int, int] | None:
        y = point.y
        assert y is not None
        undecided = np.minimum(y, 1 - y)
        if undecided.max(initial=0.0) < FRACTIONAL:
            return None
        node, block = divmod(int((undecided * self._weights[:, None]).argmax()), y.shape[1])
        if undecided[node, block] < FRACTIONAL:
            node, block = divmod(int(undecided.argmax()), y.shape[1])
        return node, block

    def _solved(self, leaf: Leaf) -> Leaf:
        """Solve a leaf, unless its windows leave nothing."""
        if leaf.windows.are_possible:
            parent = leaf.parent
            basis = None if parent is None or parent.point is None else parent.point.basis
            leaf.point = self.program.solve(leaf.windows, self._budget.remaining(), basis)
        leaf.optimum = np.inf if leaf.point is None else leaf.point.optimum
        return leaf

    def _push(self, leaf: Leaf) -> None:
        if np.isfinite(leaf.optimum):
            heapq.heappush(self._waiting, (leaf.optimum, next(self._ticket), leaf))
