"""Bootstrap intervals over instances."""

import numpy as np
import numpy.typing as npt

RESAMPLES = 2000
CONFIDENCE = 0.95
SEED = 1


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
    means = [logs[random.integers(logs.size, size=logs.size)].mean() for _ in range(RESAMPLES)]
    tail = (1 - CONFIDENCE) / 2
    low, high = np.exp(np.quantile(means, (tail, 1 - tail)))
    return float(low), float(high)
