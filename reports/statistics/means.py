"""Geometric means, plain for ratios and shifted for times, and their bootstrap intervals."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd


def geometric_mean(values: npt.ArrayLike, shift: float = 0.0) -> float:
    """Return ``exp(mean(log(x + shift))) - shift``, NaN for no values.

    Ratios are averaged geometrically because the result does not depend on which side is the
    reference (P. J. Fleming, J. J. Wallace: "How not to lie with statistics: the correct way to
    summarize benchmark results", CACM 29(3), 1986). For times, a shift keeps tasks of a few
    milliseconds from deciding the mean (T. Achterberg: "Constraint Integer Programming", PhD
    thesis, TU Berlin, 2007, Appendix A.3).

    Parameters
    ----------
    values
        Positive numbers; with a shift, non-negative ones.

    Examples
    --------
    >>> round(geometric_mean([1.0, 4.0]), 3)
    2.0
    """
    array = np.asarray(values, dtype=np.float64)
    if array.size == 0:
        return float("nan")
    return float(np.exp(np.mean(np.log(array + shift))) - shift)


@dataclass(frozen=True)
class Bootstrap:
    """How instances are resampled for an interval.

    Attributes
    ----------
    resamples
        Number of resamples: the more, the less the interval depends on the seed.
    confidence
        Share of the resamples whose mean is within the interval.
    seed
        Of the random numbers; a fixed one gives the same report for the same results.
    """

    resamples: int = 2000
    confidence: float = 0.95
    seed: int = 1


# Numbers drawn at a time.
LARGEST_PART = 1 << 18

# Tables of one report ask for the same number of instances again and again. What was drawn for so
# many is kept: 2,000 resamples of 16-bit integers, 16 MB.
MOST_KEPT = 4096

Counts: TypeAlias = npt.NDArray[np.uint16]


def geometric_mean_interval(
    ratios: npt.ArrayLike, bootstrap: Bootstrap = Bootstrap()
) -> tuple[float, float]:
    """Return the percentile interval of the geometric mean, NaN for fewer than two ratios.

    The instances, one ratio each, are resampled with replacement
    (B. Efron, R. Tibshirani: "An Introduction to the Bootstrap", 1993, Section 13.3). It says how
    much the mean depends on the choice of instances, not on seeds, which are averaged before.
    """
    column = pd.DataFrame({"": np.asarray(ratios, np.float64)})
    return geometric_mean_intervals(column, bootstrap)[""]


def geometric_mean_intervals(
    ratios: pd.DataFrame, bootstrap: Bootstrap = Bootstrap()
) -> dict[str, tuple[float, float]]:
    """Return the interval of each column, e.g. of a method, over the instances of the rows.

    All columns are resampled in the same way, as each alone would be.
    """
    logs = np.log(ratios.to_numpy(np.float64))
    size = len(logs)
    if size < 2:
        return dict.fromkeys(ratios.columns, (float("nan"), float("nan")))
    columns = np.ascontiguousarray(logs.T)
    # One thread: those of a matrix product take longer to wait for each other.
    means = [
        np.einsum("ij,kj->ik", times.astype(np.float64), columns) / size
        for times in (_kept if size <= MOST_KEPT else _resamples)(size, bootstrap)
    ]
    tail = (1 - bootstrap.confidence) / 2
    ends = np.exp(np.quantile(np.concatenate(means), (tail, 1 - tail), axis=0))
    return {name: (float(low), float(high)) for name, low, high in zip(ratios, *ends, strict=True)}


@lru_cache(maxsize=4)
def _kept(size: int, bootstrap: Bootstrap) -> tuple[Counts, ...]:
    return tuple(_resamples(size, bootstrap))


def _resamples(size: int, bootstrap: Bootstrap) -> Iterator[Counts]:
    """Yield resamples, a row each: how often each instance is drawn, which decides the mean."""
    random = np.random.default_rng(bootstrap.seed)
    for part in _parts(size, bootstrap.resamples):
        drawn = random.integers(size, size=(part, size))
        yield np.stack([np.bincount(one, minlength=size) for one in drawn]).astype(np.uint16)


def _parts(size: int, resamples: int) -> list[int]:
    """Return how many resamples to draw at a time, so that they take a few megabytes."""
    most = max(1, LARGEST_PART // size)
    return [min(most, resamples - done) for done in range(0, resamples, most)]
