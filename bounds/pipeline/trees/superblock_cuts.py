"""Bounds on three superblocks by minimum cuts: the program of `relaxation` without a solver.

The superblocks are what is before a stage, the stage, and what is after it. For given multipliers
of the rows of costs and overflow, the rest of the program is nearly a minimum cut. Three zeros or
ones say of a node v that it is not before the stage, that it is in it, and that it is not after it.
Rows about tensors that leave what is before, that enter or leave the stage, or that enter what is
after it have the difference of two zeros or ones of one sort each, and so have precedences. Of
nodes that cannot be before the stage, or not after it, two of the three are the same, and the third
is fixed; these are all but those that neither depend on the anchor nor have it depend on them (see
`anchor_tree`). Of the latter, the three are vertices of their own: ``not before + not after = 1 +
inside`` has a multiplier, too, which makes the work outside the stage free but for what it costs
in any case. Instead of the solver's thousands of rows, a few multipliers are chosen by the cutting
planes that their cuts are ([KELLEY60]).
"""

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from boundmark.bounds.maximum_flow import SINK, SOURCE, UNLIMITED, Network
from boundmark.bounds.pipeline.trees.relaxation import FloatArray
from boundmark.bounds.pipeline.windows import Windows
from boundmark.problems.arrays import IntArray
from boundmark.problems.dag import Dag
from boundmark.problems.method import Budget
from boundmark.problems.pipeline.graph import PipelineGraph

# The superblocks: what is before the stage, the stage, and what is after it.
BEFORE, MIDDLE, AFTER = 0, 1, 2

# Multipliers of costs add up to this, each times the number of its stages.
SCALE = 2**20

# Costs are rounded to units, so that they add up to less, times SCALE less than UNLIMITED.
MOST_UNITS = 2**40

# The families of rows that arcs stand for.
FAMILIES = ("edge", "enters", "leaves")

# The search for multipliers ends when better ones can prove more by this part of the bound.
PRECISION = 1e-4

BoolArray: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Costs:
    """A graph's costs in units of so many ticks, rounded down."""

    dag: Dag
    unit: int
    work: IntArray
    transfer: IntArray
    load: IntArray
    cache: int

    @classmethod
    def of(cls, graph: PipelineGraph) -> "Costs":
        """Return costs in the smallest unit in which flows can add them up."""
        all_costs = sum(int(array.sum()) for array in (graph.work, graph.param_load))
        # A tensor pays for leaving and entering any of the superblocks.
        unit = 1 + (all_costs + 4 * int(graph.transfer.sum())) // MOST_UNITS
        return cls(
            graph.dag,
            unit,
            graph.work // unit,
            graph.transfer // unit,
            graph.param_load // unit,
            -(-graph.cache // unit),
        )


@dataclass(frozen=True, eq=False)
class Multipliers:
    """Multipliers of the rows of a leaf, as `bounds.checker.pipeline.leaf` describes them.

    Attributes
    ----------
    cost, overflow
        One for each superblock.
    rows
        By family: numbers of the rows, and their multipliers in the unit of the costs.
    """

    cost: IntArray
    overflow: IntArray
    rows: dict[str, tuple[IntArray, IntArray]]

    def bound(self, costs: Costs, merged: IntArray, windows: Windows) -> int:
        """Return the bound that the sum of all rows proves within windows.

        It is exact if the unit of the costs is a tick.
        """
        dag, first, last = costs.dag, windows.first, windows.last
        y = np.zeros((dag.nodes, 3), dtype=np.int64)
        tensors = 0

        def add(nodes: IntArray, superblocks: IntArray, amounts: IntArray) -> None:
            np.add.at(y, (nodes, superblocks), amounts)

        def add_inside(nodes: IntArray, superblocks: IntArray, amounts: IntArray) -> None:
            add(nodes, superblocks, amounts)
            later = superblocks > 0
            add(nodes[later], superblocks[later] - 1, -amounts[later])

        nodes = np.arange(dag.nodes)
        for b in range(3):
            amounts = self.cost[b] * costs.work + self.overflow[b] * costs.load
            add_inside(nodes, np.full_like(nodes, b), amounts)
        for family, sign in (("enters", 1), ("leaves", -1)):
            numbers, amounts = self.rows[family]
            e, superblocks = np.divmod(numbers, 3)
            left = self.cost * costs.transfer[:, None]
            np.subtract.at(left, (dag.sources[e], superblocks), amounts)
            tensors += int(np.minimum(left, 0).sum())
            add_inside(dag.targets[e], superblocks, sign * amounts)
            add_inside(dag.sources[e], superblocks, -sign * amounts)
        numbers, amounts = self.rows["edge"]
        e, superblocks = np.divmod(numbers, 3)
        add(dag.sources[e], superblocks, -amounts)
        add(dag.targets[e], superblocks, amounts)
        numbers, amounts = self.rows["later"]
        v, superblocks = np.divmod(numbers, 3)
        add(v, superblocks, amounts)
        add(v, superblocks + 1, -amounts)
        at = np.arange(3)
        y = np.where(at >= last[:, None], y, np.where(at >= first[:, None], np.minimum(y, 0), 0))
        constant = int(y.sum()) + tensors
        constant -= int((self.overflow * merged).sum()) * costs.cache
        total = int((self.cost * merged).sum())
        return -(-constant * costs.unit // total)

    def to_json(self, unit: int) -> dict[str, list[int]]:
        """Return the multipliers as certificates store them, in ticks."""
        families = {
            "cost": (np.arange(3), self.cost),
            "overflow": (np.arange(3), self.overflow),
            **self.rows,
        }
        return {
            name: [
                x
                for row, amount in zip(rows.tolist(), amounts.tolist(), strict=True)
                if amount > 0
                for x in (row, amount * (1 if name in ("cost", "overflow") else unit))
            ]
            for name, (rows, amounts) in families.items()
        }


@dataclass(frozen=True, eq=False)
class Plane:
    """A cutting plane, from a minimum cut: what multipliers of costs and overflow prove at most.

    Attributes
    ----------
    slopes
        What the bound is at most if only one superblock has a multiplier of costs, and one of
        overflow or not: without in the first row, with it in the second, shape (2, 3).
    y
        Whether each node is before the stage, and whether it is not after it, shape (n, 2).
    is_consistent
        Whether nodes are in the stage if they are neither before it nor after it, shape (n,).
    """

    slopes: FloatArray
    y: BoolArray
    is_consistent: BoolArray


@dataclass(frozen=True, eq=False)
class Proof:
    """What was found for a leaf.

    Attributes
    ----------
    bound
        In ticks, what the multipliers prove.
    y
        A point at which the program costs about that, shape (n, 2), as in `Plane`.
    is_consistent
        Whether all solutions that the point is made of are, shape (n,).
    planes
        The solutions.
    """

    bound: int
    multipliers: Multipliers
    y: FloatArray
    is_consistent: BoolArray
    planes: list[Plane]


class SuperblockCuts:
    """Minimum cuts of a graph with given windows of three superblocks.

    Parameters
    ----------
    merged
        How many stages each superblock stands for.
    windows
        First and last superblock of each node; some node is in the middle one.
    """

    def __init__(self, costs: Costs, merged: IntArray, windows: Windows) -> None:
        self._costs, self._merged, self._windows = costs, merged, windows
        can_overflow = (0, 1) if int(costs.load.sum()) > costs.cache else (0,)
        # Superblocks that the bound can be found by, with and without overflow.
        self._ways = [
            (b, way) for b in np.flatnonzero(self._merged).tolist() for way in can_overflow
        ]
        dag = costs.dag
        vertices, self._is_free = _vertices(windows)
        self._not_before, self._inside, self._not_after = vertices
        self._is_after = ~self._is_free & (self._not_after != SOURCE)
        edges, u, w = np.arange(dag.edges), dag.sources, dag.targets
        parts = _ArcBuilder(costs, 1 + max(SINK, int(vertices.max())))
        parts.add("edge", 3 * edges + BEFORE, self._not_before[u], self._not_before[w])
        parts.add("edge", 3 * edges + MIDDLE, self._not_after[w], self._not_after[u])
        parts.add_tensors("leaves", BEFORE, edges, self._not_before[w], self._not_before[u])
        parts.add_tensors("enters", AFTER, edges, self._not_after[u], self._not_after[w])
        # A tensor enters the stage from before it, and leaves it for what is after it.
        e = edges[~self._is_after[u]]
        parts.add_tensors("enters", MIDDLE, e, self._inside[w[e]], self._inside[u[e]])
        e = edges[self._is_free[w] | self._is_after[w] | (self._not_before[w] == SOURCE)]
        parts.add_tensors("leaves", MIDDLE, e, self._inside[u[e]], self._inside[w[e]])
        self._arcs = arcs = parts.joined()
        others = np.arange(2, parts.vertices)
        tails = np.concatenate([arcs.tails, np.full_like(others, SOURCE), others])
        heads = np.concatenate([arcs.heads, others, np.full_like(others, SINK)])
        self._is_first = tails == SOURCE
        self._network = Network.of(parts.vertices, tails, heads)

    def strongest(self, planes: list[Plane], enough: int, budget: Budget) -> Proof | None:
        """Return multipliers that prove most, or more than enough; None if there is no time.

        Parameters
        ----------
        planes
            Solutions that these windows allow, found for other leaves.
        """
        planes, value = list(planes), -math.inf
        flows: tuple[IntArray, ...] = ()
        mixture = np.full(len(self._ways), 1 / len(self._ways))
        if planes:
            mixture = self._best_mixture(planes)[1]
        most_cuts = 30
        for _ in range(most_cuts):
            if budget.is_spent():
                return None
            cost, overflow = self._prices(mixture)
            found, solutions, flow, at_sink = self._solve(cost, overflow)
            if found > value:
                value, flows = found, (cost, overflow, flow, at_sink)
            planes += solutions
            most, mixture, weights = self._best_mixture(planes)
            if most - value <= PRECISION * value or value * self._costs.unit > enough:
                break
        multipliers = self._multipliers(*flows)
        bound = multipliers.bound(self._costs, self._merged, self._windows)
        # Solutions with less weight do not belong to the point.
        parts = [i for i, weight in enumerate(weights) if weight > 1e-6]
        return Proof(
            bound,
            multipliers,
            sum((weights[i] * planes[i].y for i in parts), np.zeros((self._costs.dag.nodes, 2))),
            np.all([planes[i].is_consistent for i in parts], axis=0),
            [planes[i] for i in parts],
        )

    def _prices(self, mixture: FloatArray) -> tuple[IntArray, IntArray]:
        """Return the multipliers of costs and of overflow for a mixture of the ways to pay."""
        prices = np.zeros((2, 3))
        for part, (superblock, overflows) in zip(mixture, self._ways, strict=True):
            prices[: 1 + overflows, superblock] += part / self._merged[superblock]
        cost, overflow = np.rint(SCALE * prices).astype(np.int64)
        return cost, overflow

    def _best_mixture(self, planes: list[Plane]) -> tuple[float, FloatArray, FloatArray]:
        """Return the bound that planes allow, the mixture for it, and the weights of the planes."""
        # Takes long to import.
        from scipy.optimize import linprog

        slopes = np.array(
            [
                [
                    plane.slopes[overflows, superblock] / self._merged[superblock]
                    for superblock, overflows in self._ways
                ]
                for plane in planes
            ]
        )
        largest = max(1.0, float(np.abs(slopes).max()))
        count = len(self._ways)
        result = linprog(
            np.append(np.zeros(count), -1.0),
            A_ub=np.column_stack([-slopes / largest, np.ones(len(planes))]),
            b_ub=np.zeros(len(planes)),
            A_eq=[[1.0] * count + [0.0]],
            b_eq=[1.0],
            bounds=[(0, 1)] * count + [(-2, 2)],
            method="highs",
        )
        if result.x is None:
            # The solver has failed: what has been proven stays.
            return -math.inf, np.full(count, 1 / count), np.eye(1, len(planes))[0]
        weights = np.maximum(-result.ineqlin.marginals, 0.0)
        return largest * result.x[-1], np.maximum(result.x[:-1], 0.0), weights / weights.sum()

    def _solve(
        self, cost: IntArray, overflow: IntArray
    ) -> tuple[float, list[Plane], IntArray, IntArray]:
        """Return a cut's bound, its solution as one or two planes, and its flow as `_cut` does."""
        value, flow, at_sink, is_source = self._cut(cost, overflow)
        costs, arcs = self._costs, self._arcs
        value -= int((overflow * self._merged).sum()) * costs.cache
        not_before, inside, not_after = (
            is_source[vertices] for vertices in (self._not_before, self._inside, self._not_after)
        )
        parts = np.stack([~not_before, inside, ~not_after])
        crosses = is_source[arcs.tails] & ~is_source[arcs.heads] & (arcs.superblock >= 0)
        io = np.bincount(arcs.superblock[crosses], arcs.amount[crosses], minlength=3)
        load = parts @ costs.load - self._merged * costs.cache
        in_each = parts @ costs.work + io
        slopes = np.stack([in_each, in_each + load]).astype(np.float64)
        y = np.stack([~not_before, not_after], axis=1)
        # Free nodes have the smaller of two multipliers, so that the bound has two planes.
        excess = np.where(self._is_free, parts.sum(axis=0) - 1, 0)
        planes = [Plane(slopes, y, excess == 0)]
        if excess.any():
            planes = []
            for side in (BEFORE, AFTER):
                own = slopes.copy()
                own[:, side] -= float(excess @ costs.work)
                own[1, side] -= float(excess @ costs.load)
                planes.append(Plane(own, y, excess == 0))
        return value / int((cost * self._merged).sum()), planes, flow, at_sink

    def _cut(self, cost: IntArray, overflow: IntArray) -> tuple[int, IntArray, IntArray, BoolArray]:
        """Return a minimum cut's value, its arcs' flow, what is left at the sink, and the sides."""
        costs, arcs, is_free = self._costs, self._arcs, self._is_free
        before, middle, after = (
            cost[b] * costs.work + overflow[b] * costs.load for b in (BEFORE, MIDDLE, AFTER)
        )
        least = np.where(is_free, np.minimum(before, after), 0)
        outside = np.where(self._is_after, after, before)
        weight = np.zeros(len(self._network.first) - 1, dtype=np.int64)
        np.add.at(weight, self._inside, middle - np.where(is_free, least, outside))
        np.add.at(weight, self._not_before[is_free], (least - before)[is_free])
        np.add.at(weight, self._not_after[is_free], (least - after)[is_free])
        value = int(np.where(is_free, before + after - least, outside).sum())
        value += int(weight[SOURCE]) + int(np.minimum(weight[2:], 0).sum())
        rooms = np.where(arcs.superblock < 0, UNLIMITED, cost[arcs.superblock] * arcs.amount)
        weight = weight[2:]
        rooms = np.concatenate([rooms, np.maximum(-weight, 0), np.maximum(weight, 0)])
        flow, is_source = self._network.cut(rooms)
        value += int(flow[self._is_first].sum())
        at_sink = np.concatenate([[0, 0], (rooms - flow)[len(rooms) - len(weight) :]])
        return value, flow[: len(arcs.tails)], at_sink, is_source

    def _multipliers(
        self, cost: IntArray, overflow: IntArray, flow: IntArray, at_sink: IntArray
    ) -> Multipliers:
        """Return the rows' multipliers, which are the flow on their arcs."""
        arcs, is_row = self._arcs, self._arcs.number >= 0
        amounts = np.zeros((len(FAMILIES), 3 * self._costs.dag.edges), dtype=np.int64)
        amounts[arcs.family[is_row], arcs.number[is_row]] = flow[is_row]
        rows = {}
        for name, of_family in zip(FAMILIES, amounts, strict=True):
            numbers = np.flatnonzero(of_family)
            rows[name] = numbers, of_family[numbers]
        # If work is left of a free node inside the stage, it gains nothing by less than not being
        # there.
        left = np.where(self._is_free, at_sink[self._inside], 0)
        nodes = np.flatnonzero(left)
        rows["later"] = 3 * nodes + BEFORE, left[nodes]
        return Multipliers(cost, overflow, rows)


def _vertices(windows: Windows) -> tuple[IntArray, BoolArray]:
    """Return the vertices "not before", "inside" and "not after" of each node, and who is free.

    Vertices are `SOURCE` and `SINK` where windows fix them, shape (3, n). A node is free if its
    window has all superblocks.
    """
    first, last = windows.first, windows.last
    vertices = np.full((3, len(first)), -1, dtype=np.int64)
    not_before, inside, not_after = vertices
    not_before[first > BEFORE] = SOURCE
    not_before[last == BEFORE] = SINK
    not_after[last < AFTER] = SOURCE
    not_after[first == AFTER] = SINK
    is_free = (not_before < 0) & (not_after < 0)
    own = vertices < 0
    own[1] = is_free
    vertices[own] = 2 + np.arange(int(own.sum()))
    inside[~is_free] = np.where(not_after == SOURCE, not_before, not_after)[~is_free]
    return vertices, is_free


@dataclass(frozen=True, eq=False)
class _Arcs:
    """Arcs of a network, all of shape (m,).

    Attributes
    ----------
    superblock, amount
        Whose multiplier of costs, times the amount, is the arc's room; -1 if it has no limit.
    family, number
        The row whose multiplier the arc's flow is; -1 if it is the flow of several rows.
    """

    tails: IntArray
    heads: IntArray
    superblock: IntArray
    amount: IntArray
    family: IntArray
    number: IntArray


class _ArcBuilder:
    """Builder of the network's arcs, each for a row of the program, or for several of one tensor.

    Parameters
    ----------
    vertices
        Number of vertices; tensors with several arcs get more.
    """

    def __init__(self, costs: Costs, vertices: int) -> None:
        self._costs, self.vertices = costs, vertices
        self._parts: list[tuple[IntArray, ...]] = []

    def add(
        self,
        family: str,
        numbers: IntArray,
        tails: IntArray,
        heads: IntArray,
        superblock: int = -1,
        producer: IntArray | None = None,
    ) -> None:
        """Add an arc for each row, but where both ends are fixed so that it holds."""
        kept = (tails != SINK) & (heads != SOURCE) & (tails != heads)
        amounts = np.zeros_like(tails) if producer is None else self._costs.transfer[producer]
        columns = (
            np.full_like(tails, superblock),
            amounts,
            np.full_like(tails, FAMILIES.index(family)),
        )
        parts = (tails, heads, *columns, numbers)
        self._parts.append(tuple(part[kept] for part in parts))

    def add_tensors(
        self, family: str, superblock: int, edges: IntArray, tails: IntArray, heads: IntArray
    ) -> None:
        """Add arcs of edges; all of one tensor together have its transfer as room.

        Parameters
        ----------
        tails, heads
            The vertices of its producer and consumer, either way round.
        """
        kept = (tails != SINK) & (heads != SOURCE) & (tails != heads)
        edges, tails, heads = edges[kept], tails[kept], heads[kept]
        numbers, producer = 3 * edges + superblock, self._costs.dag.sources[edges]
        several = np.bincount(producer, minlength=self._costs.dag.nodes)[producer] > 1
        one = ~several
        self.add(family, numbers[one], tails[one], heads[one], superblock, producer[one])
        if not several.any():
            return
        numbers, tails, heads = numbers[several], tails[several], heads[several]
        tensors, first, tensor = np.unique(
            producer[several], return_index=True, return_inverse=True
        )
        shared = self.vertices + np.arange(len(tensors))
        self.vertices += len(tensors)
        none = np.full_like(tensors, -1)
        is_from_producer = family == ("leaves" if superblock == MIDDLE else "enters")
        if is_from_producer:
            self.add(family, none, tails[first], shared, superblock, tensors)
            self.add(family, numbers, shared[tensor], heads)
        else:
            self.add(family, numbers, tails, shared[tensor])
            self.add(family, none, shared, heads[first], superblock, tensors)

    def joined(self) -> _Arcs:
        """Return all arcs."""
        return _Arcs(*(np.concatenate(columns) for columns in zip(*self._parts, strict=True)))
