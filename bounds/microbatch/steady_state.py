"""Periodic schedules: block i of micro-batch m starts at sigma(i) + m P.

This is modulo scheduling (B. R. Rau, "Iterative Modulo Scheduling", MICRO 1994). Each start is
written as sigma(i) = P s(i) + o(i), a stage and a phase 0 <= o(i) < P.

- A device runs its blocks in the order of their phases, and the last one ends before the first one
  starts again, a period later.
- Of block i, floor((t - sigma(i)) / P) + 1 micro-batches have started by the time t. What a
  micro-batch changes on a device adds up to 0, so the device holds, after the start of block j,
  the sum over its blocks of -memory(i) s(i), and of memory(i) where o(i) <= o(j).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from boundmark.bounds.cp_sat import new_model, new_solver, solve
from boundmark.problems.arrays import frozen
from boundmark.problems.microbatch import MicrobatchInstance, Repetend, Schedule
from boundmark.problems.microbatch.schedule import left_shifted, makespan

# The largest sum of weighted goals, which are added up in 64 bits.
LARGEST_GOAL = 2**55

Verdict = Literal["found", "impossible", "unknown"]


@dataclass(frozen=True)
class SteadyState:
    """A period, and when each block of micro-batch 0 starts; the first one at 0 or later."""

    period: int
    starts: tuple[int, ...]

    @cached_property
    def stages(self) -> tuple[int, ...]:
        """The stage of each block: the number of whole periods before its start."""
        return tuple(start // self.period for start in self.starts)

    def expanded(self, micro_batches: int) -> Schedule:
        """Return the schedule that cuts off micro-batches before 0 and from N on.

        It has a repetend if N is at least the number of stages.
        """
        sigma, stages = np.array(self.starts), np.array(self.stages)
        starts = sigma + self.period * np.arange(micro_batches)[:, None]
        repetend = Repetend(self.period, frozen(stages.max() - stages))
        return Schedule(
            frozen(starts - starts.min()), repetend if micro_batches > stages.max() else None
        )

    @cached_property
    def schedule(self) -> Schedule:
        """The schedule for as few micro-batches as there are stages."""
        return self.expanded(max(self.stages) + 1)


@dataclass(frozen=True)
class Outcome:
    """The result of a search.

    Attributes
    ----------
    state
        State with the least period or the least memory found.
    bound
        No period of those asked for is possible below.
    """

    verdict: Verdict
    state: SteadyState | None
    bound: int


# CP-SAT counts in 64 bits.
LARGEST_SUM = 2**62


class SteadyStateModel:
    """CP-SAT model of stages and phases, for a range of periods."""

    def __init__(self, instance: MicrobatchInstance, shortest: int, longest: int) -> None:
        self._instance = instance
        self._shortest = shortest
        self._model = model = new_model()
        blocks = instance.layout.blocks
        count = len(blocks)
        self._period: Any = (
            shortest if shortest == longest else model.new_int_var(shortest, longest, "period")
        )
        # Where a whole number of periods lies between two sets of blocks, the later ones can come
        # earlier: no dependency spans more than two stages, and nothing is held longer for it.
        self._stage = [model.new_int_var(0, 2 * (count - 1), f"stage {i}") for i in range(count)]
        self._phase = [model.new_int_var(0, longest - 1, f"phase {i}") for i in range(count)]
        self._start = [self._start_of(i, longest) for i in range(count)]
        self._latest = (2 * count + 1) * longest
        # Break symmetry: any moment may be the beginning of a period.
        anchor = max(range(count), key=lambda i: len(blocks[i].devices))
        model.add(self._phase[anchor] == 0)
        dag = instance.layout.dag
        for u, v in dag.edge_pairs().tolist():
            model.add(self._start[u] + blocks[u].duration <= self._start[v])
            model.add(self._stage[u] <= self._stage[v])
        self._is_before: dict[tuple[int, int], Any] = {}
        self._peaks = [self._add_device(device) for device in range(instance.layout.devices)]

    def _start_of(self, block: int, longest: int) -> Any:
        if isinstance(self._period, int):
            return self._period * self._stage[block] + self._phase[block]
        self._model.add(self._phase[block] < self._period)
        most = 2 * len(self._stage) * longest
        whole = self._model.new_int_var(0, most, f"whole periods {block}")
        self._model.add_multiplication_equality(whole, self._period, self._stage[block])
        return whole + self._phase[block]

    def _add_device(self, device: int) -> Any:
        """Add a device's constraints; return the variable of its peak memory."""
        model, blocks = self._model, self._instance.layout.blocks
        here = self._instance.layout.on_device[device]
        phase = self._phase
        model.add_no_overlap(
            model.new_fixed_size_interval_var(phase[i], blocks[i].duration, f"{i} on {device}")
            for i in here
        )
        for i in here:
            model.add(blocks[i].duration <= self._period)
            for j in here:
                if i != j:
                    model.add(phase[i] + blocks[i].duration <= phase[j] + self._period)
        holding = [i for i in here if blocks[i].memory]
        if not holding:
            return 0
        capacity = self._instance.capacity[device]
        between = -sum(blocks[i].memory * self._stage[i] for i in holding)
        peak = model.new_int_var(0, capacity, f"peak {device}")
        for j in holding:
            if blocks[j].memory > 0:
                earlier = sum(blocks[i].memory * self._before(i, j) for i in holding if i != j)
                model.add(between + earlier + blocks[j].memory <= peak)
        # The mean over a period (Little's law). A device holds sum(memory[i] * [phase[i] <= t] -
        # memory[i] * stage[i]) at phase t, over a period -sum(memory[i] * start[i]) in all, as the
        # memory of a micro-batch adds up to 0 on it. It holds what a block releases until this has
        # ended, since nothing can take its place before. So it never holds more than after some
        # allocation, which is limited above: this row cuts off no steady state, it only speeds up
        # the search, and is left out where its numbers are too large for the solver. Bounds would
        # stay true in any case, as fewer rows allow more, and schedules are checked by themselves.
        held = sum(
            blocks[i].memory * -self._start[i] + max(0, -blocks[i].memory) * blocks[i].duration
            for i in holding
        )
        held_at_most = sum(abs(blocks[i].memory) for i in holding) + capacity
        if held_at_most * self._latest < LARGEST_SUM:
            model.add(held <= capacity * self._period)
        return peak

    def _before(self, i: int, j: int) -> Any:
        """Return whether block i comes first in the period of two blocks on one device."""
        if (j, i) in self._is_before:
            return 1 - self._is_before[j, i]
        if (i, j) not in self._is_before:
            first = self._model.new_bool_var(f"{i} before {j}")
            for earlier, later, literal in ((i, j, first), (j, i, first.negated())):
                duration = self._instance.layout.blocks[earlier].duration
                self._model.add(
                    self._phase[earlier] + duration <= self._phase[later]
                ).only_enforce_if(literal)
            self._is_before[i, j] = first
        return self._is_before[i, j]

    def minimise_period(self) -> None:
        """Set the objective: the period."""
        self._model.minimize(self._period)

    def minimise_memory(self) -> None:
        """Set the objective: peak memory, then the sum over devices, then the number of stages."""
        model, capacity = self._model, self._instance.capacity
        fullest = model.new_int_var(0, max(capacity), "fullest")
        last = model.new_int_var(0, 2 * len(self._stage), "last stage")
        for peak in self._peaks:
            model.add(peak <= fullest)
        model.add_max_equality(last, self._stage)
        stages = 2 * len(self._stage) + 1
        total = sum(capacity) + 1
        goals = [(fullest, stages * total), (sum(self._peaks), stages), (last, 1)]
        if stages * total * max(capacity) >= LARGEST_GOAL:
            goals = [(fullest, stages), (last, 1)]
        model.minimize(sum(weight * goal for goal, weight in goals))

    def hint(self, state: SteadyState) -> None:
        """Give the solver a steady state to start from."""
        for stage, phase, start in zip(self._stage, self._phase, state.starts, strict=True):
            self._model.add_hint(stage, start // state.period)
            self._model.add_hint(phase, start % state.period)

    def solve(self, seconds: float, threads: int, *, is_linear: bool = False) -> Outcome:
        """Solve the model with a fixed seed."""
        from ortools.sat.python import cp_model

        solver = new_solver(seconds, threads)
        # Halves the time of most proofs, or more.
        solver.parameters.use_strong_propagation_in_disjunctive = True
        if not is_linear:
            solver.parameters.linearization_level = 0
        status = solve(solver, self._model)
        if status == cp_model.INFEASIBLE:
            return Outcome("impossible", None, self._shortest)
        bound = self._shortest
        if not isinstance(self._period, int) and status != cp_model.UNKNOWN:
            bound = max(bound, round(solver.best_objective_bound))
        if status == cp_model.UNKNOWN:
            return Outcome("unknown", None, bound)
        period = solver.value(self._period)
        starts = tuple(
            period * solver.value(stage) + solver.value(phase)
            for stage, phase in zip(self._stage, self._phase, strict=True)
        )
        return Outcome("found", without_delay(self._instance, SteadyState(period, starts)), bound)


def without_delay(instance: MicrobatchInstance, state: SteadyState) -> SteadyState:
    """Remove whole periods in which a micro-batch only waits.

    No device holds more for it if releases wait for their allocations: what is earlier than the
    rest of a part then has allocated at least as much as it has released.
    """
    blocks, dag = instance.layout.blocks, instance.layout.dag
    edges = dag.edge_pairs().tolist()
    part = list(range(len(blocks)))
    for u, v in edges:
        part = [part[u] if p == part[v] else p for p in part]
    starts = list(state.starts)
    for p in set(part):
        here = [i for i in range(len(blocks)) if part[i] == p]
        gaps = 0
        first = min(starts[i] for i in here) // state.period
        for stage in range(first, max(starts[i] for i in here) // state.period + 1):
            later = {i for i in here if starts[i] // state.period >= stage - gaps}
            spare = min(
                (
                    starts[v] - starts[u] - blocks[u].duration
                    for u, v in edges
                    if v in later and u in here and u not in later
                ),
                default=0,
            )
            earliest = min(starts[i] // state.period for i in later)
            periods = first if stage == first else min(spare // state.period, earliest)
            for i in later:
                starts[i] -= periods * state.period
            gaps += periods
    return SteadyState(state.period, tuple(starts))


def one_by_one(instance: MicrobatchInstance) -> SteadyState | None:
    """Return the steady state that runs one micro-batch at a time, None if memory is too tight.

    Of the blocks that are ready, those that allocate least come first.
    """
    layout = instance.layout
    blocks, dag = layout.blocks, layout.dag
    missing = np.bincount(dag.targets, minlength=len(blocks)).tolist()
    ready = {i for i, count in enumerate(missing) if count == 0}
    left = list(instance.capacity)
    order = []
    while ready:
        i = min(ready, key=lambda i: (blocks[i].memory, i))
        ready.remove(i)
        order.append(i)
        for device in blocks[i].devices:
            left[device] -= blocks[i].memory
            if left[device] < 0:
                return None
        for v in dag.consumers_of(i).tolist():
            missing[v] -= 1
            if missing[v] == 0:
                ready.add(v)
    rank = np.zeros((1, len(blocks)), dtype=np.int64)
    rank[0, order] = np.arange(len(blocks))
    starts = left_shifted(instance.layout, rank)
    return SteadyState(makespan(layout, starts), tuple(starts[0].tolist()))
