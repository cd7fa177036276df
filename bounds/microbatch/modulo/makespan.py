"""Minimises the makespan of a given number of micro-batches, all blocks in one model."""

import itertools
from collections.abc import Callable

import numpy as np

from boundmark.bounds.cp_sat import new_model, new_solver, solve
from boundmark.problems.arrays import IntArray
from boundmark.problems.microbatch import MicrobatchInstance
from boundmark.problems.microbatch.earliest_starts import left_shifted

# Beyond, building the model takes seconds and its search gets nowhere.
MOST_BLOCKS = 1500


def minimise(
    instance: MicrobatchInstance,
    known: IntArray | None,
    bound: int,
    horizon: int,
    seconds: float,
    threads: int,
    on_starts: Callable[[IntArray], None],
    on_bound: Callable[[int], None],
) -> None:
    """Search for start times, shape (N, K), that end by the horizon; report improvements.

    Parameters
    ----------
    known
        Start times to begin at.
    bound
        No makespan is below this one.
    """
    model = new_model()
    from ortools.sat.python import cp_model

    layout = instance.layout
    blocks = layout.blocks
    jobs = list(itertools.product(range(instance.micro_batches), range(len(blocks))))
    start = {job: model.new_int_var(0, horizon, f"{job}") for job in jobs}
    length = model.new_int_var(bound, horizon, "makespan")
    for m, i in jobs:
        model.add(start[m, i] + blocks[i].duration <= length)
        # [TESSEL24], Property IV.1; a device runs one block at a time.
        if m:
            model.add(start[m - 1, i] + blocks[i].duration <= start[m, i])
        if known is not None:
            model.add_hint(start[m, i], int(known[m, i]))
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
    solver.best_bound_callback = lambda value: on_bound(round(value))
    status = solve(solver, model, Report())
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        on_bound(round(solver.best_objective_bound))
