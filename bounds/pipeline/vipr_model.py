"""The integer program of a tree at a threshold, as VIPR states it.

The stages make up superblocks b, of merged[b] stages at most: each stage by itself, or what is
before a stage, the stage, and what is after it. Columns, all of them integer: y(v, b), 1 if node v
is in superblock b or earlier, for b from -1, before the first one; c(u, b), 1 if the tensor of u
enters superblock b; d(u, b), 1 if it leaves it; o(b), the overflow of superblock b; z, the cost of
the bottleneck stage. With x(v, b) = y(v, b) - y(v, b - 1), the rows are

    cost, b            merged[b] z - work x(., b) - transfer (c + d)(., b) - o(b) >= 0
    share, b           -shares x(., b) >= -merged[b] TREE_SHARE_UNITS
    overflow, b        o(b) - param_load x(., b) >= -merged[b] cache
    enters, (u, w), b  c(u, b) - x(w, b) + x(u, b) >= 0
    leaves, (u, w), b  d(u, b) - x(u, b) + x(w, b) >= 0
    edge, (u, w), b    y(u, b) - y(w, b) >= 0
    later, v, b        y(v, b + 1) - y(v, b) >= 0
    demand             demand x(., 1) >= the mean demand per stage, and the most of one node

the last one only where a stage is singled out, by what nodes demand of it. Each partition whose
stages, numbered as data flows, cost at most the threshold satisfies all of them, with z its
objective. That the share rows and the bounds of y lose none is shown by the flows of the
certificate, not by the VIPR file, which states them as constraints; likewise that a stage with so
much of the demand exists.
"""

import itertools
from collections.abc import Iterator, Sequence

from boundmark.bounds.checker.pipeline.instance import Instance
from boundmark.bounds.checker.pipeline.leaf import Program
from boundmark.bounds.checker.pipeline.limits import TREE_SHARE_UNITS

Row = tuple[list[tuple[int, int]], int]


class Model:
    """Numbers of columns and constraints, and the constraints themselves.

    Constraint 2 j is the lower bound of column j, and 2 j + 1 the upper one, except for z,
    which has none. The rows follow.

    Parameters
    ----------
    shares
        Each node's share of a stage in units of 1 / TREE_SHARE_UNITS.
    order
        The nodes, producers first.
    program
        Superblocks, and the first and last one of each node that the shares leave; y(v, b) is 0
        before the first, and 1 from the last on.
    demand
        What each node demands of the stage that is singled out; empty if none is.

    Attributes
    ----------
    z
        Column of z, the last one.
    bounds, constraints
        How many bounds there are, and how many constraints with the rows.
    box
        Lower and upper bounds of all columns but z, whose lower bound is 0.
    edges_in_order
        Producer, number and consumer of the edges; a node's in-edges before its out-edges.
    """

    def __init__(
        self,
        graph: Instance,
        shares: list[int],
        order: list[int],
        program: Program,
        demand: Sequence[int] = (),
    ) -> None:
        self.graph, self.shares, self.demand = graph, shares, demand
        self.merged, (self.first, self.last) = program
        n, m, k = len(graph.work), len(graph.edges), len(self.merged)
        self._c = n * (k + 1)
        self._d = self._c + n * k
        self._o = self._d + n * k
        self.z = self._o + k
        self.bounds = 2 * self.z + 1
        self._families = {"cost": k, "share": k, "overflow": k}
        self._families |= {"enters": m * k, "leaves": m * k, "edge": m * k, "later": n * (k - 1)}
        self._families |= {"demand": 1} if demand else {}
        *starts, self.constraints = itertools.accumulate(
            self._families.values(), initial=self.bounds
        )
        self._starts = dict(zip(self._families, starts, strict=True))
        self.box = list(self._box())
        place = {u: i for i, u in enumerate(order)}
        edges = [(u, e, w) for e, (u, w) in enumerate(graph.edges)]
        self.edges_in_order = sorted(edges, key=lambda edge: place[edge[0]])

    @property
    def blocks(self) -> int:
        """Number of superblocks, k in the numbers of rows."""
        return len(self.merged)

    def y(self, v: int, b: int) -> int:
        """Return the column of y(v, b)."""
        return v * (self.blocks + 1) + b + 1

    def lower(self, column: int) -> tuple[int, int]:
        """Return the number of a column's lower bound, and its value."""
        return 2 * column, self.box[column][0]

    def upper(self, column: int) -> tuple[int, int]:
        """Return the number of a column's upper bound, and its value."""
        return 2 * column + 1, self.box[column][1]

    @property
    def lower_of_z(self) -> int:
        """Return the number of the constraint that costs are not negative."""
        return 2 * self.z

    def number(self, family: str, i: int) -> int:
        """Return the number of a family's row: i is b, or e k + b, or v (k - 1) + b."""
        return self._starts[family] + i

    def edge(self, e: int, b: int) -> int:
        """Return the number of an edge's row."""
        return self.number("edge", e * self.blocks + b)

    def later(self, v: int, b: int) -> int:
        """Return the number of a node's row."""
        return self.number("later", v * (self.blocks - 1) + b)

    def names(self) -> Iterator[str]:
        """Yield the columns' names, in order."""
        nodes, stages = range(len(self.graph.work)), range(self.blocks)
        yield from (f"y_{v}_{b}" for v in nodes for b in range(-1, self.blocks))
        yield from (f"c_{u}_{b}" for u in nodes for b in stages)
        yield from (f"d_{u}_{b}" for u in nodes for b in stages)
        yield from (f"o_{b}" for b in stages)
        yield "z"

    def rows(self) -> Iterator[tuple[str, Row]]:
        """Yield the rows with their names, in order."""
        for family, count in self._families.items():
            for i in range(count):
                yield f"{family}_{i}", self.row(family, i)

    def row(self, family: str, i: int) -> Row:
        """Return a row: its terms and its lower bound."""
        graph, k = self.graph, self.blocks
        if family == "later":
            v, b = divmod(i, k - 1)
            return [(self.y(v, b + 1), 1), (self.y(v, b), -1)], 0
        if family in ("edge", "enters", "leaves"):
            e, b = divmod(i, k)
            u, w = graph.edges[e]
            if family == "edge":
                return [(self.y(u, b), 1), (self.y(w, b), -1)], 0
            inner, outer = (w, u) if family == "enters" else (u, w)
            tensor = ((self._c if family == "enters" else self._d) + u * k + b, 1)
            return [tensor, *self._x(inner, b, -1), *self._x(outer, b, 1)], 0
        if family == "demand":
            terms = [term for v, amount in enumerate(self.demand) for term in self._x(v, 1, amount)]
            least = max(max(self.demand), -(-sum(self.demand) // graph.k))
            return [(column, amount) for column, amount in terms if amount], least
        stages = self.merged[i]
        amounts, right = {
            "cost": (graph.work, 0),
            "share": (self.shares, -stages * TREE_SHARE_UNITS),
            "overflow": (graph.param_load, -stages * graph.cache),
        }[family]
        terms = [term for v, amount in enumerate(amounts) for term in self._x(v, i, -amount)]
        if family == "cost":
            for start in (self._c, self._d):
                terms += [(start + u * k + i, -amount) for u, amount in enumerate(graph.transfer)]
            terms += [(self._o + i, -1), (self.z, stages)]
        elif family == "overflow":
            terms.append((self._o + i, 1))
        return [(column, amount) for column, amount in terms if amount], right

    def _box(self) -> Iterator[tuple[int, int]]:
        for first, last in zip(self.first, self.last, strict=True):
            for b in range(-1, self.blocks):
                yield int(b >= last), int(b >= first)
        yield from itertools.repeat((0, 1), self._o - self._c)
        yield from itertools.repeat((0, sum(self.graph.param_load)), self.blocks)

    def _x(self, v: int, b: int, amount: int) -> list[tuple[int, int]]:
        return [(self.y(v, b), amount), (self.y(v, b - 1), -amount)]
