"""`placement-cp`: placement and schedule by constraint programming (CP-SAT)."""

from typing import TYPE_CHECKING, Any

import numpy as np

from boundmark.bounds.best import Best
from boundmark.bounds.cp_sat import new_model, new_solver, solve
from boundmark.bounds.placement.schedules import (
    Move,
    first_uses,
    heads_and_tails,
    longest_schedule,
    offer,
    possible_moves,
    quick_schedule,
    relabelled,
)
from boundmark.problems.certificate import Claim
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementInstance, PlacementSchedule
from boundmark.problems.placement.feasibility import needed_transfers

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

    Values = cp_model.CpSolver | cp_model.CpSolverSolutionCallback


# Larger models take longer to build than to be of use.
MOST_INTERVALS = 400_000


def run(
    instance: PlacementInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report a quick schedule, then the solver's schedules, and claim its bound.

    Raises
    ------
    UnsupportedError
        If the model would be too large, or the operators do not fit into the memory.
    """
    graph = instance.graph
    pairs = sum(map(len, graph.consumers)) * graph.devices**2
    if pairs > MOST_INTERVALS:
        raise UnsupportedError(f"the model would have more than {MOST_INTERVALS:,} intervals.")
    best = Best(instance, progress)
    horizon = longest_schedule(graph)
    start = quick_schedule(instance)
    if start is not None:
        start = relabelled(instance, start)
        best.solution(start)
        horizon = int(best.objective)
    program = ConstraintProgram(instance, horizon)
    if start is not None:
        program.hint(start)
    from ortools.sat.python import cp_model

    class Report(cp_model.CpSolverSolutionCallback):
        def on_solution_callback(self) -> None:
            offer(best, instance, program.schedule(self))

    def on_bound(value: float) -> None:
        best.bound(Claim("placement-cp", float(round(value))))

    solver = new_solver(budget.remaining(), budget.threads)
    solver.parameters.random_seed = seed % 2**31
    solver.best_bound_callback = on_bound
    status = solve(solver, program.model, Report())
    if status == cp_model.INFEASIBLE:
        raise UnsupportedError("the operators do not fit into the devices' memory.")
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        on_bound(solver.best_objective_bound)


class ConstraintProgram:
    """The CP-SAT model: minimise the makespan.

    An operator has a start, an end, and an optional interval on each device that supports it and
    has room. A possible transfer has a start, an end, and an optional interval for each pair of
    devices; it is there if the devices of producer and consumers say so. Intervals of a device do
    not overlap, nor do those of its sender and of its receiver. What takes no time has none.

    Parameters
    ----------
    horizon
        No schedule is sought that takes longer.
    """

    def __init__(self, instance: PlacementInstance, horizon: int) -> None:
        self.instance = instance
        self.model = new_model()
        self.moves = possible_moves(instance)
        graph, model = instance.graph, self.model
        head, tail = heads_and_tails(graph)
        every = range(graph.devices)
        fits = graph.fits
        self.makespan = model.new_int_var(int((head + tail).max()), horizon, "makespan")
        self.start, self.end = [], []
        self.on = [
            {d: model.new_bool_var("") for d in np.flatnonzero(row).tolist()} for row in fits
        ]
        runs: list[list[cp_model.IntervalVar]] = [[] for _ in every]
        for v, ticks in enumerate(graph.duration.tolist()):
            self.start.append(model.new_int_var(int(head[v]), horizon, ""))
            self.end.append(model.new_int_var(int(head[v]), horizon - int(tail[v]), ""))
            model.add_exactly_one(self.on[v].values())
            for d, is_on in self.on[v].items():
                span = self.start[v], ticks[d], self.end[v]
                if ticks[d]:
                    runs[d].append(model.new_optional_interval_var(*span, is_on, ""))
                else:
                    model.add(self.start[v] == self.end[v]).only_enforce_if(is_on)
            model.add(self.end[v] <= self.makespan)
        for device in runs:
            model.add_no_overlap(device)
        for u, w in graph.dag.edge_pairs().tolist():
            model.add(self.end[u] <= self.start[w])
        self._add_moves(horizon)
        self._add_memory()
        for v, d, earlier, e in first_uses(graph):
            if d in self.on[v]:
                others = [self.on[u][e] for u in earlier if e in self.on[u]]
                model.add_bool_or([self.on[v][d].negated(), *others])
        model.minimize(self.makespan)

    def _add_moves(self, horizon: int) -> None:
        graph, model = self.instance.graph, self.model
        sends: list[list[cp_model.IntervalVar]] = [[] for _ in range(graph.devices)]
        receives: list[list[cp_model.IntervalVar]] = [[] for _ in range(graph.devices)]
        self.moved = {}
        for move in self.moves:
            begin = model.new_int_var(0, horizon, "")
            finish = model.new_int_var(0, horizon, "")
            self.moved[move.tensor, move.receiver] = begin
            model.add(self.end[move.producer] <= begin)
            for d, e, readers in self._pairs(move):
                ticks = int(graph.times[graph.size[move.tensor], d, e])
                is_moved = model.new_bool_var("")
                for reader in readers:
                    model.add_bool_or(
                        [
                            self.on[move.producer][d].negated(),
                            self.on[reader][e].negated(),
                            is_moved,
                        ]
                    )
                    model.add(finish <= self.start[reader]).only_enforce_if(
                        is_moved, self.on[reader][e]
                    )
                if ticks:
                    interval = model.new_optional_interval_var(begin, ticks, finish, is_moved, "")
                    sends[d].append(interval)
                    receives[e].append(interval)
                else:
                    model.add(begin == finish).only_enforce_if(is_moved)
        for port in (*sends, *receives):
            model.add_no_overlap(port)

    def _pairs(self, move: Move) -> list[tuple[int, int, list[int]]]:
        """Return a transfer's possible sources and targets, with the readers on each target."""
        found = []
        for d in self.on[move.producer]:
            for e in move.targets:
                readers = [reader for reader in move.readers if e in self.on[reader]]
                if d != e and readers:
                    found.append((d, e, readers))
        return found

    def _add_memory(self) -> None:
        graph = self.instance.graph
        total = int(graph.memory.sum())
        for d, capacity in enumerate(graph.capacity.tolist()):
            if capacity < total:
                held = [
                    int(needed) * on[d]
                    for needed, on in zip(graph.memory, self.on, strict=True)
                    if needed and d in on
                ]
                self.model.add(sum(held) <= capacity)

    def hint(self, schedule: PlacementSchedule) -> None:
        """Give the solver a schedule to start from."""
        for v, (d, start) in enumerate(
            zip(schedule.devices.tolist(), schedule.starts.tolist(), strict=True)
        ):
            self.model.add_hint(self.start[v], start)
            for device, is_on in self.on[v].items():
                self.model.add_hint(is_on, device == d)
        for tensor, receiver, start in schedule.transfers.tolist():
            self.model.add_hint(self.moved[tensor, receiver], start)

    def schedule(self, values: "Values") -> PlacementSchedule:
        """Return the schedule encoded by the variables."""
        devices = np.array(
            [next(d for d, is_on in on.items() if values.value(is_on)) for on in self.on]
        )
        starts = np.array([values.value(start) for start in self.start])
        needed = sorted(needed_transfers(self.instance.graph, devices, self.instance.transfers))
        rows = [(*key, values.value(self.moved[key])) for key in needed]
        return PlacementSchedule(devices, starts, np.array(rows, np.int64).reshape(-1, 3))
