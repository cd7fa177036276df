"""Times of operators that follow from measured times of whole stages.

Each stage that has run says what its operators take together. What one of them takes is estimated:
before anything has run, it takes `predicted` times an unknown factor, and factors of operators of
one class, and more so of one kind (with the same sizes), are alike. With normal distributions of
these factors, the estimate given all sums is a system of as many equations as stages have run
([RASMUSSEN06], Equation 2.25). What the last partition's stages then still differ by is made up by
scaling each stage, so that its costs are those that were measured.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from boundmark.problems.arrays import IntArray

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class StageObservation:
    """The time of a stage that ran.

    Attributes
    ----------
    members
        Whether each operator is in the stage, shape (n,).
    nanoseconds
        What they took together, without what the stage sends.
    noise
        Standard error of that, as a part of it.
    """

    members: npt.NDArray[np.bool_]
    nanoseconds: float
    noise: float = 0.0


@dataclass(frozen=True)
class TuningSettings:
    """Standard deviations of factors before anything has run; chosen on half of `measured`.

    Attributes
    ----------
    common, of_class, of_kind, of_operator
        Standard deviations of the factors of all operators, of a class, of a kind, and of each.
    noise
        Least standard error of a stage's time, as a part of it.
    """

    common: float = 0.6
    of_class: float = 0.4
    of_kind: float = 0.3
    of_operator: float = 0.1
    noise: float = 0.01


# No operator takes less than this part of what was predicted.
LEAST_FACTOR = 0.05


def tuned_work(
    predicted: IntArray,
    classes: Sequence[Hashable],
    kinds: Sequence[Hashable],
    rounds: Sequence[Sequence[StageObservation]],
    settings: TuningSettings = TuningSettings(),
) -> Floats:
    """Return the nanoseconds that operators are estimated to take, shape (n,)."""
    seen = [one for stages in rounds for one in stages if one.members.any()]
    if not seen:
        return predicted.astype(np.float64)
    prior = predicted.astype(np.float64)
    parts = np.array([one.members for one in seen]) * prior
    measured = np.array([one.nanoseconds for one in seen])
    # Covariances of operators with observations, shape (n, s), and among these.
    covariance = settings.of_operator**2 * prior[:, None] * parts.T
    for deviation, group in (
        (settings.common, np.zeros(len(prior), np.int64)),
        (settings.of_class, _numbers(classes)),
        (settings.of_kind, _numbers(kinds)),
    ):
        sums = np.array([np.bincount(group, row, group.max() + 1) for row in parts])
        covariance += deviation**2 * prior[:, None] * sums.T[group]
    among = (parts > 0) @ covariance
    errors = np.array([max(one.noise, settings.noise) for one in seen]) * measured
    # A nanosecond more, so that the system has a solution where a stage takes no time.
    system = among + np.diag(errors**2 + 1.0)
    found = prior + covariance @ np.linalg.solve(system, measured - parts.sum(axis=1))
    found = np.maximum(found, LEAST_FACTOR * prior)
    return _scaled(found, rounds[-1])


def _numbers(names: Sequence[Hashable]) -> IntArray:
    known: dict[Hashable, int] = {}
    return np.array([known.setdefault(name, len(known)) for name in names], np.int64)


def _scaled(work: Floats, stages: Sequence[StageObservation]) -> Floats:
    """Return times that add up to what each of some stages took."""
    work = work.copy()
    for stage in stages:
        total = work[stage.members].sum()
        if total > 0:
            work[stage.members] *= max(stage.nanoseconds, 1.0) / total
    return work
