"""Bootstrap intervals over instances."""

import numpy as np
import numpy.typing as npt

RESAMPLES = 2000
CONFIDENCE = 0.95
SEED = 1

# Numbers drawn at a time.
LARGEST_PART = 1 << 18


def geometric_mean_interval(ratios: npt.ArrayLike) -> tuple[float, float]:
    """Return the 95 % percentile interval of the geometric mean, NaN for fewer than two ratios.

    The instances, one ratio each, are resampled with replacement 2,000 times with a fixed seed
    (B. Efron, R. Tibshirani: "An Introduction to the Bootstrap", 1993, Section 13.3). It says how
    much the mean depends on the choice of instances, not on seeds, which are averaged before.
    """
    logs = np.log(np.asarray(ratios, dtype=np.float64))
    if logs.size < 2:
        return float("nan"), float("nan")
    random = np.random.default_rng(SEED)
    means = [
        logs[random.integers(logs.size, size=(part, logs.size))].mean(axis=1)
        for part in _parts(logs.size)
    ]
    tail = (1 - CONFIDENCE) / 2
    low, high = np.exp(np.quantile(np.concatenate(means), (tail, 1 - tail)))
    return float(low), float(high)


def _parts(size: int) -> list[int]:
    """Return how many resamples to draw at a time, so that they take a few megabytes."""
    most = max(1, LARGEST_PART // size)
    return [min(most, RESAMPLES - done) for done in range(0, RESAMPLES, most)]
