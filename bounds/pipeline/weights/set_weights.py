"""Search for node weights: the largest sum such that no stage within a limit weighs more than 1.

A linear program with a row per set that is known. Sets come from walks that look for heavy ones
under the program's solution; whether there are heavier ones is for a search through all sets to
tell.

The first and the last stage may weigh less than others: the former is a set with all producers of
its nodes, the latter one with all consumers. What the heaviest ones weigh is two more variables.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from boundmark.bounds.pipeline.weights.known_sets import KnownSets
from boundmark.bounds.pipeline.weights.tensors import ANY, FIRST, LAST, FloatArray, Tensors
from boundmark.problems.arrays import IntArray
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import Partition

# Difference of bounds, as a part of k, that tells whether a threshold is far too high or low.
COARSE = 0.1


@dataclass(frozen=True, eq=False)
class Weighing:
    """Weights for a threshold.

    Attributes
    ----------
    weights
        Weights of nodes, in parts of the heaviest packing known, shape (n,).
    lower
        How many stages they call for: their sum if that is the same for all stages; otherwise 2,
        for the first and the last stage, and their sum less what these two weigh at most.
    upper
        The most that any weights come to: if that is k or less, the threshold stands.
    """

    weights: FloatArray
    lower: float
    upper: float


@dataclass(frozen=True, eq=False)
class Found:
    """Weights that a method has found.

    Attributes
    ----------
    threshold
        About the largest threshold that they refute.
    weights
        Weights of nodes, shape (n,).
    sets
        Sets of nodes that are heavy under them, as bits, heaviest first: a stage's nodes, connected
        or not.
    """

    threshold: int
    weights: FloatArray
    sets: tuple[int, ...]


@dataclass(eq=False)
class SharedWeights:
    """Weights that methods found on one instance; each method reads them when it begins.

    Both methods solve about the same linear program, for a quarter of their time. A method that
    finds the weights of another begins near the threshold that those are for, and with sets that
    bound them.

    Attributes
    ----------
    start
        A good partition, whose stages weights have to reckon with.
    """

    start: Partition | None = None
    _found: dict[bool, Found] = field(default_factory=dict)

    def tell(self, is_loaded: bool, found: Found) -> None:
        """Hand over weights and the first of their sets, which are the heaviest."""
        self._found[is_loaded] = replace(found, sets=found.sets[:3_000])

    def found(self, is_loaded: bool) -> Found | None:
        """Return what another method has found; None if nothing."""
        return self._found.get(is_loaded)


@dataclass(eq=False)
class SetWeights:
    """Search for weights of one graph, limit after limit.

    Attributes
    ----------
    has_ends
        Whether the first and the last stage have limits of their own.
    known
        The sets that are known.
    most_rows
        Number of sets that become rows in a round, at most, of each of two sorts.
    violation
        By how much sets weigh more than rows allow if they count.
    """

    most_rows: ClassVar[int] = 60
    violation: ClassVar[float] = 1e-6

    tensors: Tensors
    k: int
    seed: int
    has_ends: bool = False

    def __post_init__(self) -> None:
        self.known = KnownSets(self.tensors, self.seed)
        self.positions = (ANY, FIRST, LAST) if self.has_ends else (ANY,)
        # The program, and the limit that it is for.
        self._limit = -1

    def by_work(self) -> FloatArray:
        """Return weights in proportion to work that come to k stages."""
        work = self.tensors.graph.work
        weights: FloatArray = work / max(1, int(work.sum())) * self.k
        return weights

    def for_largest(
        self,
        between: tuple[int, int],
        allowed: int,
        start: FloatArray,
        budget: Budget,
        first: int | None = None,
    ) -> Found:
        """Find weights for about the largest threshold that they refute."""
        last, kept, current = 0, start, start
        refuted, above = between
        first = int(0.97 * above) if first is None else first
        threshold = min(max(refuted + 1, first), above - 1)
        close = COARSE * self.k
        # The last one is known well enough if it is known to a fiftieth.
        for _ in range(8):
            if budget.is_spent() or above - refuted <= max(1.0, 0.02 * above):
                break
            part = budget.part(0.5)
            weighing = self.at(threshold + allowed, current, part, close=close, is_quick=True)
            current = weighing.weights
            # The sum of the best weights is between these bounds; the less, the farther down.
            called_for = (weighing.lower + weighing.upper) / (2 * self.k)
            # Weights refute a threshold if they exceed k stages by this part.
            if weighing.lower > self.k * 1.003:
                refuted = last = threshold
                kept = weighing.weights
                threshold = min(int(threshold * weighing.lower / self.k), (threshold + above) // 2)
            elif called_for < 0.96 or weighing.upper < weighing.lower + close:
                above = threshold
                lower = max(refuted + 1, int(threshold * min(max(called_for, 0.8), 0.96)))
                threshold = (refuted + above) // 2 if last else lower
        if last:
            current = self.at(last + allowed, kept, budget).weights
        last = last or threshold
        return Found(last, current, tuple(self.known.heaviest_sets(current, last + allowed)))

    def needed(self, weights: FloatArray, limit: int) -> float:
        """Return how many stages weights call for, by the sets known that cost at most a limit."""
        self._limit_to(limit, weights)
        return self._scaled(weights)[1]

    def at(
        self,
        limit: int,
        start: FloatArray,
        budget: Budget,
        *,
        close: float = 0.01,
        is_quick: bool = False,
    ) -> Weighing:
        """Find weights under which every set that costs at most a limit weighs at most 1."""
        # In stages: what the first solution goes by.
        first_gap = 0.5
        # Number of rounds without a new set after which the search ends, too.
        patience = 8
        self._limit_to(limit, start)
        best = looked_at = start
        lower, upper, idle = 0.0, np.inf, 0
        while True:
            self._walk(looked_at, budget)
            added = self._add_heavy(looked_at) + self._add_violated(looked_at)
            idle = 0 if added else idle + 1
            best, lower = self._scaled(best)
            other, total = self._scaled(looked_at)
            if total > lower:
                best, lower = other, total
            gap = first_gap if upper == np.inf else max(upper - lower, close)
            looked_at, upper = self._program.solve(gap, budget)
            upper += len(self.positions) - 1
            self._program.drop_idle()
            if upper <= self.k or idle == patience or budget.is_spent():
                break
            if upper - lower < close and (is_quick or not self._finds_heavier(best, budget)):
                break
        return Weighing(best, lower, upper)

    def _limit_to(self, limit: int, start: FloatArray) -> None:
        """Begin the program of a limit, with sets that are heavy at the beginning."""
        if limit == self._limit:
            return
        if self._limit < 0:
            self._program = SetProgram(self.known, limit, self.positions, start)
        else:
            self._program.limit_to(limit)
        self._limit = limit
        for position in self.positions:
            least = 0.95 * self._heaviest(start, position)
            self._program.add_heaviest(start, position, least, 1000)

    def _add_heavy(self, weights: FloatArray) -> int:
        """Add sets that are heavy compared with the heaviest one; return how many."""
        return sum(
            self._program.add_heaviest(
                weights, position, 0.97 * self._heaviest(weights, position), self.most_rows
            )
            for position in self.positions
        )

    def _add_violated(self, weights: FloatArray) -> int:
        """Add sets that weigh more than rows allow; return how many."""
        return sum(
            self._program.add_heaviest(
                weights,
                position,
                (1.0 if position == ANY else self._program.heaviest(weights, position))
                + self.violation,
                self.most_rows,
            )
            for position in self.positions
        )

    def _heaviest(self, weights: FloatArray, position: int = ANY) -> float:
        return self.known.heaviest(weights, self._limit, position)

    def _scaled(self, weights: FloatArray) -> tuple[FloatArray, float]:
        """Scale weights so that no node or known set weighs more than 1."""
        heaviest = max(float(weights.max()), self._heaviest(weights), 1e-9)
        needed = float(weights.sum()) / heaviest
        for position in self.positions[1:]:
            needed += 1 - self._heaviest(weights, position) / heaviest
        return weights / heaviest, needed

    def _walk(self, weights: FloatArray, budget: Budget) -> None:
        for position in self.positions:
            self.known.walk(weights, self._limit, position, budget)

    def _finds_heavier(self, weights: FloatArray, budget: Budget) -> bool:
        """Whether one of several more rounds of walks finds a set heavier than all known."""
        _, needed = self._scaled(weights)
        for _ in range(10):
            self._walk(weights, budget)
            if self._scaled(weights)[1] < needed * (1 - self.violation):
                return True
        return False


class SetProgram:
    """The linear program of node weights with sets as rows, solved near its central path.

    Variables are the weights w of nodes and, for the first and the last stage, what the heaviest
    sets that may be that stage weigh, h. The program is

        maximise    w(all nodes) - the sum of h
        subject to  w(S) <= 1 for rows of any stage, w(S) <= h of a stage for rows of that stage,
                    0 <= w <= 1, h >= 0.

    Most of its rows are not known yet, so that a vertex, which the simplex method finds, overshoots
    sets that are no rows. A point near the central path keeps away from all rows: fewer rounds of
    finding sets are needed ([GOFFIN02], [GONDZIO13]).

    Parameters
    ----------
    known
        The sets; those that are rows are known by their numbers.
    limit
        What sets cost at most.
    positions
        The stages that rows are about; the first is any stage.
    start
        Weights to begin with, shape (n,).
    most_rows
        Rows for each node beyond which those are dropped, down to half, that are farthest from
        tight.
    growth
        Factor by which the number of rows grows whenever some are dropped, so that dropping ends.
    """

    # Numbers in all rows beyond which some are dropped, too.
    most_numbers = 2**22

    def __init__(
        self,
        known: KnownSets,
        limit: int,
        positions: Sequence[int],
        start: FloatArray,
        most_rows: float = 10.0,
        growth: float = 1.25,
    ) -> None:
        self._known, self._limit, self._growth = known, limit, growth
        self._positions, self._nodes = positions, len(start)
        ends = len(positions) - 1
        self._most = min(most_rows * self._nodes, self.most_numbers / (self._nodes + ends))
        # Coefficients of each row, its right-hand side, its position and the number of its set.
        self._rows = np.zeros((64, self._nodes + ends))
        self._most_weight = np.zeros(64)
        self._position = np.zeros(64, dtype=np.int64)
        self._number = np.zeros(64, dtype=np.int64)
        self._count = 0
        self._gain = np.concatenate([np.ones(self._nodes), -np.ones(ends)])
        self._point = np.concatenate([start / max(float(start.max()), 1e-9), np.zeros(ends)])
        self._upper = np.inf

    def limit_to(self, limit: int) -> None:
        """Change what sets cost at most; rows of sets that cost more go."""
        self._limit, self._upper = limit, np.inf
        self._keep(np.flatnonzero(self._known.costs_of(self.numbers()) <= limit))

    def add_heaviest(self, weights: FloatArray, position: int, least: float, most_rows: int) -> int:
        """Add the sets that weigh more than `least` and are no rows, the heaviest first."""
        weighed = self._known.weighed(weights, self._limit, position)
        weighed[self.numbers(position)] = 0.0
        numbers = np.flatnonzero(weighed > max(least, 0.0))
        if len(numbers) > most_rows:
            numbers = numbers[np.argsort(-weighed[numbers], kind="stable")[:most_rows]]
        self._add(numbers, position)
        return len(numbers)

    def heaviest(self, weights: FloatArray, position: int) -> float:
        """Return what the heaviest row of a stage weighs."""
        weighed = self._rows[: self._count, : self._nodes] @ weights
        return float(weighed[self._position[: self._count] == position].max(initial=0.0))

    def solve(self, gap: float, budget: Budget) -> tuple[FloatArray, float]:
        """Return weights near the central path, and an upper bound on what any weights come to."""
        # Part of the gap that a solution leaves open, about; Newton's steps for it, at most; and
        # the Newton decrement at which a point is near enough.
        gap_part, steps, near = 0.3, 8, 0.5
        self._move_inside()
        constraints = self._count + 2 * self._nodes + len(self._positions) - 1
        for _ in range(steps):
            if budget.is_spent() or self._step(gap_part * gap / constraints) < near:
                break
        return self._point[: self._nodes].copy(), self._upper

    def drop_idle(self) -> None:
        """If there are many rows, drop those that are farthest from tight."""
        if self._count <= self._most:
            return
        order = np.argsort(self._slack(), kind="stable")
        self._keep(np.sort(order[: int(self._most / 2)]))
        self._most = min(self._growth * self._most, self.most_numbers / self._rows.shape[1])

    def _keep(self, kept: IntArray) -> None:
        """Keep some rows, and drop the others."""
        self._count = len(kept)
        for values in (self._rows, self._most_weight, self._position, self._number):
            values[: self._count] = values[kept]

    def numbers(self, position: int | None = None) -> IntArray:
        """Return the numbers of sets that are rows, or rows of a stage."""
        numbers: IntArray = self._number[: self._count]
        return numbers if position is None else numbers[self._position[: self._count] == position]

    def _add(self, numbers: IntArray, position: int) -> None:
        """Add rows."""
        first, last = self._count, self._count + len(numbers)
        while last > len(self._rows):
            self._rows = np.vstack([self._rows, np.zeros_like(self._rows)])
            self._most_weight = np.tile(self._most_weight, 2)
            self._position = np.tile(self._position, 2)
            self._number = np.tile(self._number, 2)
        self._rows[first:last, : self._nodes] = self._known.masks(numbers)
        self._rows[first:last, self._nodes :] = 0.0
        if position != ANY:
            self._rows[first:last, self._nodes + self._positions.index(position) - 1] = -1.0
        self._most_weight[first:last] = position == ANY
        self._position[first:last] = position
        self._number[first:last] = numbers
        self._count = last

    def _slack(self) -> FloatArray:
        slack: FloatArray = (
            self._most_weight[: self._count] - self._rows[: self._count] @ self._point
        )
        return slack

    def _move_inside(self) -> None:
        """Make all constraints strict: scale the weights, and raise what the ends weigh."""
        # New rows exclude weights that are scaled so that the heaviest row weighs so much; and no
        # node weighs less than the least.
        inside, least = 0.98, 1e-9
        weights = self._point[: self._nodes]
        heaviest = max(self.heaviest(weights, ANY), float(weights.max()))
        np.clip(weights * min(1.0, inside / max(heaviest, least)), least, inside, out=weights)
        for i, position in enumerate(self._positions[1:]):
            strict = (2 - inside) * self.heaviest(weights, position) + (1 - inside) / 10
            self._point[self._nodes + i] = max(self._point[self._nodes + i], strict)

    def _step(self, barrier: float) -> float:
        """Take a step of Newton's method, and improve the upper bound; return the decrement.

        The function is what the point gains over `barrier`, and the logarithms of all slacks.
        """
        nodes, rows, point = self._nodes, self._rows[: self._count], self._point
        near, far = 1 / self._slack(), 1 / (1 - point[:nodes])
        gradient = self._gain / barrier - near @ rows + 1 / point
        gradient[:nodes] -= far
        scaled = rows * near[:, None]
        curvature = scaled.T @ scaled
        diagonal = 1 / point**2
        diagonal[:nodes] += far**2
        np.einsum("ii->i", curvature)[:] += diagonal
        try:
            step = cho_solve(cho_factor(curvature, check_finite=False), gradient)
        except LinAlgError:
            # Too close to constraints to tell directions apart; rows to come move it away.
            return 0.0
        moved = rows @ step
        # How fast each slack shrinks, as a part of it.
        shrink = max(
            float((moved * near).max(initial=0.0)),
            float((-step / point).max()),
            float((step[:nodes] * far).max()),
        )
        multipliers = barrier * near * (1 + moved * near)
        self._upper = min(self._upper, self._bound(multipliers), self._bound(barrier * near))
        # A step goes nine tenths of the way to the nearest constraint at most.
        point += min(1.0, 0.9 / max(shrink, 1e-12)) * step
        return float(np.sqrt(max(gradient @ step, 0.0)))

    def _bound(self, multipliers: FloatArray) -> float:
        """Return an upper bound from multipliers of the rows, by weak duality."""
        rows = self._rows[: self._count]
        multipliers = np.maximum(multipliers, 0.0)
        for position in self._positions[1:]:
            of_end = self._position[: self._count] == position
            multipliers[of_end] /= max(1.0, float(multipliers[of_end].sum()))
        uncovered = np.maximum(1 - multipliers @ rows[:, : self._nodes], 0.0)
        return float(multipliers @ self._most_weight[: self._count] + uncovered.sum())
