"""Room for all operators where it is so short that greedy rules find none."""

import numpy as np

from boundmark.problems.arrays import IntArray
from boundmark.problems.placement import PlacementInstance

# Of integer programs that are tried.
MOST_COLUMNS = 100_000
MOST_SECONDS = 5.0


def packed(instance: PlacementInstance, devices: IntArray) -> IntArray | None:
    """Return devices that have room, shape (n,), as many as possible as given; None if unknown.

    This is an integer program, solved by HiGHS as scipy brings it.

    Parameters
    ----------
    devices
        Those that operators should be on if they can, shape (n,).
    """
    graph = instance.graph
    n, span = graph.nodes, graph.devices
    if n * span > MOST_COLUMNS:
        return None
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    column = np.arange(n * span)
    cost = np.ones((n, span))
    cost[np.arange(n), devices] = 0.0
    whole = csr_array((np.ones(n * span), (column // span, column)))
    # In units of the capacity, for the solver's tolerance; the result is checked exactly.
    room = np.maximum(graph.capacity, 1)
    held = csr_array(((graph.memory[:, None] / room).ravel(), (column % span, column)))
    result = milp(
        cost.ravel(),
        integrality=np.ones(n * span),
        bounds=Bounds(0, graph.is_supported.ravel().astype(float)),
        constraints=[
            LinearConstraint(whole, 1, 1),
            LinearConstraint(held, -np.inf, graph.capacity / room),
        ],
        options={"time_limit": MOST_SECONDS},
    )
    if result.x is None:
        return None
    return np.asarray(result.x.reshape(n, span).argmax(axis=1))
