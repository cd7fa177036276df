"""CP-SAT models that finish schedules of `modulo`: less memory, short ends, least makespan.

A schedule is completed around its repetend ([TESSEL24], Section IV-C), which is one period of a
steady state. On each device the warm-up ends before the repetend begins, and the cool-down begins
after it has ended, so that repetitions fit in between, and each device holds between repetitions
what it holds in the steady state.
"""

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from boundmark.bounds.cp_sat import new_model, new_solver, solve
from boundmark.bounds.microbatch.memory_latency import least_capacity
from boundmark.bounds.microbatch.steady_state import SteadyState, SteadyStateModel
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.microbatch import MicrobatchInstance, Repetend, Schedule
from boundmark.problems.microbatch.schedule import left_shifted, makespan, peak_memory


def completed(
    instance: MicrobatchInstance, state: SteadyState, seconds: float, threads: int
) -> Schedule:
    """Return a schedule with the steady state's repetend and the shortest makespan found.

    It is for as many micro-batches as the repetend has members of, at the least.
    """
    plain = state.schedule
    # Larger models are not solved: the expanded steady state is the result.
    if seconds <= 0 or plain.micro_batches * instance.nodes > 4000:
        return plain
    model = _CompletionModel(instance, state, plain)
    model.add_dependencies()
    for device in range(instance.layout.devices):
        model.add_device(device)
    model.minimise_makespan()
    starts = model.solve(seconds, threads)
    if starts is None:
        return plain
    assert plain.repetend is not None
    return Schedule(frozen(starts), Repetend(state.period, plain.repetend.members))


class _CompletionModel:
    """CP-SAT model of the blocks before and after one repetition, and of when that begins.

    The blocks of the repetition follow it by their phases; the others are free.
    """

    def __init__(self, instance: MicrobatchInstance, state: SteadyState, plain: Schedule) -> None:
        assert plain.repetend is not None
        self._instance = instance
        self._blocks = instance.layout.blocks
        self._members = plain.repetend.members.tolist()
        self._count, self._period = plain.micro_batches, state.period
        self._model = model = new_model()
        self._horizon = horizon = makespan(instance.layout, plain.starts)
        self._repetition = model.new_int_var(0, horizon, "repetition")
        self._phase = [start % self._period for start in state.starts]
        self._first = [self._repetition + o for o in self._phase]
        self._free = {
            (m, i): model.new_int_var(0, horizon, f"{i} of {m}")
            for m, i in itertools.product(range(self._count), range(len(self._blocks)))
            if m != self._members[i]
        }
        for (m, i), start in self._free.items():
            model.add_hint(start, int(plain.starts[m, i]))
            if (m + 1, i) in self._free:
                model.add(start + self._blocks[i].duration <= self._free[m + 1, i])

    def add_dependencies(self) -> None:
        """Add precedence constraints that hold for any number of repetitions."""
        first, free, members = self._first, self._free, self._members
        for u, v in self._instance.layout.dag.edge_pairs().tolist():
            later: Any
            earlier: Any
            for m, r in itertools.product(range(self._count), range(self._count)):
                # Micro-batch m + r, if r more repetitions shift what comes after the repetend.
                if m < members[v] and r:
                    continue
                later = first[v] if m == members[v] else free[m, v]
                if m + r < members[u]:
                    earlier = free[m + r, u]
                elif m > members[u]:
                    earlier = free[m, u] + r * self._period
                else:
                    earlier = first[u] + (m + r - members[u]) * self._period
                ticks = self._blocks[u].duration
                self._model.add(earlier + ticks <= later + r * self._period)

    def add_device(self, device: int) -> None:
        """Add a device's constraints: warm-up and cool-down beside the repetition, memory."""
        blocks, members = self._blocks, self._members
        here = self._instance.layout.on_device[device]
        begins = min((self._phase[i] for i in here), default=0)
        ends = max((self._phase[i] + blocks[i].duration for i in here), default=0)
        between = sum(blocks[i].memory * members[i] for i in here)
        for before in (True, False):
            part = [
                (self._free[m, i], blocks[i])
                for m, i in itertools.product(range(self._count), here)
                if m != members[i] and (m < members[i]) == before
            ]
            if not part:
                continue
            self._model.add_no_overlap(
                self._model.new_fixed_size_interval_var(start, block.duration, "")
                for start, block in part
            )
            for start, block in part:
                if before:
                    self._model.add(start + block.duration <= self._repetition + begins)
                else:
                    self._model.add(start >= self._repetition + ends)
            changes: list[tuple[Any, int]] = [
                (start, block.memory) for start, block in part if block.memory
            ]
            if not before:
                changes.append((self._model.new_constant(0), between))
            if changes:
                times, amounts = zip(*changes, strict=True)
                self._model.add_reservoir_constraint(
                    times, amounts, -sum(map(abs, amounts)), self._instance.capacity[device]
                )

    def minimise_makespan(self) -> None:
        """Set the objective: the end of the last block."""
        length = self._model.new_int_var(0, self._horizon, "makespan")
        for repeated, block in zip(self._first, self._blocks, strict=True):
            self._model.add(repeated + block.duration <= length)
        for (_, i), start in self._free.items():
            self._model.add(start + self._blocks[i].duration <= length)
        self._model.minimize(length)

    def solve(self, seconds: float, threads: int) -> IntArray | None:
        """Return the starts, shape (N, K), or None if none were found."""
        from ortools.sat.python import cp_model

        solver = new_solver(seconds, threads)
        if solve(solver, self._model) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return None
        starts = np.array([[solver.value(start) for start in self._first]] * self._count)
        for (m, i), start in self._free.items():
            starts[m, i] = solver.value(start)
        return starts


@dataclass(frozen=True)
class MakespanSearch:
    """Search for the least makespan of given micro-batches, all blocks in one model.

    Attributes
    ----------
    bound
        No makespan is below this one.
    horizon
        When all blocks have to have ended.
    on_starts, on_bound
        Called with each better solution, start times of shape (N, K), and with each better bound.
    known
        Start times to begin at, if there are any.
    """

    instance: MicrobatchInstance
    bound: int
    horizon: int
    on_starts: Callable[[IntArray], None]
    on_bound: Callable[[int], None]
    known: IntArray | None = None

    def run(self, seconds: float, threads: int) -> None:
        """Solve the model within a time limit, and report improvements."""
        model = new_model()
        from ortools.sat.python import cp_model

        instance, on_starts = self.instance, self.on_starts
        layout = instance.layout
        blocks = layout.blocks
        jobs = list(itertools.product(range(instance.micro_batches), range(len(blocks))))
        start = {job: model.new_int_var(0, self.horizon, f"{job}") for job in jobs}
        length = model.new_int_var(self.bound, self.horizon, "makespan")
        for m, i in jobs:
            model.add(start[m, i] + blocks[i].duration <= length)
            # [TESSEL24], Property IV.1; a device runs one block at a time.
            if m:
                model.add(start[m - 1, i] + blocks[i].duration <= start[m, i])
            if self.known is not None:
                model.add_hint(start[m, i], int(self.known[m, i]))
        for m, (u, v) in itertools.product(
            range(instance.micro_batches), layout.dag.edge_pairs().tolist()
        ):
            model.add(start[m, u] + blocks[u].duration <= start[m, v])
        for device, here in enumerate(layout.on_device):
            on_device = [(m, i) for m, i in jobs if i in here]
            model.add_no_overlap(
                model.new_fixed_size_interval_var(start[m, i], blocks[i].duration, "")
                for m, i in on_device
            )
            changes = [(start[m, i], blocks[i].memory) for m, i in on_device if blocks[i].memory]
            if changes:
                times, amounts = zip(*changes, strict=True)
                model.add_reservoir_constraint(
                    times, amounts, -sum(map(abs, amounts)), instance.capacity[device]
                )
        model.minimize(length)

        class Report(cp_model.CpSolverSolutionCallback):
            def on_solution_callback(self) -> None:
                found = np.zeros((instance.micro_batches, len(blocks)), dtype=np.int64)
                for job, variable in start.items():
                    found[job] = self.value(variable)
                on_starts(left_shifted(instance.layout, found))

        solver = new_solver(seconds, threads)
        solver.best_bound_callback = lambda value: self.on_bound(round(value))
        status = solve(solver, model, Report())
        if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            self.on_bound(round(solver.best_objective_bound))


def with_less_memory(
    instance: MicrobatchInstance, state: SteadyState, seconds: float, threads: int
) -> SteadyState:
    """Return a steady state of the same period with less peak memory, if one is found.

    Then it has the least sum over all devices, and then the fewest stages, that were found. Whether
    a capacity suffices is decided much faster than a least one is found.
    """

    def model(capacity: int) -> SteadyStateModel:
        capped = tuple(min(capacity, most) for most in instance.capacity)
        return SteadyStateModel(
            MicrobatchInstance(instance.layout, capped), state.period, state.period
        )

    until = time.monotonic() + seconds
    # Each search gets this share of the time left, so that a stuck one leaves some to the rest.
    share = 0.25

    def left() -> float:
        return share * max(0.0, until - time.monotonic())

    low = max(
        least_capacity(instance, state.period),
        *(block.memory for block in instance.layout.blocks),
    )
    high = _fullest(instance, state)
    while low < high:
        middle = (low + high) // 2
        found = model(middle).solve(left(), threads, is_linear=True).state
        if found is None:
            low = middle + 1
        else:
            state, high = found, _fullest(instance, found)
    last = model(high)
    last.minimise_memory()
    last.hint(state)
    return last.solve(left() / share, threads, is_linear=True).state or state


def _fullest(instance: MicrobatchInstance, state: SteadyState) -> int:
    return max(peak_memory(instance.layout, state.expanded(2 * max(state.stages) + 2).starts))
