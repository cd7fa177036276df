"""`assignment-load`: the fractional assignment of all operators to devices, with memory."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array

from boundmark.bounds.mip.highs import LinearProgram
from boundmark.problems.arrays import IntArray
from boundmark.problems.certificate import Certificate
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementInstance

KIND = "assignment-load/1"

BoolArray = npt.NDArray[np.bool_]

# The sum of the rounded weights, nearly.
UNITS = 2**20


@dataclass(frozen=True)
class Weights:
    """The fractional assignment's dual, rounded."""

    # Integers of each device, shape (D,).
    work: list[int]
    memory: list[int]


class AssignmentProgram:
    """The assignment program of some operators, re-solved as the allowed devices change.

    Minimise z such that each operator is assigned once, in fractions, and each device has work of
    at most z less what it cannot use. The dual multipliers of the devices' rows are the weights.
    Any weights prove a bound, so they are rounded to integers, and what they prove is computed
    anew.

    It begins with the last basis, which takes a tenth of the time of a new program.

    Raises `UnsupportedError` if HiGHS is not installed.
    """

    # `duration`: Ticks of each operator on each device, shape (n, D). `can_run`: Where they say
    # something, shape (n, D). `memory`, `capacity`: Of operators, shape (n,), and devices, shape
    # (D,); None if memory does not matter.

    def __init__(
        self,
        duration: IntArray,
        can_run: BoolArray,
        memory: IntArray | None = None,
        capacity: IntArray | None = None,
    ) -> None:
        nodes, self._devices = duration.shape
        self._operator, self._device = np.nonzero(can_run)
        ticks = duration[self._operator, self._device]
        self._scale = max(1, int(ticks.max()))
        self._memory_scale = 1
        columns = np.arange(len(ticks))
        # Rows of loads, of operators, and maybe of memory; the last column is z.
        rows = [self._device, np.arange(self._devices), self._devices + self._operator]
        places = [columns, np.full(self._devices, len(ticks)), columns]
        values = [ticks / self._scale, -np.ones(self._devices), np.ones(len(ticks))]
        lower = np.concatenate([np.full(self._devices, -np.inf), np.ones(nodes)])
        upper = np.concatenate([np.zeros(self._devices), np.ones(nodes)])
        if memory is not None and capacity is not None:
            self._memory_scale = max(1, int(memory.max()))
            rows.append(self._devices + nodes + self._device)
            places.append(columns)
            values.append(memory[self._operator] / self._memory_scale)
            lower = np.append(lower, np.full(self._devices, -np.inf))
            upper = np.append(upper, capacity / self._memory_scale)
        self._has_memory = memory is not None
        self._program = self._load(rows, places, values, lower, upper)

    def _load(self, rows: Any, places: Any, values: Any, lower: Any, upper: Any) -> LinearProgram:
        columns = len(self._operator) + 1
        matrix = coo_array(
            (np.concatenate(values), (np.concatenate(rows), np.concatenate(places))),
            shape=(len(lower), columns),
        ).tocsr()
        cost = np.append(np.zeros(columns - 1), 1.0)
        most = np.append(np.ones(columns - 1), np.inf)
        return LinearProgram(matrix, cost, (np.zeros(columns), most), (lower, upper), threads=1)

    def weights(self, allowed: BoolArray, lost: IntArray, seconds: float) -> Weights | None:
        """Return the best weights, None if there is no solution or no time left."""
        # `allowed`: Where operators may be, shape (n, D). `lost`: Ticks that each device cannot
        # use, shape (D,).
        is_open = allowed[self._operator, self._device].astype(np.float64)
        columns = np.arange(len(is_open), dtype=np.int32)
        self._program.limit_columns(columns, np.zeros(len(columns)), is_open)
        for device, ticks in enumerate(lost.tolist()):
            self._program.limit_row(device, -np.inf, -ticks / self._scale)
        solved = self._program.solve(seconds)
        if solved is None or np.isinf(solved.optimum):
            return None
        dual = np.maximum(0.0, -solved.multipliers)
        work = [round(float(value) * UNITS) for value in dual[: self._devices]]
        memory = [0] * self._devices
        if self._has_memory:
            # Per tick instead of per scaled tick, and per unit of memory.
            factor = self._scale / self._memory_scale * UNITS
            memory = [round(float(value) * factor) for value in dual[-self._devices :]]
        return Weights(work, memory) if any(work) else None


@dataclass(frozen=True)
class EqualOperators:
    """The assignment program of many operators, few of which differ where they are allowed.

    Those with the same ticks on the same devices are one, made anew for each set of allowed
    devices. Models with thousands of operators have some tens of such sorts.
    """

    # Ticks of each operator on each device, shape (n, D).
    duration: IntArray

    def weights(self, allowed: BoolArray, lost: IntArray, seconds: float) -> Weights | None:
        """Return the best weights, see `AssignmentProgram.weights`."""
        rows = np.where(allowed, self.duration, -1)
        sorts, count = np.unique(rows, axis=0, return_counts=True)
        can_run = sorts >= 0
        return AssignmentProgram(sorts * count[:, None], can_run).weights(can_run, lost, seconds)


def proven(instance: PlacementInstance, found: Weights) -> int:
    """Return the bound that weights prove, in exact arithmetic."""
    graph = instance.graph
    can_run = graph.fits
    demand = -sum(
        weight * capacity
        for weight, capacity in zip(found.memory, graph.capacity.tolist(), strict=True)
    )
    for ticks, memory, cans in zip(
        graph.duration.tolist(), graph.memory.tolist(), can_run.tolist(), strict=True
    ):
        demand += min(
            found.work[d] * ticks[d] + found.memory[d] * memory for d, can in enumerate(cans) if can
        )
    return max(0, int(-(-demand // sum(found.work))))


def run(
    instance: PlacementInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the bound by equal weights, then by the program's."""
    graph = instance.graph
    can_run = graph.fits
    nothing = np.zeros(graph.devices, dtype=np.int64)
    equal = Weights([1] * graph.devices, [0] * graph.devices)
    best = -1
    program = AssignmentProgram(graph.duration, can_run, graph.memory, graph.capacity)
    for found in (equal, program.weights(can_run, nothing, budget.remaining())):
        if found is not None and proven(instance, found) > best:
            best = proven(instance, found)
            payload = {"weights": found.work, "memory_weights": found.memory}
            progress.bound(Certificate.of(instance, KIND, best, payload, "assignment-load"))
