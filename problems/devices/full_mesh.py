"""Links for all pairs of devices, by paths over the links that exist ([MOIRAI24], Section III-A).

Where two devices have no link, data takes several hops. A path is as wide as its narrowest link
([MOIRAI24], Section III-C) and its latencies add up; of all paths, the widest one is taken, and
among equally wide ones the one with the least latency. Where two devices do have a link, that link
is used, even if a detour would be wider: what was measured stays as it was measured.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from boundmark.problems.errors import InvalidInputError

FloatArray = npt.NDArray[np.float64]


def close_to_full_mesh(
    bandwidth: FloatArray, latency: FloatArray, names: Sequence[str]
) -> tuple[FloatArray, FloatArray]:
    """Return bandwidths and latencies for all ordered pairs of d devices.

    Parameters
    ----------
    bandwidth
        Of the links, from row to column, shape (d, d); 0 where there is none.
    latency
        Of the links, shape (d, d); ignored where there is none.
    names
        Of the devices, for the error.

    Returns
    -------
    tuple
        Both matrices with all pairs; between a device and itself, the bandwidth is infinite and
        the latency 0.

    Raises
    ------
    InvalidInputError
        If there is no path from some device to some other one.
    """
    is_linked = bandwidth > 0
    np.fill_diagonal(is_linked, True)
    direct = np.where(is_linked, bandwidth, 0.0)
    np.fill_diagonal(direct, np.inf)
    width = _widest_paths(direct)
    if not (width > 0).all():
        tail, head = np.argwhere(width == 0)[0].tolist()
        raise InvalidInputError(
            f"there is no path from {names[tail]!r} to {names[head]!r}; "
            "expected links that connect all devices in both directions."
        )
    delay = np.where(is_linked, latency, 0.0)
    np.fill_diagonal(delay, 0.0)
    # A widest path may use any link that is at least as wide as the path. So its latency is that
    # of a shortest path among these links, which differ from width to width.
    for least in np.unique(width[~is_linked]):
        shortest = _shortest_paths(np.where(direct >= least, delay, np.inf))
        pairs = ~is_linked & (width == least)
        delay[pairs] = shortest[pairs]
    return np.where(is_linked, direct, width), delay


def _widest_paths(bandwidth: FloatArray) -> FloatArray:
    """Return the largest bandwidth that some path offers, for each pair."""
    width = bandwidth.copy()
    for via in range(len(width)):
        width = np.maximum(width, np.minimum(width[:, via, None], width[None, via, :]))
    return width


def _shortest_paths(latency: FloatArray) -> FloatArray:
    """Return the least total latency of any path, for each pair."""
    total = latency.copy()
    for via in range(len(total)):
        total = np.minimum(total, total[:, via, None] + total[None, via, :])
    return total
