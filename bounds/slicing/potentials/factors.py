"""Operators' least ticks as tables over classes, and the least entries of these tables.

Tables are in floating point: potentials prove something whatever they are, and what they prove is
computed with integers.
"""

from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from boundmark.bounds.checker.slicing.ticks import MOST_COMBINED, LeastTicks, Operator, Sum

Row: TypeAlias = NDArray[np.float64]


class Factor(Protocol):
    """The least ticks of an operator, by its class and those of its inputs."""

    def least_by_class(self, own: Row, added: list[Row], place: int) -> Row:
        """Return the least ticks for each class of the operator or of one of its inputs.

        Parameters
        ----------
        own, added
            Added for the operator's class, and for those of its inputs.
        place
            0 for the operator, and from 1 up for its inputs.
        """


def factor_of(operator: Operator) -> Factor:
    """Return the table of an operator."""
    rows = [operator.least(own) for own in operator.own]
    sizes = tuple(len(row) for row in operator.classes)
    if len(sizes) > MOST_COMBINED:
        return _Apart(rows)
    return _Table(np.stack([_entries(row, sizes) for row in rows]))


def _entries(least: LeastTicks, sizes: tuple[int, ...]) -> Row:
    """Return the ticks for all classes of the inputs, shape `sizes`."""
    ticks = np.maximum(least.floor, _of_sum(least.widest, sizes))
    for choices in least.together:
        ticks = np.maximum(ticks, np.min([_of_sum(choice, sizes) for choice in choices], axis=0))
    return np.asarray(ticks)


def _of_sum(ticks: Sum, sizes: tuple[int, ...]) -> Row:
    total = np.zeros(sizes)
    for place, row in enumerate(ticks.bytes):
        total += _along(np.array(row, dtype=float), place, len(sizes))
    exact = ticks.fixed / ticks.divisor + total * (ticks.factor / ticks.divisor)
    return np.asarray(ticks.base + np.ceil(exact))


def _along(row: Row, axis: int, axes: int) -> Row:
    shape = [1] * axes
    shape[axis] = len(row)
    return row.reshape(shape)


class _Table:
    """All combinations in one array, the operator's class first."""

    def __init__(self, ticks: Row) -> None:
        self._ticks = ticks

    def least_by_class(self, own: Row, added: list[Row], place: int) -> Row:
        axes = self._ticks.ndim
        total = self._ticks
        for axis, row in enumerate((own, *added)):
            total = total + _along(row, axis, axes)
        others = tuple(axis for axis in range(axes) if axis != place)
        return np.asarray(total.min(axis=others))


class _Apart:
    """For each class of the operator, sums over its inputs of which the least count."""

    def __init__(self, rows: list[LeastTicks]) -> None:
        self._groups = [
            [[_apart(choice) for choice in choices] for choices in ([row.widest], *row.together)]
            for row in rows
        ]

    def least_by_class(self, own: Row, added: list[Row], place: int) -> Row:
        found = [
            np.max(
                [
                    np.min([_least_sum(choice, added, place) for choice in choices], axis=0)
                    for choices in groups
                ],
                axis=0,
            )
            for groups in self._groups
        ]
        if place == 0:
            return np.asarray(own + np.array(found))
        return np.asarray(
            np.min([row + more for row, more in zip(found, own, strict=True)], axis=0)
        )


def _apart(ticks: Sum) -> tuple[float, list[Row]]:
    base, more = ticks.apart()
    return float(base), [np.array(row, dtype=float) for row in more]


def _least_sum(choice: tuple[float, list[Row]], added: list[Row], place: int) -> Row:
    """Return the least sum, for each class of the input at `place` if that is not 0."""
    base, rows = choice
    total = np.array(base)
    for at, (row, extra) in enumerate(zip(rows, added, strict=True), 1):
        total = total + (row + extra if at == place else (row + extra).min())
    return total
