"""Room for operators and live tensors: methods leave it, or move operators to make it.

Methods choose devices by what operators take all the time. Where tensors take memory while they
are live, a schedule shows whether there was enough left for them; if there was not, the method runs
again with a part of every device's memory reserved.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any

import numpy as np

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.certificate import Certificate, Claim
from boundmark.problems.errors import InvalidInputError, UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementGraph, PlacementInstance, PlacementSchedule
from boundmark.problems.placement.feasibility import PER_TENSOR, memory_held, peaks

NO_ROOM = "no placement was found for which the devices have room."


def has_room(instance: PlacementInstance, devices: IntArray) -> bool:
    """Whether devices support their operators and have room for them."""
    graph = instance.graph
    return bool(
        graph.is_supported[np.arange(graph.nodes), devices].all()
        and (memory_held(graph, devices) <= graph.capacity).all()
    )


def with_room(instance: PlacementInstance, devices: IntArray) -> IntArray | None:
    """Return a placement with support and room for all operators: the given one if it has both.

    Otherwise the largest operators stay; the others go, largest first, to the device with the most
    room left that supports them. That may fail although such a placement exists; it is None then.
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
    """Return a placement with room, found greedily or else by an integer program."""
    placed = with_room(instance, devices)
    if placed is None:
        placed = packed(instance, devices)
        if placed is None or not has_room(instance, placed):
            raise UnsupportedError(NO_ROOM)
    return placed


def with_all_placed(instance: PlacementInstance, devices: IntArray) -> IntArray:
    """Return a placement with room from one with -1 for operators that have found no room.

    Those go to their fastest devices first, then `require_room` moves operators.
    """
    graph = instance.graph
    largest = graph.duration.max() + 1
    fastest = np.where(graph.is_supported, graph.duration, largest).argmin(axis=1)
    return require_room(instance, np.where(devices < 0, fastest, devices))


def packed(
    instance: PlacementInstance,
    devices: IntArray,
    *,
    most_columns: int = 100_000,
    most_seconds: float = 5.0,
) -> IntArray | None:
    """Return the placement with room that moves the fewest operators, shape (n,), None if unknown.

    This is an integer program, solved by HiGHS as scipy brings it. No program of more than
    `most_columns`, operators x devices, is tried, and none for more than `most_seconds`.
    """
    graph = instance.graph
    n, span = graph.nodes, graph.devices
    if n * span > most_columns:
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
        options={"time_limit": most_seconds},
    )
    if result.x is None:
        return None
    return np.asarray(result.x.reshape(n, span).argmax(axis=1))


# Reserves that are tried, in units of what is live at most when operators run one by one.
RESERVES = (0.0, 1.0, 2.0, 4.0)

Run = Callable[..., None]


@dataclass(frozen=True, eq=False)
class ReservedInstance(PlacementInstance):
    """An instance whose devices state less memory than they have."""

    # The instance with all the memory, which schedules have to keep to.
    whole: PlacementInstance | None = None


def leaving_room(run: Run) -> Run:
    """Return a method that runs again with a larger reserve while its schedules have no room."""

    @wraps(run)
    def reserving(
        instance: PlacementInstance, budget: Budget, seed: int, progress: Progress, **params: Any
    ) -> None:
        if not instance.graph.is_live:
            run(instance, budget, seed, progress, **params)
            return
        live = most_live(instance.graph)
        counting = _Counting(progress)
        reason = UnsupportedError(NO_ROOM)
        for share in RESERVES:
            try:
                reserved = _reserved(instance, int(share * live))
            except InvalidInputError:
                # With the reserve, the operators have no room any more.
                break
            try:
                run(reserved, budget, seed, counting, **params)
            except UnsupportedError as error:
                reason = error
            if counting.solutions or not live:
                break
        if not counting.solutions:
            raise reason

    return reserving


def _reserved(instance: PlacementInstance, reserve: int) -> ReservedInstance:
    graph = instance.graph
    capacity = np.maximum(0, graph.capacity - reserve)
    small = replace(graph, capacity=frozen(capacity)) if reserve else graph
    return ReservedInstance(
        small, instance.transfers, None, instance.fusion, instance.features, None, instance
    )


def most_live(graph: PlacementGraph) -> int:
    """Return the peak of live memory while operators run one by one in topological order."""
    n = graph.nodes
    device = np.zeros(n, dtype=np.int64)
    starts = np.empty(n, dtype=np.int64)
    starts[graph.dag.topological_order] = np.arange(n)
    none = np.zeros((0, 3), dtype=np.int64)
    one_by_one = replace(graph, duration=frozen(np.ones_like(graph.duration)))
    return int(
        peaks(one_by_one, PlacementSchedule(device, starts, none), PER_TENSOR)[0]
        - graph.memory.sum()
    )


class _Counting:
    """A `Progress` that counts solutions."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self.solutions = 0

    def solution(self, solution: Any) -> None:
        """Count and pass on."""
        self.solutions += 1
        self._progress.solution(solution)

    def bound(self, bound: Certificate | Claim) -> None:
        """Pass on."""
        self._progress.bound(bound)
