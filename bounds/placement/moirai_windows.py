"""`moirai-milp` for large graphs: coarsened first, then window by window.

The program of a whole model has more pairs of what may overlap than a solver gets through. So
operators are joined to chains first, in which each but the last has one consumer, unless a quick
schedule is worse then. That schedule is the start. Then windows go along the topological order, as
the schedule has it: devices and order of the chains inside are found by the program, while those
outside are where they are. What a window reads is there when the schedule has it, and what reads
from it takes as long to the end as in the schedule. A window's answer is kept if the whole schedule
gets shorter with it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from boundmark.bounds.best import Best
from boundmark.bounds.mip.solving import Search, Solve
from boundmark.bounds.placement.moirai_program import Columns, linear_model
from boundmark.bounds.placement.schedules import in_order, offer, quick_schedule
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.method import Budget
from boundmark.problems.placement import (
    UNSUPPORTED,
    PlacementGraph,
    PlacementInstance,
    PlacementSchedule,
)
from boundmark.problems.placement.feasibility import memory_held
from boundmark.problems.placement.fusion import CoarseGraph, FusionRules, coarsen


@dataclass(frozen=True)
class WindowSettings:
    """Settings of the windows.

    Attributes
    ----------
    longest_chain
        Most operators that are joined before the first window.
    operators
        Chains in a window; half of them are in the next one, too.
    seconds
        Time limit of a window's program.
    most_pairs
        Windows with more pairs of what may overlap are halved.
    """

    longest_chain: int = 8
    operators: int = 12
    seconds: float = 2.0
    most_pairs: int = 3_000


DEFAULTS = WindowSettings()


def joined_chains(instance: PlacementInstance, longest: int) -> CoarseGraph:
    """Return the graph with chains of up to `longest` operators as one, their times added up."""
    rules = FusionRules(tuple(("any",) * length for length in range(2, longest + 1)))
    plain = replace(instance.graph, op_types=("any",) * instance.nodes, fusing=None)
    return coarsen(plain, rules, instance.transfers)


def improve_by_windows(
    instance: PlacementInstance,
    best: Best,
    solve: Solve,
    budget: Budget,
    seed: int,
    settings: WindowSettings = DEFAULTS,
) -> None:
    """Offer schedules of the whole instance until no window gets better, or the time is up."""
    chains = joined_chains(instance, settings.longest_chain)
    small = PlacementInstance(chains.graph, instance.transfers)
    schedule = quick_schedule(small)
    if schedule is None or small.objective(schedule) > best.objective:
        # Chains cost too much here.
        chains = joined_chains(instance, 1)
        small = PlacementInstance(chains.graph, instance.transfers)
        schedule = quick_schedule(small)
    if schedule is None or budget.is_spent():
        return
    _offer_expanded(chains, schedule, instance, best)
    size, at, quiet = min(settings.operators, small.nodes), 0, 0
    # A whole pass without success ends it.
    while not budget.is_spent() and quiet * max(1, size // 2) < small.nodes + size:
        order = np.argsort(schedule.starts, kind="stable")
        inside = order[at : at + size]
        found = _best_window(small, schedule, inside, solve, budget, seed, settings)
        if found is None:
            quiet += 1
        else:
            schedule, quiet = found, 0
            _offer_expanded(chains, schedule, instance, best)
        at = 0 if at + size >= small.nodes else at + max(1, size // 2)


def _offer_expanded(
    chains: CoarseGraph, schedule: PlacementSchedule, instance: PlacementInstance, best: Best
) -> None:
    """Offer the schedule in which the operators of each chain are where the chain is."""
    starts = schedule.starts[chains.chain_of].tolist()
    devices = chains.expanded_devices(schedule.devices)
    offer(best, instance, in_order(instance, devices, dict(enumerate(map(float, starts))), {}))


def _best_window(
    small: PlacementInstance,
    schedule: PlacementSchedule,
    inside: IntArray,
    solve: Solve,
    budget: Budget,
    seed: int,
    settings: WindowSettings,
) -> PlacementSchedule | None:
    """Return a better schedule with another placement of a window, None if there is none."""
    makespan = small.objective(schedule)
    nodes, window = _window(small, schedule, inside)
    if window is None:
        return None
    ends = schedule.starts + small.graph.duration[np.arange(small.nodes), schedule.devices]
    outside = ~np.isin(nodes, inside)
    reads = np.zeros(len(nodes), dtype=bool)
    for readers in window.graph.consumers:
        reads[list(readers)] = True
    release = np.where(outside & ~reads, ends[nodes], 0)
    delivery = np.where(outside & reads, makespan - schedule.starts[nodes], 0)
    columns = Columns(window, makespan, release, delivery)
    if len(columns.before) + len(columns.move_before) > settings.most_pairs:
        if len(inside) < 4:
            return None
        half = inside[: len(inside) // 2]
        return _best_window(small, schedule, half, solve, budget, seed, settings)
    answers: list[tuple[IntArray, Sequence[float]]] = []

    def keep(values: np.ndarray) -> None:
        devices = [max(on, key=lambda d: float(values[on[d]])) for on in columns.on]
        answers.append((np.array(devices), [float(values[c]) for c in columns.start]))

    share = min(1.0, settings.seconds / max(budget.remaining(), 1e-9))
    solve(linear_model(columns), Search(budget.part(share), seed, on_incumbent=keep))
    slots = np.sort(schedule.starts[inside])
    for devices, about in reversed(answers):
        placed, starts = schedule.devices.copy(), schedule.starts.astype(float)
        is_inside = ~outside
        placed[nodes[is_inside]] = devices[is_inside]
        # The same times as before, in the order of the answer.
        turn = np.argsort(np.array(about)[is_inside], kind="stable")
        starts[nodes[is_inside][turn]] = slots
        if (memory_held(small.graph, placed) > small.graph.capacity).any():
            continue
        changed = in_order(small, placed, dict(enumerate(starts.tolist())), {})
        try:
            if small.objective(changed) < makespan:
                return changed
        except InvalidInputError:
            # No room for what is live.
            continue
    return None


def _window(
    small: PlacementInstance, schedule: PlacementSchedule, inside: IntArray
) -> tuple[IntArray, PlacementInstance | None]:
    """Return a window's operators with their neighbours, and their instance; None without room.

    Neighbours take no time and no memory, and are where they are.
    """
    graph = small.graph
    is_inside = np.zeros(graph.nodes, dtype=bool)
    is_inside[inside] = True
    tensors = [
        (tensor, producer, readers)
        for tensor, (producer, all_readers) in enumerate(
            zip(graph.producer.tolist(), graph.consumers, strict=True)
        )
        if (readers := all_readers if is_inside[producer] else
            tuple(reader for reader in all_readers if is_inside[reader]))
    ]  # fmt: skip
    nodes = np.unique([*inside.tolist(), *(v for _, u, row in tensors for v in (u, *row))])
    place = {v: at for at, v in enumerate(nodes.tolist())}
    own = is_inside[nodes]
    here = np.arange(graph.devices) == schedule.devices[nodes][:, None]
    duration = np.where(own[:, None], graph.duration[nodes], np.where(here, 0, UNSUPPORTED))
    held = memory_held(graph, schedule.devices)
    np.subtract.at(held, schedule.devices[inside], graph.memory[inside])
    try:
        window = PlacementGraph(
            duration=frozen(duration),
            memory=frozen(np.where(own, graph.memory[nodes], 0)),
            capacity=frozen(np.maximum(0, graph.capacity - held)),
            producer=frozen([place[u] for _, u, _ in tensors]),
            consumers=tuple(tuple(sorted(place[v] for v in row)) for _, _, row in tensors),
            size=graph.size[[tensor for tensor, _, _ in tensors]],
            times=graph.times,
            names=tuple(map(str, nodes.tolist())),
            device_names=graph.device_names,
        )
    except InvalidInputError:
        return nodes, None
    return nodes, PlacementInstance(window, small.transfers)
