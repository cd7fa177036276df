"""Makes room: operators leave devices whose memory they exceed."""

import numpy as np

from boundmark.problems.arrays import IntArray
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.placement import PlacementInstance
from boundmark.problems.placement.feasibility import memory_held


def has_room(instance: PlacementInstance, devices: IntArray) -> bool:
    """Whether devices support their operators and have room for them."""
    graph = instance.graph
    return bool(
        graph.is_supported[np.arange(graph.nodes), devices].all()
        and (memory_held(graph, devices) <= graph.capacity).all()
    )


def with_room(instance: PlacementInstance, devices: IntArray) -> IntArray | None:
    """Return devices that support their operators and have room for them, as given if they do.

    The largest operators stay; the others go, largest first, to the device with the most room left
    that supports them. This may fail although there is a way.

    Returns
    -------
    IntArray or None
        Shape (n,); None if it fails.
    """
    graph = instance.graph
    supported = graph.is_supported
    if has_room(instance, devices):
        return devices
    placed = np.full(graph.nodes, -1, dtype=np.int64)
    left = graph.capacity.copy()
    largest_first = np.argsort(-graph.memory, kind="stable").tolist()
    for node in largest_first:
        device = devices[node]
        if supported[node, device] and graph.memory[node] <= left[device]:
            placed[node] = device
            left[device] -= graph.memory[node]
    for node in largest_first:
        if placed[node] < 0:
            device = int(np.where(supported[node], left, -1).argmax())
            if graph.memory[node] > left[device]:
                return None
            placed[node] = device
            left[device] -= graph.memory[node]
    return placed


def require_room(instance: PlacementInstance, devices: IntArray) -> IntArray:
    """Return what `with_room` does, or where that fails, what an integer program finds.

    Raises
    ------
    UnsupportedError
        If both fail.
    """
    placed = with_room(instance, devices)
    if placed is None:
        placed = packed(instance, devices)
        if placed is None or not has_room(instance, placed):
            raise UnsupportedError("no placement was found for which the devices have room.")
    return placed


def with_all_placed(instance: PlacementInstance, devices: IntArray) -> IntArray:
    """Return devices with room for all operators, of which some have -1 as they found no room.

    Those go to their fastest devices first, then `require_room` moves what has to move.

    Raises
    ------
    UnsupportedError
        If no room is found.
    """
    graph = instance.graph
    largest = graph.duration.max() + 1
    fastest = np.where(graph.is_supported, graph.duration, largest).argmin(axis=1)
    return require_room(instance, np.where(devices < 0, fastest, devices))


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
