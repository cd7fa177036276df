"""`slice-potentials`: least ticks of operators by width, with potentials passed between neighbours.

Each step takes the class of an operator's width: what the operator and its readers cost at least,
for each value of that class, is added up and divided anew among them. The sum of all least costs
never falls by that, as far as tables hold all combinations. Forward, an operator's cost goes to its
readers, so that along a chain the last operator's least cost is the shortest path; backward,
readers give it back. This is sequential reweighted message passing ([KOLMOGOROV15]) on the
operators' tables.

`slice-memory` is the same over the widths for which devices have memory, and `slice-compute` takes
the best split of each operator, as if nothing were communicated.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from boundmark.bounds import checker
from boundmark.bounds.checker.slicing.compute import slice_compute
from boundmark.bounds.checker.slicing.potentials import slice_memory, slice_potentials
from boundmark.bounds.checker.slicing.ticks import (
    MOST_COMBINED,
    LeastTicks,
    Operator,
    Sum,
    operators,
)
from boundmark.problems.certificate import Certificate
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.slicing import SlicingInstance

COMPUTE_KIND = "slice-compute/1"
KIND = "slice-potentials/1"
MEMORY_KIND = "slice-memory/1"


# Part of the time for potentials; the rest is for computing what they prove.
SEARCHING = 0.4

# Number of passes without a gain after which the search ends, and what counts as a gain, as a
# fraction of the sum.
PATIENCE = 3
LEAST_GAIN = 1e-5

# Number of passes, at most.
MOST_PASSES = 60

# Entries of the tables of all operators: a second or two, to check as well.
MOST_ENTRIES = 300_000

# Part of the time left that their tables, one pass and what it proves may take, by the seconds for
# each entry that those of the first bound took: a pass looks at no clock.
FOR_TABLES = 0.8


@dataclass(frozen=True)
class PotentialSettings:
    """Settings of `slice-potentials`.

    Attributes
    ----------
    first_classes
        Number of classes of an operator for a first bound, after one pass. It takes a tenth of the
        time of the tables that follow, so that a slow machine has a bound, too.
    choices
        Numbers of classes of an operator, tried in this order: the more there are, the less
        its width can change for nothing within a class.
    """

    first_classes: int = 8
    choices: tuple[int, ...] = (40, 28, 20, 14, 8)


Row: TypeAlias = NDArray[np.float64]


def run_without_transfers(
    instance: SlicingInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the sum of the operators' best splits."""
    bound = slice_compute(checker.check_instance(instance.to_json()), {})
    progress.bound(Certificate.of(instance, COMPUTE_KIND, bound, {}, "slice-compute"))


def run(
    instance: SlicingInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    classes: int,
    settings: PotentialSettings = PotentialSettings(),
    **params: Any,
) -> None:
    """Report bounds by potentials, an early one and the best.

    Parameters
    ----------
    classes
        Largest number of classes of widths per operator; 0 for as many as are checked in seconds.

    Raises
    ------
    UnsupportedError
        If the checker would take too long.
    """
    _report(instance, budget, progress, (classes, settings), with_memory=False)


def run_with_memory(
    instance: SlicingInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    classes: int,
    settings: PotentialSettings = PotentialSettings(),
    **params: Any,
) -> None:
    """Report the same bounds over the widths for which devices have memory."""
    _report(instance, budget, progress, (classes, settings), with_memory=True)


def _report(
    instance: SlicingInstance,
    budget: Budget,
    progress: Progress,
    choice: tuple[int, PotentialSettings],
    *,
    with_memory: bool,
) -> None:
    classes, settings = choice
    kind, method = (MEMORY_KIND, "slice-memory") if with_memory else (KIND, "slice-potentials")
    prove = slice_memory if with_memory else slice_potentials
    read = checker.check_instance(instance.to_json())
    best = -1

    def improve_with(begins: list[list[int]], most_passes: int) -> None:
        """Report the bound by potentials over these classes of widths, if it is better."""

        def offer(potentials: list[list[list[int]]]) -> None:
            nonlocal best
            payload = {"classes": begins, "potentials": potentials}
            bound = prove(read, payload)
            if bound > best:
                best = bound
                progress.bound(Certificate.of(instance, kind, bound, payload, method))

        found = operators(read, ranges_of(instance, begins), with_memory=with_memory)
        for operator, name in zip(found, instance.graph.names, strict=True):
            if not any(map(operator.is_possible, operator.own)):
                raise UnsupportedError(
                    f"no slicing meets the memory limits: while operator {name!r} runs, what all "
                    "devices hold at least exceeds their memory, however it is divided."
                )
        improve(Passing(found), searching.is_spent, offer, most_passes)

    try:
        searching = budget.part(SEARCHING)
        first = all_begins(instance, settings.first_classes, settings)
        begins = all_begins(instance, classes, settings)
        if max(map(len, first)) < max(map(len, begins)):
            began = budget.spent()
            improve_with(first, 0)
            if not classes:
                seconds = max(1e-9, budget.spent() - began) / _class_entries(instance, first)
                entries = min(MOST_ENTRIES, int(FOR_TABLES * budget.remaining() / seconds))
                begins = all_begins(instance, 0, settings, entries)
                if begins == first or _class_entries(instance, begins) > entries:
                    return
        improve_with(begins, MOST_PASSES)
    except checker.TooLarge as error:
        raise UnsupportedError("the model is too large for the checker.") from error


def ranges_of(instance: SlicingInstance, begins: list[list[int]]) -> list[list[tuple[int, int]]]:
    """Return the first and last width of each class of each operator."""
    return [
        list(zip(row, [begin - 1 for begin in row[1:]] + [length], strict=True))
        for row, length in zip(begins, instance.graph.length.tolist(), strict=True)
    ]


class Factor(Protocol):
    """The least ticks of an operator, by its class and those of its inputs.

    Tables are in floating point: potentials prove something whatever they are, and what they prove
    is computed with integers.
    """

    def least_by_class(self, own: Row, added: list[Row], place: int) -> Row:
        """Return the least ticks for each class of the operator or of one of its inputs."""


class Passing:
    """Message passing: the operators' tables and the potentials so far.

    Attributes
    ----------
    added
        For each operator and each of its inputs, by the input's class: what is added to its ticks.
    """

    def __init__(self, operators: list[Operator]) -> None:
        self._factors = [factor_of(operator) for operator in operators]
        self._producers = [operator.producers for operator in operators]
        self.added = [[np.zeros(len(row)) for row in operator.classes] for operator in operators]
        # What memory does not allow costs more than any plan.
        most = [[2.0**53 * (not one.is_possible(own)) for own in one.own] for one in operators]
        self._own = [np.array(row) for row in most]
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
        """Move costs back from the readers, except as far as they can pass them further back."""
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
    passing: Passing,
    is_over: Callable[[], bool],
    offer: Callable[[list[list[list[int]]]], None],
    most_passes: int,
) -> None:
    """Pass costs until the sum stalls; offer rounded potentials, early ones and the best."""
    best, stalled = passing.total(), 0
    kept = offered = rounded(passing)
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
            offered = kept
        stalled += 1
        if stalled > PATIENCE or number == most_passes or is_over():
            break
    if kept is not offered:
        offer(kept)


def rounded(passing: Passing) -> list[list[list[int]]]:
    """Return the potentials as integers."""
    return [[np.rint(row).astype(np.int64).tolist() for row in rows] for rows in passing.added]


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
    """A table of all combinations of classes, the operator's first."""

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
    """A table in factored form: for each class, least sums over the inputs."""

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


def all_begins(
    instance: SlicingInstance,
    count: int,
    settings: PotentialSettings = PotentialSettings(),
    entries: int = MOST_ENTRIES,
) -> list[list[int]]:
    """Return the least width of each class of each operator."""
    for choice in (count,) if count else settings.choices:
        begins = [
            class_begins(length, instance.graph.devices, choice)
            for length in instance.graph.length.tolist()
        ]
        if _class_entries(instance, begins) <= entries:
            break
    return begins


def _class_entries(instance: SlicingInstance, begins: list[list[int]]) -> int:
    """Return the entries of the tables of all operators together."""
    total = 0
    for own, inputs in zip(begins, instance.graph.inputs, strict=True):
        sizes = [len(begins[producer]) for producer in {edge.producer for edge in inputs}]
        combined = 1
        for size in sizes:
            combined *= size
        total += len(own) * (combined if len(sizes) <= MOST_COMBINED else sum(sizes))
    return total


def class_begins(length: int, devices: int, count: int) -> list[int]:
    """Return the least width of each class, ascending; the last class is the whole operator."""
    least = -(-length // devices)
    if length - least < count:
        return list(range(least, length + 1))
    ranges = count - 2
    inner = [least + 1 + (length - least - 1) * at // ranges for at in range(ranges)]
    return sorted({least, *inner, length})
