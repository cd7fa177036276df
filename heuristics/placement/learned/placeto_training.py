"""Placeto's training: a device for one set after another, with incremental rewards. Needs JAX."""

import numpy as np

from boundmark.heuristics.placement.learned import placeto_policy as policy
from boundmark.heuristics.placement.learned.baseline import MovingBaseline
from boundmark.heuristics.placement.learned.choosing import drawn
from boundmark.heuristics.placement.learned.colocation import ColocatedGraph, colocated
from boundmark.heuristics.placement.learned.evaluations import Evaluations
from boundmark.heuristics.placement.learned.hsdag_policy import adam_state, parameters_of
from boundmark.heuristics.placement.learned.network import Parameters
from boundmark.heuristics.placement.learned.placeto_arrays import placeto_arrays
from boundmark.problems.placement import PlacementInstance

# Of rewards that come later.
DISCOUNT = 0.97

# Of a placement without room, in units of the last one with room.
NO_ROOM = 2.0


def train(
    instance: PlacementInstance,
    evaluations: Evaluations,
    generator: np.random.Generator,
    hidden: int,
    learning_rate: float,
) -> None:
    """Run episodes and learn from each, until the evaluations or the time are used up."""
    sets = colocated(instance.graph.dag)
    graph = policy.PlacetoArrays(**placeto_arrays(instance, sets))
    devices = instance.graph.devices
    parameters = policy.initial_parameters(devices + 1, devices, hidden, generator)
    moments, number, baseline = adam_state(parameters), 0, MovingBaseline()
    while evaluations.left:
        turns, rewards = episode(sets, graph, parameters_of(moments), evaluations, generator)
        if turns is None:
            return
        returns = discounted_sums(rewards)
        weight = np.zeros(len(turns.weight), dtype=np.float32)
        weight[: sets.nodes] = baseline.differences(returns, returns)
        moments = policy.update(
            moments, number, graph, turns._replace(weight=weight), learning_rate
        )
        number += 1


def episode(
    sets: ColocatedGraph,
    graph: policy.PlacetoArrays,
    parameters: Parameters,
    evaluations: Evaluations,
    generator: np.random.Generator,
) -> tuple[policy.Turns | None, list[float]]:
    """Give every set its turn, in topological order, and return the turns and their rewards.

    The first placement is drawn at random. A reward is how much less the latency is than before the
    turn, in units of the first one's. Without evaluations left there are no turns.
    """
    high = len(graph.costs)
    allowed = np.asarray(graph.is_allowed)
    placement = np.where(allowed, generator.random(allowed.shape), -1.0).argmax(axis=1)
    is_done = np.zeros(high, dtype=np.float32)
    before = first = evaluations.latency(placement[: sets.nodes][sets.set_of])
    placements, done, chosen, rewards = [], [], [], []
    for turn in range(sets.nodes):
        if not evaluations.left:
            return None, []
        logits = np.asarray(policy.score(parameters, graph, placement, turn, is_done))
        device = int(drawn(logits, generator))
        placements.append(placement.copy())
        done.append(is_done.copy())
        chosen.append(device)
        placement[turn] = device
        is_done[turn] = 1
        latency = evaluations.latency(placement[: sets.nodes][sets.set_of])
        rewards.append(_gain(before, latency, first))
        before = latency if np.isfinite(latency) else before
    rest = high - sets.nodes
    turns = policy.Turns(
        np.concatenate([placements, np.zeros((rest, high), dtype=np.int64)]),
        np.concatenate([np.arange(sets.nodes), np.zeros(rest, dtype=np.int64)]),
        np.concatenate([done, np.zeros((rest, high), dtype=np.float32)]),
        np.concatenate([chosen, np.zeros(rest, dtype=np.int64)]),
        np.zeros(high, dtype=np.float32),
    )
    return turns, rewards


def _gain(before: float, after: float, unit: float) -> float:
    if not np.isfinite(before) or not np.isfinite(unit):
        return 0.0
    after = after if np.isfinite(after) else NO_ROOM * before
    return (before - after) / max(unit, 1.0)


def discounted_sums(rewards: list[float]) -> np.ndarray:
    """Return for each turn the discounted sum of its reward and all later ones."""
    sums, total = [], 0.0
    for reward in reversed(rewards):
        total = reward + DISCOUNT * total
        sums.append(total)
    return np.array(sums[::-1])
