"""Warm-up and cool-down around a repetend, as short as possible (papers/tessel, Section IV-C).

The repetend is one period of a steady state. On each device the warm-up ends before the repetend
begins, and the cool-down begins after it has ended, so that repetitions fit in between, and each
device holds between repetitions what it holds in the steady state.
"""

import itertools
from typing import Any

import numpy as np

from boundmark.bounds.microbatch.modulo.cp_sat import new_model, new_solver
from boundmark.bounds.microbatch.modulo.steady_state import SteadyState
from boundmark.problems.arrays import frozen
from boundmark.problems.microbatch import MicrobatchInstance, Repetend, Schedule
from boundmark.problems.microbatch.measures import makespan

# Beyond, the plain expansion of the steady state has to do.
MOST_BLOCKS = 4000


def completed(
    instance: MicrobatchInstance, state: SteadyState, seconds: float, threads: int
) -> Schedule:
    """Return a schedule with the steady state's repetend and the shortest makespan found.

    It is for as many micro-batches as the repetend has members of, at the least.
    """
    plain = state.schedule
    assert plain.repetend is not None
    members = plain.repetend.members.tolist()
    count, period = plain.micro_batches, state.period
    layout = instance.layout
    blocks = layout.blocks
    if seconds <= 0 or count * len(blocks) > MOST_BLOCKS:
        return plain
    model = new_model()
    from ortools.sat.python import cp_model

    horizon = makespan(layout, plain.starts)
    repetition = model.new_int_var(0, horizon, "repetition")
    phase = [start % period for start in state.starts]
    first = [repetition + o for o in phase]
    free = {
        (m, i): model.new_int_var(0, horizon, f"{i} of {m}")
        for m, i in itertools.product(range(count), range(len(blocks)))
        if m != members[i]
    }
    for (m, i), start in free.items():
        model.add_hint(start, int(plain.starts[m, i]))
        if (m + 1, i) in free:
            model.add(start + blocks[i].duration <= free[m + 1, i])
    dag = layout.dag
    for u, v in zip(dag.sources.tolist(), dag.targets.tolist(), strict=True):
        later: Any
        earlier: Any
        for m, r in itertools.product(range(count), range(count)):
            # Micro-batch m + r, if r more repetitions shift what comes after the repetend.
            if m < members[v] and r:
                continue
            later = first[v] if m == members[v] else free[m, v]
            if m + r < members[u]:
                earlier = free[m + r, u]
            elif m > members[u]:
                earlier = free[m, u] + r * period
            else:
                earlier = first[u] + (m + r - members[u]) * period
            model.add(earlier + blocks[u].duration <= later + r * period)
    for device, here in enumerate(layout.on_device):
        begins = min((phase[i] for i in here), default=0)
        ends = max((phase[i] + blocks[i].duration for i in here), default=0)
        between = sum(blocks[i].memory * members[i] for i in here)
        for before in (True, False):
            part = [
                (free[m, i], blocks[i])
                for m, i in itertools.product(range(count), here)
                if m != members[i] and (m < members[i]) == before
            ]
            if not part:
                continue
            model.add_no_overlap(
                model.new_fixed_size_interval_var(start, block.duration, "")
                for start, block in part
            )
            for start, block in part:
                if before:
                    model.add(start + block.duration <= repetition + begins)
                else:
                    model.add(start >= repetition + ends)
            changes: list[tuple[Any, int]] = [
                (start, block.memory) for start, block in part if block.memory
            ]
            if not before:
                changes.append((model.new_constant(0), between))
            if changes:
                times, amounts = zip(*changes, strict=True)
                model.add_reservoir_constraint(
                    times, amounts, -sum(map(abs, amounts)), instance.capacity[device]
                )
    length = model.new_int_var(0, horizon, "makespan")
    for repeated, block in zip(first, blocks, strict=True):
        model.add(repeated + block.duration <= length)
    for (_, i), start in free.items():
        model.add(start + blocks[i].duration <= length)
    model.minimize(length)
    solver = new_solver(seconds, threads)
    if solver.solve(model) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return plain
    starts = np.array([[solver.value(start) for start in first]] * count)
    for (m, i), start in free.items():
        starts[m, i] = solver.value(start)
    return Schedule(frozen(starts), Repetend(period, plain.repetend.members))
