"""Finds potentials by passing costs forth and back along the order of operators.

Each step takes an operator's class: what the operator and its readers cost at least, for each value
of that class, is added up and divided anew among them. The sum of all least costs never falls by
that, as far as tables hold all combinations. Forward, an operator's cost goes to its readers, so
that along a chain the last operator's least cost is the shortest path; backward, readers give it
back. This is sequential reweighted message passing ([KOLMOGOROV15]) on the operators' tables.
"""

from collections.abc import Callable
from itertools import count

import numpy as np

from boundmark.bounds.checker.slicing.ticks import Operator
from boundmark.bounds.slicing.potentials.factors import Row, factor_of

# Passes without a gain by this fraction, after which it ends.
PATIENCE, LEAST_GAIN = 3, 1e-5
MOST_PASSES = 60


class Passing:
    """Tables, and the potentials so far.

    Attributes
    ----------
    added
        For each operator and each of its inputs, by the input's class: what is added to its ticks.
    """

    def __init__(self, operators: list[Operator]) -> None:
        self._factors = [factor_of(operator) for operator in operators]
        self._producers = [operator.producers for operator in operators]
        self.added = [[np.zeros(len(row)) for row in operator.classes] for operator in operators]
        self._own = [np.zeros(len(operator.own)) for operator in operators]
        self._readers: list[list[tuple[int, int]]] = [[] for _ in operators]
        for reader, producers in enumerate(self._producers):
            for place, producer in enumerate(producers):
                self._readers[producer].append((reader, place))

    def total(self) -> float:
        """Return the sum of all operators' least ticks."""
        return sum(float(self._least(number, 0).min()) for number in range(len(self._factors)))

    def forward(self) -> None:
        """Give each operator's cost to its readers."""
        for number, readers in enumerate(self._readers):
            shares = [0.0] + [1 / len(readers)] * len(readers) if readers else [1.0]
            self._divide(number, shares)

    def backward(self) -> None:
        """Give costs back, except to readers that have something before it to pass it on to."""
        for number in reversed(range(len(self._factors))):
            passes_on = [
                any(other < number for other in self._producers[reader])
                for reader, _ in self._readers[number]
            ]
            parts = 1 + sum(passes_on)
            self._divide(number, [1 / parts, *(is_passed / parts for is_passed in passes_on)])

    def _least(self, number: int, place: int) -> Row:
        return self._factors[number].least_by_class(self._own[number], self.added[number], place)

    def _divide(self, number: int, shares: list[float]) -> None:
        readers = self._readers[number]
        least = [self._least(number, 0)]
        least += [self._least(reader, place + 1) for reader, place in readers]
        total = np.sum(least, axis=0)
        for (reader, place), share, row in zip(readers, shares[1:], least[1:], strict=True):
            change = share * total - row
            self.added[reader][place] += change
            self._own[number] -= change


def improve(
    passing: Passing, is_over: Callable[[], bool], offer: Callable[[list[list[list[int]]]], None]
) -> None:
    """Pass costs until nothing is gained; offer rounded potentials, early ones and the best."""
    best, stalled = passing.total(), 0
    kept = rounded(passing)
    for number in count():
        passing.forward()
        for step in (None, passing.backward):
            if step is not None:
                step()
            total = passing.total()
            if total > best:
                stalled = 0 if total > best * (1 + LEAST_GAIN) else stalled
                best, kept = total, rounded(passing)
        if number == 0:
            offer(kept)
        stalled += 1
        if stalled > PATIENCE or number == MOST_PASSES or is_over():
            break
    offer(kept)


def rounded(passing: Passing) -> list[list[list[int]]]:
    """Return the potentials as integers."""
    return [[np.rint(row).astype(np.int64).tolist() for row in rows] for rows in passing.added]
