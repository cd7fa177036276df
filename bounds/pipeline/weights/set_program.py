"""The linear program of node weights with sets as rows, solved near its central path.

Variables are the weights w of nodes and, for the first and the last stage, what the heaviest sets
that may be that stage weigh, h. The program is

    maximise    w(all nodes) - the sum of h
    subject to  w(S) <= 1 for rows of any stage, w(S) <= h of a stage for rows of that stage,
                0 <= w <= 1, h >= 0.

Most of its rows are not known yet, so that a vertex, which the simplex method finds, overshoots
sets that are no rows. A point near the central path keeps away from all rows: fewer rounds of
finding sets are needed ([GOFFIN02], [GONDZIO13]).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from boundmark.bounds.pipeline.weights.known_sets import KnownSets
from boundmark.bounds.pipeline.weights.program import FloatArray
from boundmark.bounds.pipeline.weights.tensors import ANY
from boundmark.problems.arrays import IntArray
from boundmark.problems.method import Budget


@dataclass(frozen=True)
class SetProgramSettings:
    """Settings of the program: how near the central path its solutions are, and its size.

    Attributes
    ----------
    gap_part
        Part of the difference between the bounds so far that a solution leaves open, about.
    steps
        Newton's steps for a solution, at most.
    near
        Newton decrement at which a point is near enough.
    inside
        Weights that new rows exclude are scaled so that the heaviest row weighs so much.
    to_edge
        Part of the way to the nearest constraint that a step may go.
    least
        Smallest weight of a node.
    most_rows, most_numbers
        Rows for each node, and numbers in all rows, beyond which those are dropped, down to half,
        that are farthest from tight.
    growth
        Factor by which the number of rows grows whenever some are dropped, so that dropping ends.
    """

    gap_part: float = 0.3
    steps: int = 8
    near: float = 0.5
    inside: float = 0.98
    to_edge: float = 0.9
    least: float = 1e-9
    most_rows: float = 10.0
    most_numbers: int = 2**22
    growth: float = 1.25


class SetProgram:
    """The program for sets that cost at most a limit.

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
    """

    def __init__(
        self,
        known: KnownSets,
        limit: int,
        positions: Sequence[int],
        start: FloatArray,
        settings: SetProgramSettings,
    ) -> None:
        self._known, self._limit, self._settings = known, limit, settings
        self._positions, self._nodes = positions, len(start)
        ends = len(positions) - 1
        self._most = min(
            settings.most_rows * self._nodes, settings.most_numbers / (self._nodes + ends)
        )
        # Coefficients of each row, its right-hand side, its position and the number of its set.
        self._rows = np.zeros((64, self._nodes + ends))
        self._most_weight = np.zeros(64)
        self._position = np.zeros(64, dtype=np.int64)
        self._number = np.zeros(64, dtype=np.int64)
        self._count = 0
        self._gain = np.concatenate([np.ones(self._nodes), -np.ones(ends)])
        self._point = np.concatenate([start / max(float(start.max()), 1e-9), np.zeros(ends)])
        self._upper = np.inf

    def add_heaviest(self, weights: FloatArray, position: int, least: float, most_rows: int) -> int:
        """Add the sets that weigh more than `least` and are no rows, the heaviest first.

        Returns
        -------
        How many were added, `most_rows` at most.
        """
        weighed = self._known.weighed(weights, self._limit, position)
        weighed[self._numbers(position)] = 0.0
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
        """Return weights near the central path, and an upper bound on what any weights come to.

        Parameters
        ----------
        gap
            Difference between the bounds so far.
        """
        settings = self._settings
        self._move_inside()
        constraints = self._count + 2 * self._nodes + len(self._positions) - 1
        barrier = settings.gap_part * gap / constraints
        for _ in range(settings.steps):
            if budget.is_spent():
                break
            decrement = self._step(barrier)
            if decrement < settings.near:
                break
        return self._point[: self._nodes].copy(), self._upper

    def drop_idle(self) -> None:
        """If there are many rows, drop those that are farthest from tight."""
        if self._count <= self._most:
            return
        order = np.argsort(self._slack(), kind="stable")
        kept = np.sort(order[: int(self._most / 2)])
        self._count = len(kept)
        for values in (self._rows, self._most_weight, self._position, self._number):
            values[: self._count] = values[kept]
        self._most = min(
            self._settings.growth * self._most,
            self._settings.most_numbers / self._rows.shape[1],
        )

    def _numbers(self, position: int) -> IntArray:
        """Return the numbers of sets that are rows of a stage."""
        numbers: IntArray = self._number[: self._count][self._position[: self._count] == position]
        return numbers

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
        inside, least = self._settings.inside, self._settings.least
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
        point += min(1.0, self._settings.to_edge / max(shrink, 1e-12)) * step
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
