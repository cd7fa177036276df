"""`placeto`: a graph network moves one set of operators at a time ([PLACETO19]).

An episode begins with a random placement and gives every co-location set a turn. Each turn is an
evaluation, and its reward is how much the latency falls; REINFORCE with a moving average for each
turn trains the network after every episode. Sizes and rates are ours.

Messages run along the edges and against them, a few rounds each; the embedding of the set in turn
and the means over its ancestors, its descendants and all others give the scores of the devices.
Needs JAX.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from boundmark.heuristics.placement.learned.graphs import (
    ColocatedGraph,
    FloatTable,
    colocated,
    padded,
)
from boundmark.heuristics.placement.learned.learning import (
    Evaluations,
    MovingAverage,
    allowed_devices,
    drawn,
)
from boundmark.heuristics.placement.learned.neural_layers import (
    NEVER,
    Array,
    Parameters,
    adam_state,
    added_up,
    initial_layers,
    parameters_of,
    perceptron,
    updating,
)
from boundmark.problems.placement import PlacementInstance

# Rounds of messages in each direction: the distance from which a set gets messages.
ROUNDS = 4

# Factor by which a reward counts less with each turn that lies between.
DISCOUNT = 0.97

# Turns times sets up to which an episode's gradient is taken in one go, with about 1.5 GiB of
# memory, and those of a part where there are more: smaller parts are also faster (notes).
MOST_AT_ONCE = 2**18
PART = 2**14

# Latency that counts for a placement without room, in units of the last one with room.
NO_ROOM = 2.0


class PlacetoArrays(NamedTuple):
    """A graph with N sets and m edges, padded to P sets and Q edges."""

    # Logarithms of ticks, see `set_costs`, shape (P, F).
    costs: Array
    # 1 for edges, 0 for padding, shape (Q,).
    is_edge: Array
    # Rows (source, target), shape (Q, 2).
    edges: Array
    # 1 for sets, 0 for padding, shape (P,).
    is_set: Array
    # For each set 1 for its descendants, shape (P, P).
    after: Array
    # Whether each device may have each set, shape (P, D).
    is_allowed: Array


class Turns(NamedTuple):
    """Turns of an episode, T of them."""

    # Device of each set before a turn, shape (T, P).
    placement: Array
    # The set whose turn it is, shape (T,).
    turn: Array
    # 1 for sets that have had their turn, shape (T, P).
    is_done: Array
    # The device that it goes to, shape (T,).
    chosen: Array
    # Weight of the logarithm of the choice's probability, shape (T,).
    weight: Array


def initial_parameters(
    costs: int, devices: int, hidden: int, generator: np.random.Generator
) -> Parameters:
    """Return the parameters."""
    found = initial_layers("embed", (costs + devices + 2, hidden, hidden), generator)
    for way in ("down", "up"):
        found |= initial_layers(f"{way}.send", (hidden, hidden), generator)
        found |= initial_layers(f"{way}.take", (hidden, hidden), generator)
    found |= initial_layers("pool", (2 * hidden, hidden), generator)
    return found | initial_layers("place", (5 * hidden, hidden, devices), generator)


def logits_of(
    parameters: Parameters, graph: PlacetoArrays, placement: Array, turn: Array, is_done: Array
) -> Array:
    """Return the logits of devices for the set whose turn it is, shape (D,)."""
    count, devices = graph.is_allowed.shape
    is_turn = (jnp.arange(count) == turn).astype(jnp.float32)
    known = [graph.costs, jax.nn.one_hot(placement, devices), is_turn[:, None], is_done[:, None]]
    own = perceptron(parameters, "embed", jnp.concatenate(known, axis=1), ends_active=True)
    seen = []
    for way, (giver, taker) in (("down", (0, 1)), ("up", (1, 0))):
        rows = own
        for _ in range(ROUNDS):
            sent = perceptron(parameters, f"{way}.send", rows, ends_active=True)
            moved = sent[graph.edges[:, giver]] * graph.is_edge[:, None]
            sums = added_up(moved, graph.edges[:, taker], count)
            rows = perceptron(parameters, f"{way}.take", sums, ends_active=True) + own
        seen.append(rows)
    both = jnp.concatenate(seen, axis=1)
    pooled = perceptron(parameters, "pool", both, ends_active=True)
    before, after = graph.after[:, turn], graph.after[turn]
    apart = graph.is_set - after - before - is_turn
    means = [mask @ pooled / jnp.maximum(mask.sum(), 1) for mask in (before, after, apart)]
    scores = perceptron(
        parameters, "place", jnp.concatenate([both[turn], *means]), ends_active=False
    )
    return jnp.where(graph.is_allowed[turn], scores, NEVER)


def loss(parameters: Parameters, graph: PlacetoArrays, turns: Turns) -> Array:
    """Return minus the weighted sum of the log probabilities of choices.

    Where an episode has too many turns for the memory, they are taken in parts whose embeddings are
    computed again for the gradient.
    """

    def one(turn: tuple[Array, ...]) -> Array:
        placement, index, is_done, chosen = turn
        scores = logits_of(parameters, graph, placement, index, is_done)
        return jax.nn.log_softmax(scores)[chosen]

    count, high = turns.placement.shape
    if count * high <= MOST_AT_ONCE:
        choices = jax.vmap(one)(turns[:4])
    else:
        choices = jax.lax.map(jax.checkpoint(one), turns[:4], batch_size=max(1, PART // high))
    return -(choices * turns.weight).sum()


# Compiled once for each size of a graph.
score = jax.jit(logits_of)
update = updating(loss)


def set_costs(instance: PlacementInstance, sets: ColocatedGraph) -> FloatTable:
    """Return the logarithms of the ticks of sets on each device, shape (N, D + 1).

    The last column has the longest time that a set's output takes between any two devices.

    A device that does not support one of its operators counts with 0 ticks; the policy cannot
    choose it.
    """
    graph = instance.graph
    ticks = np.zeros((sets.nodes, graph.devices + 1))
    np.add.at(ticks[:, :-1], sets.set_of, np.maximum(graph.duration, 0))
    longest = graph.times.max(axis=(1, 2), initial=0)
    np.maximum.at(ticks[:, -1], sets.set_of[graph.producer], longest[graph.size])
    return np.log1p(ticks).astype(np.float32)


def placeto_arrays(instance: PlacementInstance, sets: ColocatedGraph) -> PlacetoArrays:
    """Return the arrays of a graph of co-location sets as the policy reads them."""
    nodes, count, devices = sets.nodes, sets.dag.edges, instance.graph.devices
    high, wide = padded(nodes), padded(count)
    costs = np.zeros((high, devices + 1), dtype=np.float32)
    costs[:nodes] = set_costs(instance, sets)
    edges = np.zeros((wide, 2), dtype=np.int64)
    edges[:count] = sets.dag.edge_pairs()
    after = np.zeros((high, high), dtype=np.float32)
    after[:nodes, :nodes] = descendants(sets)
    is_set = (np.arange(high) < nodes).astype(np.float32)
    allowed = np.ones((high, devices), dtype=bool)
    allowed[:nodes] = allowed_devices(instance.graph.is_supported, sets.set_of, nodes)
    is_edge = (np.arange(wide) < count).astype(np.float32)
    return PlacetoArrays(
        costs=costs,
        is_edge=is_edge,
        edges=edges,
        is_set=is_set,
        after=after,
        is_allowed=allowed,
    )


def descendants(sets: ColocatedGraph) -> np.ndarray:
    """Return 1 where the column's set can be reached from the row's, shape (N, N)."""
    reached = np.zeros((sets.nodes, sets.nodes), dtype=np.int8)
    for node in sets.dag.topological_order[::-1].tolist():
        for consumer in sets.dag.consumers_of(node).tolist():
            reached[node] |= reached[consumer]
            reached[node, consumer] = 1
    return reached


def train(
    instance: PlacementInstance,
    evaluations: Evaluations,
    generator: np.random.Generator,
    hidden: int,
    learning_rate: float,
) -> None:
    """Run episodes and learn from each, until the evaluations or the time are used up."""
    sets = colocated(instance.graph.dag)
    # Once, instead of with every turn: the mask of a large graph has hundreds of megabytes.
    graph = jax.device_put(placeto_arrays(instance, sets))
    devices = instance.graph.devices
    parameters = initial_parameters(devices + 1, devices, hidden, generator)
    moments, number, average = adam_state(parameters), 0, MovingAverage()
    while evaluations.left:
        turns, rewards = episode(sets, graph, parameters_of(moments), evaluations, generator)
        if turns is None:
            return
        returns = discounted_sums(rewards)
        weight = np.zeros(len(turns.weight), dtype=np.float32)
        weight[: sets.nodes] = average.differences(returns, returns)
        moments = update(moments, number, learning_rate, graph, turns._replace(weight=weight))
        number += 1


def episode(
    sets: ColocatedGraph,
    graph: PlacetoArrays,
    parameters: Parameters,
    evaluations: Evaluations,
    generator: np.random.Generator,
) -> tuple[Turns | None, list[float]]:
    """Move every set in turn, in topological order; return the turns and their rewards.

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
        logits = np.asarray(score(parameters, graph, placement, turn, is_done))
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
    turns = Turns(
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
