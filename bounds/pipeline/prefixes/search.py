"""Best-first branch and bound on a step: its linear relaxation, solved again as windows narrow.

Columns and rows are those of `relaxation`, in units of a stage: costs over the threshold,
weights over SHARE_UNITS. HiGHS keeps the program, and each solution starts from the basis of one
that differs in a few bounds, which takes the dual simplex method some dozen iterations.
"""

import heapq
import itertools
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_matrix, diags

from boundmark.bounds.mip.highs import highs_solver
from boundmark.bounds.pipeline.flows.minimum_cuts import transfers_around
from boundmark.bounds.pipeline.prefixes.prefix_weights import Closure, OutOfTimeError, scaled
from boundmark.bounds.pipeline.prefixes.relaxation import (
    FAMILIES,
    FloatArray,
    Multipliers,
    Superblocks,
    relax,
    whole_multipliers,
)
from boundmark.bounds.pipeline.prefixes.windows import SHARE_UNITS, Windows
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
    """The solver's answer to a program.

    Attributes
    ----------
    optimum
        Infinite if there is no solution.
    y
        Values of y(v, b), those that windows fix included, shape (n, K); None without a solution.
    multipliers
        Of the rows: of a minimum, or of a proof that there is no solution.
    basis
        To start the next solution from.
    """

    optimum: float
    y: FloatArray | None
    multipliers: FloatArray
    basis: Any


class Program:
    """The linear relaxation over the partitions that windows allow.

    Parameters
    ----------
    threshold
        What a stage costs at most, in ticks.
    price
        Of transfers from the superblocks to what comes after them, as a part of their ticks; only
        where the weight of the last prefix is the objective.

    Attributes
    ----------
    count
        Linear programs solved.
    """

    def __init__(
        self,
        graph: PipelineGraph,
        threshold: int,
        superblocks: Superblocks,
        windows: Windows,
        objective: Objective,
        threads: int,
        price: float = 0.0,
    ) -> None:
        amounts = scaled(graph.work, threshold)
        self._relaxation = relaxation = relax(graph, superblocks, amounts, windows)
        self._objective, self._threshold = objective, threshold
        self.count = 0
        self._unit = 1.0 / max(threshold, 1)
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
        # No stage exceeds its shares, nor the threshold unless the cost is minimised.
        upper[-2] = 0.0
        least = np.zeros(columns)
        if objective != "cost":
            least[-1] = upper[-1] = threshold * self._unit
        cost, self._constant = self._costs(superblocks, windows)
        if price:
            outer = relaxation.c[:, -1]
            has_column = outer >= 0
            cost[outer[has_column]] += price * graph.transfer[has_column] * self._unit
        rows = lower[self._kept], np.full(len(self._kept), np.inf)
        self._solver = highs_solver(matrix[self._kept], cost, (least, upper), rows, threads)
        self._solver.setOptionValue("solver", "simplex")
        self._solver.setOptionValue("presolve", "off")
        # Exact weights are lost with each basis that is set, and computing them again takes long.
        devex = 1
        self._solver.setOptionValue("simplex_dual_edge_weight_strategy", devex)
        self._open_node, self._open_block = np.nonzero(relaxation.y >= 0)
        self._open_column = relaxation.y[self._open_node, self._open_block].astype(np.int32)

    def solve(self, windows: Windows, seconds: float, basis: Any = None) -> Point:
        """Solve the program with narrower windows.

        Raises
        ------
        OutOfTimeError
            If it takes longer than some seconds.
        """
        import highspy

        if seconds <= 0:
            raise OutOfTimeError
        self.count += 1
        if len(self._broken):
            proof = np.zeros(len(self._relaxation.lower))
            proof[self._broken[0]] = 1.0
            return Point(np.inf, None, proof, None)
        node, block, solver = self._open_node, self._open_block, self._solver
        low = (windows.last[node] <= block).astype(np.float64)
        high = (windows.first[node] <= block).astype(np.float64)
        solver.changeColsBounds(len(node), self._open_column, low, high)
        if basis is not None:
            solver.setBasis(basis)
        solver.setOptionValue("time_limit", solver.getRunTime() + seconds)
        solver.run()
        status = solver.getModelStatus()
        if status == highspy.HighsModelStatus.kInfeasible:
            return Point(np.inf, None, self._proof(), None)
        if status != highspy.HighsModelStatus.kOptimal:
            raise OutOfTimeError
        solution = solver.getSolution()
        values = np.array(solution.col_value)
        y = (np.arange(self._relaxation.y.shape[1]) >= windows.last[:, None]).astype(np.float64)
        y[node, block] = values[self._open_column]
        multipliers = np.zeros(len(self._relaxation.lower))
        multipliers[self._kept] = np.maximum(np.array(solution.row_dual), 0.0)
        optimum = solver.getInfo().objective_function_value + self._constant
        return Point(float(optimum), y, multipliers, solver.getBasis())

    def integers(self, point: Point) -> Multipliers:
        """Return multipliers as certificates store them.

        That of the objective is MULTIPLIER_UNITS thresholds, in the row that says the contrary of
        what is to be proved.
        """
        relaxation = self._relaxation
        units = np.where(np.isin(relaxation.family, _TICK_ROWS), 1, max(self._threshold, 1))
        amounts = point.multipliers * MULTIPLIER_UNITS * units
        if point.y is not None and self._objective != "cost":
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
            cost[-1] = 1.0
            return cost, 0.0
        weighed = superblocks.prefixes
        assert weighed is not None
        block, sign = (len(weighed.at_least) - 1, -1) if self._objective == "upper" else (0, 1)
        column = self._relaxation.y[:, block]
        weights = sign * weighed.weights / SHARE_UNITS
        cost[column[column >= 0]] = weights[column >= 0]
        return cost, float(weights[(column < 0) & (windows.last <= block)].sum())

    def _proof(self) -> FloatArray:
        """Return a dual ray: multipliers that add rows up to a contradiction, the largest 1."""
        multipliers = np.zeros(len(self._relaxation.lower))
        _, found, ray = self._solver.getDualRay()
        if found:
            ray = np.maximum(np.array(ray), 0.0)
            multipliers[self._kept] = ray / max(float(ray.max()), ROUNDING_ERROR)
        return multipliers


@dataclass(eq=False)
class Leaf:
    """Partitions within windows: a leaf of the tree until it is branched on.

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
        """A lower bound on the objective in this part."""
        return np.inf if self.point is None else self.point.optimum


class Search:
    """Branch-and-bound tree over the partitions that windows allow.

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
        # Work, and tensors around: where those of a node alone cost much, its neighbours follow it.
        self._weights = graph.work + 1 + transfers_around(graph)
        self._ticket = itertools.count()
        self._waiting: list[tuple[float, int, Leaf]] = []
        self.root = self._solved(windows, None)
        self._push(self.root)

    @property
    def optimum(self) -> float:
        """The lower bound on the objective so far."""
        return self._waiting[0][0] if self._waiting else np.inf

    @property
    def worst(self) -> Leaf | None:
        """The leaf with the least bound; None if there is no solution."""
        return self._waiting[0][2] if self._waiting else None

    def grow(self) -> bool:
        """Branch on the worst leaf; return False if it is decided.

        Raises
        ------
        OutOfTimeError
            If the budget ends first. The tree stays as it was.
        """
        leaf = self.worst
        if leaf is None or leaf.point is None or leaf.point.y is None:
            return False
        branching = self._branching(leaf.point.y)
        if branching is None:
            return False
        sides = self._closure.branch(leaf.windows, *branching)
        first, second = (self._solved(side, leaf) for side in sides)
        heapq.heappop(self._waiting)
        leaf.branching, leaf.children = branching, (first, second)
        self._push(first)
        self._push(second)
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
