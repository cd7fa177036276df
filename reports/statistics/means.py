"""Geometric means, plain for ratios and shifted for times, and their bootstrap intervals."""

from collections.abc import Iterator
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
    """
    array = np.asarray(values, dtype=np.float64)
    if array.size == 0:
        return float("nan")
    return float(np.exp(np.mean(np.log(array + shift))) - shift)


RESAMPLES = 2000
CONFIDENCE = 0.95
SEED = 1

# Numbers drawn at a time.
LARGEST_PART = 1 << 18

# Tables of one report ask for the same number of instances again and again. What was drawn for so
# many is kept: 2,000 resamples of 16-bit integers, 16 MB.
MOST_KEPT = 4096

Counts: TypeAlias = npt.NDArray[np.uint16]


def geometric_mean_interval(ratios: npt.ArrayLike) -> tuple[float, float]:
    """Return the 95 % percentile interval of the geometric mean, NaN for fewer than two ratios.

    The instances, one ratio each, are resampled with replacement 2,000 times with a fixed seed
    (B. Efron, R. Tibshirani: "An Introduction to the Bootstrap", 1993, Section 13.3). It says how
    much the mean depends on the choice of instances, not on seeds, which are averaged before.
    """
    return geometric_mean_intervals(pd.DataFrame({"": np.asarray(ratios, np.float64)}))[""]


def geometric_mean_intervals(ratios: pd.DataFrame) -> dict[str, tuple[float, float]]:
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
        for times in (_kept(size) if size <= MOST_KEPT else _resamples(size))
    ]
    tail = (1 - CONFIDENCE) / 2
    ends = np.exp(np.quantile(np.concatenate(means), (tail, 1 - tail), axis=0))
    return {name: (float(low), float(high)) for name, low, high in zip(ratios, *ends, strict=True)}


@lru_cache(maxsize=4)
def _kept(size: int) -> tuple[Counts, ...]:
    return tuple(_resamples(size))


def _resamples(size: int) -> Iterator[Counts]:
    """Yield how often each instance is drawn, all that matters for a mean; a row per resample."""
    random = np.random.default_rng(SEED)
    for part in _parts(size):
        drawn = random.integers(size, size=(part, size))
        yield np.stack([np.bincount(one, minlength=size) for one in drawn]).astype(np.uint16)


def _parts(size: int) -> list[int]:
    """Return how many resamples to draw at a time, so that they take a few megabytes."""
    most = max(1, LARGEST_PART // size)
    return [min(most, RESAMPLES - done) for done in range(0, RESAMPLES, most)]
