"""Placeto's policy: a graph network that names a device for one set at a time ([PLACETO19]).

Messages run along the edges and against them, a few rounds each; the embedding of the set in turn
and the sums over its ancestors, its descendants and all others are what devices are scored by.
Needs JAX.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.example_libraries import optimizers

from boundmark.heuristics.placement.learned.network import (
    Array,
    Parameters,
    added_up,
    initial_layers,
    perceptron,
)

NEVER = -1e9

# Rounds of messages in each direction, which is how far a set sees.
ROUNDS = 4


class PlacetoArrays(NamedTuple):
    """A graph with N sets and m edges, padded to P sets and Q edges.

    Attributes
    ----------
    costs
        What is known of each set for good, shape (P, F).
    is_edge
        1 for edges, 0 for padding, shape (Q,).
    edges
        Rows (source, target), shape (Q, 2).
    before, after, apart
        For each set 1 for its ancestors, for its descendants and for the others, shape (P, P).
    is_allowed
        Whether each device may have each set, shape (P, D).
    """

    costs: Array
    is_edge: Array
    edges: Array
    before: Array
    after: Array
    apart: Array
    is_allowed: Array


class Turns(NamedTuple):
    """Turns of an episode, T of them.

    Attributes
    ----------
    placement
        Device of each set before a turn, shape (T, P).
    turn
        The set whose turn it is, shape (T,).
    is_done
        1 for sets that have had their turn, shape (T, P).
    chosen
        The device that it goes to, shape (T,).
    weight
        Of the logarithm of the choice's probability, shape (T,).
    """

    placement: Array
    turn: Array
    is_done: Array
    chosen: Array
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
    means = [
        mask[turn] @ pooled / jnp.maximum(mask[turn].sum(), 1)
        for mask in (graph.before, graph.after, graph.apart)
    ]
    scores = perceptron(
        parameters, "place", jnp.concatenate([both[turn], *means]), ends_active=False
    )
    return jnp.where(graph.is_allowed[turn], scores, NEVER)


def loss(parameters: Parameters, graph: PlacetoArrays, turns: Turns) -> Array:
    """Return minus the weighted sum of the log probabilities of choices."""

    def one(placement: Array, turn: Array, is_done: Array, chosen: Array) -> Array:
        scores = logits_of(parameters, graph, placement, turn, is_done)
        return jax.nn.log_softmax(scores)[chosen]

    return -(jax.vmap(one)(*turns[:4]) * turns.weight).sum()


def _update(
    moments: Array, number: Array, graph: PlacetoArrays, turns: Turns, rate: Array
) -> Array:
    _, change, parameters_of = optimizers.adam(lambda _: rate)
    return change(number, jax.grad(loss)(parameters_of(moments), graph, turns), moments)


# Compiled once for each size of a graph.
score = jax.jit(logits_of)
update = jax.jit(_update)
