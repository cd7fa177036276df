"""`moirai-milp`: placement and schedule as one mixed-integer program ([MOIRAI24]).

It is the published one, but for this: each big-M is the least that windows of the operators allow,
which follow from the longest paths and a known makespan; pairs whose order is clear by paths or
windows have no rows; z, which says whether a tensor is moved, is written as the sum of u, which
says from where to where, and so are the differences of x in the rows of congestion control; with
transfers per tensor, there is one for all consumers on a device; what takes no time excludes
nothing; and devices that are alike are used in the order of their numbers.

Graphs that are too large for one program are treated window by window: the program of a whole model
has more pairs of what may overlap than a solver gets through. So operators are joined to chains
first, in which each but the last has one consumer, unless a quick schedule is worse then. That
schedule is the start. Then windows go along the topological order, as the schedule has it: devices
and order of the chains inside are found by the program, while those outside are where they are.
What a window reads is there when the schedule has it, and what reads from it takes as long to the
end as in the schedule. A window's answer is kept if the whole schedule gets shorter with it.

A solver whose licence does not cover the program of the whole graph gets windows, and smaller ones
from there on if it does not cover those.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from boundmark.bounds.best import Best
from boundmark.bounds.mip import SOLVERS, most_columns
from boundmark.bounds.mip.solving import (
    ModelTooLargeError,
    Search,
    Solve,
    claim_up_to_best,
    rounded_up,
)
from boundmark.bounds.placement.moirai_program import Columns, linear_model, relabelled
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.errors import InvalidInputError, UnsupportedError, find
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import (
    UNSUPPORTED,
    PlacementGraph,
    PlacementInstance,
    PlacementSchedule,
)
from boundmark.problems.placement.feasibility import has_room_while_running, memory_held
from boundmark.problems.placement.fusion import CoarseGraph, FusionRules, coarsen
from boundmark.problems.placement.simulation import in_order

# A program of more pairs than this does not get beyond its first relaxation in minutes.
MOST_PAIRS = 40_000

# Most operators that are joined before the first window.
LONGEST_CHAIN = 8

# Chains in a window; half of them are in the next one, too.
WINDOW_OPERATORS = 12

# Time limit of a window's program.
WINDOW_SECONDS = 2.0

# Windows with more pairs of what may overlap are halved.
MOST_WINDOW_PAIRS = 3_000

# Windows of fewer chains are not halved: they have little to choose.
LEAST_WINDOW = 4

# Number of random placements tried where memory is short.
TRIALS = 1000


def run(
    instance: PlacementInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    *,
    solver: str,
    whole: bool,
) -> None:
    """Report a quick schedule, then the solver's schedules, and claim its bound.

    Where the program would be too large, there are programs for windows, and no claim.

    Parameters
    ----------
    whole
        Whether there is one program of the whole graph, however large.
    """
    solve = find("solver", solver, SOLVERS)
    best = Best(instance, progress)
    horizon = longest_schedule(instance.graph)
    start = quick_schedule(instance)
    if start is not None:
        start = relabelled(instance, start)
        best.solution(start)
        horizon = int(best.objective)
    if budget.is_spent():
        return
    columns = Columns(instance, horizon) if whole else _of_whole(instance, horizon, solver)
    if columns is None:
        _use_windows(instance, best, solve, budget, seed)
        return
    model = linear_model(columns)
    if budget.is_spent():
        return

    def on_bound(ticks: float) -> None:
        # Makespans are integers.
        claim_up_to_best("moirai-milp", best, rounded_up(ticks))

    search = Search(
        budget,
        seed,
        start=None if start is None else columns.values(start),
        on_incumbent=lambda values: offer(best, instance, columns.schedule(values)),
        on_bound=on_bound,
    )
    try:
        outcome = solve(model, search)
    except ModelTooLargeError:
        if whole:
            raise
        _use_windows(instance, best, solve, budget, seed)
        return
    if outcome.bound == float("inf") and start is None and best.objective == float("inf"):
        raise UnsupportedError("the operators do not fit into the devices' memory.")
    on_bound(outcome.bound)


def offer(best: Best, instance: PlacementInstance, schedule: PlacementSchedule) -> None:
    """Report a schedule if devices have room for live tensors, which the program ignores."""
    if has_room_while_running(instance.graph, schedule, instance.transfers):
        best.solution(schedule)


def longest_schedule(graph: PlacementGraph) -> int:
    """Return an upper bound on the makespan: nothing overlaps, on the slowest devices."""
    longest = graph.times.max(axis=(1, 2), initial=0)[graph.size]
    readers = np.array([len(row) for row in graph.consumers], dtype=np.int64)
    return int(graph.duration.max(axis=1).sum() + (longest * readers).sum())


def _of_whole(instance: PlacementInstance, horizon: int, solver: str) -> Columns | None:
    """Return the columns of the program of the whole graph; None if it would be too large."""
    if instance.nodes**2 > 4 * MOST_PAIRS:
        return None
    columns = Columns(instance, horizon)
    pairs = len(columns.before) + len(columns.move_before)
    return None if pairs > MOST_PAIRS or columns.count > most_columns(solver) else columns


def _use_windows(
    instance: PlacementInstance, best: Best, solve: Solve, budget: Budget, seed: int
) -> None:
    improve_by_windows(instance, best, solve, budget, seed)
    if best.objective == float("inf"):
        raise UnsupportedError("no placement was found for which the devices have room.")


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
) -> None:
    """Offer schedules of the whole instance until no window gets better, or the time is up."""
    chains = joined_chains(instance, LONGEST_CHAIN)
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
    size, at, quiet = min(WINDOW_OPERATORS, small.nodes), 0, 0
    # A whole pass without success ends it.
    while not budget.is_spent() and quiet * max(1, size // 2) < small.nodes + size:
        order = np.argsort(schedule.starts, kind="stable")
        inside = order[at : at + size]
        try:
            found = _best_window(small, schedule, inside, solve, budget, seed)
        except ModelTooLargeError:
            if size < LEAST_WINDOW:
                raise
            size //= 2
            continue
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
    offer(best, instance, in_order(instance, devices, starts))


def _best_window(
    small: PlacementInstance,
    schedule: PlacementSchedule,
    inside: IntArray,
    solve: Solve,
    budget: Budget,
    seed: int,
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
    if len(columns.before) + len(columns.move_before) > MOST_WINDOW_PAIRS:
        if len(inside) < LEAST_WINDOW:
            return None
        half = inside[: len(inside) // 2]
        return _best_window(small, schedule, half, solve, budget, seed)
    answers: list[tuple[IntArray, Sequence[float]]] = []

    def keep(values: np.ndarray) -> None:
        devices = [max(on, key=lambda d: float(values[on[d]])) for on in columns.on]
        answers.append((np.array(devices), [float(values[c]) for c in columns.start]))

    share = min(1.0, WINDOW_SECONDS / max(budget.remaining(), 1e-9))
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
        changed = in_order(small, placed, starts.tolist())
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


def quick_schedule(instance: PlacementInstance) -> PlacementSchedule | None:
    """Return the best of a few quick schedules; None if memory is too short for all.

    On each single device; and each operator where it ends first, ports left aside, where operators
    come by longest paths of their best durations. Without any, devices are filled one after
    another; without room there, all are on random devices with room.
    """
    graph = instance.graph
    turns = np.argsort(graph.dag.topological_order).tolist()
    fits = graph.is_supported.all(axis=0) & (graph.memory.sum() <= graph.capacity)
    alone = [np.full(graph.nodes, device) for device in np.flatnonzero(fits).tolist()]
    found = [
        schedule
        for schedule in (_earliest_ends(instance), *(in_order(instance, d, turns) for d in alone))
        if schedule and has_room_while_running(graph, schedule, instance.transfers)
    ]
    if found:
        return min(found, key=instance.objective)
    for devices in chain(_in_segments(graph), _somewhere(graph)):
        schedule = in_order(instance, devices, turns)
        if has_room_while_running(graph, schedule, instance.transfers):
            return schedule
    return None


def _earliest_ends(instance: PlacementInstance) -> PlacementSchedule | None:
    """Place each operator where it ends first; return None if one finds no room."""
    graph = instance.graph
    best = np.where(graph.is_supported, graph.duration, graph.duration.max() + 1).min(axis=1)
    tail = best.copy()
    order = graph.dag.topological_order.tolist()
    for v in reversed(order):
        tail[v] += max((int(tail[w]) for w in graph.dag.consumers_of(v).tolist()), default=0)
    inputs: list[list[int]] = [[] for _ in range(graph.nodes)]
    for tensor, readers in enumerate(graph.consumers):
        for reader in readers:
            inputs[reader].append(tensor)
    devices, ends = np.full((2, graph.nodes), -1, dtype=np.int64)
    free, left = np.zeros(graph.devices, dtype=np.int64), graph.capacity.copy()
    starts = [0] * graph.nodes
    for v in sorted(order, key=lambda v: -int(tail[v])):
        there = free.copy()
        if inputs[v]:
            sources = graph.producer[inputs[v]]
            arrival = ends[sources][:, None] + graph.times[graph.size[inputs[v]], devices[sources]]
            there = np.maximum(there, arrival.max(axis=0))
        fits = graph.is_supported[v] & (graph.memory[v] <= left)
        if not fits.any():
            return None
        finish = np.where(fits, there + graph.duration[v], np.iinfo(np.int64).max)
        d = int(finish.argmin())
        devices[v], ends[v], starts[v] = d, finish[d], int(there[d])
        free[d] = finish[d]
        left[d] -= graph.memory[v]
    return in_order(instance, devices, starts)


def _in_segments(graph: PlacementGraph) -> Iterator[IntArray]:
    """Fill one device after another in topological order; keep more and more free for tensors."""
    order = graph.dag.topological_order.tolist()
    total = np.where(graph.is_supported, graph.duration, graph.duration.max()).sum(axis=0)
    sequence = np.argsort(total, kind="stable").tolist()
    largest = int((graph.needed - graph.memory).max())
    for reserve in dict.fromkeys((0, largest, 2 * largest, 4 * largest)):
        left = (graph.capacity - reserve).tolist()
        devices = np.full(graph.nodes, -1, dtype=np.int64)
        at = 0
        for v in order:
            needed = int(graph.memory[v])
            while at < len(sequence) and (
                needed > left[sequence[at]] or not graph.is_supported[v, sequence[at]]
            ):
                at += 1
            if at == len(sequence):
                break
            devices[v] = sequence[at]
            left[sequence[at]] -= needed
        else:
            yield devices


def _somewhere(graph: PlacementGraph) -> Iterator[IntArray]:
    """Yield random placements that fit into the memory."""
    random = np.random.default_rng(1)
    for _ in range(TRIALS):
        left = graph.capacity.copy()
        devices = np.full(graph.nodes, -1, dtype=np.int64)
        # Largest first, roughly.
        for v in np.argsort(-graph.memory * random.uniform(0.7, 1.3, graph.nodes)).tolist():
            fits = np.flatnonzero(graph.is_supported[v] & (graph.memory[v] <= left))
            if not len(fits):
                break
            devices[v] = random.choice(fits)
            left[devices[v]] -= graph.memory[v]
        else:
            yield devices
