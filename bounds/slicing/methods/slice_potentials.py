"""`slice-potentials`: least ticks of operators by width, and potentials between neighbours."""

from typing import Any

from boundmark.bounds import checker
from boundmark.bounds.checker.slicing.potentials import slice_potentials
from boundmark.bounds.checker.slicing.ticks import operators
from boundmark.bounds.slicing.potentials.classes import all_begins
from boundmark.bounds.slicing.potentials.passing import Passing, improve
from boundmark.problems.certificate import Certificate
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.slicing import SlicingInstance

KIND = "slice-potentials/1"

# Of the time, for potentials; the rest is for computing what they prove.
SEARCHING = 0.4


def run(
    instance: SlicingInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    classes: int,
    **params: Any,
) -> None:
    """Report bounds.

    Parameters
    ----------
    classes
        Of widths, for each operator at most; 0 for as many as are checked in seconds.

    Raises
    ------
    UnsupportedError
        If the checker would take too long.
    """
    read = checker.check_instance(instance.to_json())
    begins = all_begins(instance, classes)
    ends = [
        [begin - 1 for begin in row[1:]] + [length]
        for row, length in zip(begins, instance.graph.length.tolist(), strict=True)
    ]
    both = [list(zip(row, last, strict=True)) for row, last in zip(begins, ends, strict=True)]
    best = -1

    def offer(potentials: list[list[list[int]]]) -> None:
        nonlocal best
        payload = {"classes": begins, "potentials": potentials}
        bound = slice_potentials(read, payload)
        if bound > best:
            best = bound
            progress.bound(Certificate.of(instance, KIND, bound, payload, "slice-potentials"))

    try:
        searching = budget.part(SEARCHING)
        improve(Passing(operators(read, both)), searching.is_spent, offer)
    except checker.TooLarge as error:
        raise UnsupportedError("the model is too large for the checker.") from error
