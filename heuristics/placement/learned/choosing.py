"""Draws devices by their logits."""

import numpy as np
import numpy.typing as npt

from boundmark.problems.arrays import IntArray

Logits = npt.NDArray[np.float32]


def drawn(logits: Logits, generator: np.random.Generator) -> IntArray:
    """Return a choice for each row of logits with the probabilities of their softmax.

    Parameters
    ----------
    logits
        Shape (..., D).

    Returns
    -------
    IntArray
        Shape (...).
    """
    # The largest of logits with Gumbel noise.
    noise = generator.gumbel(size=logits.shape)
    return np.asarray((logits + noise).argmax(axis=-1), dtype=np.int64)


def likeliest(logits: Logits) -> IntArray:
    """Return the choice with the largest logit of each row, shape (...)."""
    return np.asarray(logits.argmax(axis=-1), dtype=np.int64)


def allowed_devices(
    is_supported: npt.NDArray[np.bool_], group_of: IntArray, groups: int
) -> npt.NDArray[np.bool_]:
    """Return which devices support all operators of a group, shape (groups, D).

    A group without any is allowed everywhere; those of its operators that have to then move.

    Parameters
    ----------
    is_supported
        Whether each device supports each operator, shape (n, D).
    group_of
        Of each operator, shape (n,).
    """
    allowed = np.ones((groups, is_supported.shape[1]), dtype=bool)
    np.logical_and.at(allowed, group_of, is_supported)
    allowed[~allowed.any(axis=1)] = True
    return allowed
