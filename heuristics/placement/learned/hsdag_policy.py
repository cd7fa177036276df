"""The policy of HSDAG as functions of its parameters ([HSDAG24], Sections 2.4 and 2.5). Needs JAX.

`transformed` maps features to embeddings, `observed` is the encoder with the scores of edges, and
`judged` pools the groups that host code parses from the scores and scores devices for each.

Parsing has no gradient. The paper does not say how scores are trained then; here a node counts in
its group by the score of the edge that it keeps, so that the placement depends on scores smoothly.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from boundmark.heuristics.placement.learned.graphs import GraphArrays
from boundmark.heuristics.placement.learned.neural_layers import (
    NEVER,
    Array,
    Parameters,
    added_up,
    initial_layers,
    log_likelihood,
    perceptron,
    updating,
)


class Buffer(NamedTuple):
    """The x steps of a buffer, with all that the loss needs.

    Attributes
    ----------
    state
        Embeddings before the encoder, shape (x, P, hidden). The first is not read: it depends on
        parameters.
    kept
        The edge that each node keeps, -1 without one, shape (x, P).
    group_of
        Group of each node, shape (x, P).
    is_allowed
        Whether a group can be on a device, shape (x, P, D).
    chosen
        Device of each group, shape (x, P).
    is_group
        1 for groups, 0 behind the last one, shape (x, P).
    weight
        Of the logarithm of each step's probability, shape (x,).
    """

    state: Array
    kept: Array
    group_of: Array
    is_allowed: Array
    chosen: Array
    is_group: Array
    weight: Array


def initial_parameters(
    features: int, devices: int, hidden: int, generator: np.random.Generator
) -> Parameters:
    """Return initial parameters: two layers of each sort, as in Table 6."""
    return {
        **initial_layers("transform", (features, hidden, hidden), generator),
        **initial_layers("convolve", (hidden, hidden, hidden), generator),
        **initial_layers("score", (hidden, hidden, 1), generator),
        **initial_layers("place", (hidden, hidden, devices), generator),
    }


def transformed(parameters: Parameters, graph: GraphArrays) -> Array:
    """Return the embeddings of nodes before the encoder, shape (P, hidden)."""
    return perceptron(parameters, "transform", graph.features, ends_active=True)


def observed(parameters: Parameters, graph: GraphArrays, state: Array) -> tuple[Array, Array]:
    """Return embeddings Z, shape (P, hidden), and scores of edges, shape (Q,) (Equations 6, 7)."""
    rows = state
    for layer in ("0", "1"):
        rows = rows @ parameters[f"convolve.{layer}.weights"]
        moved = rows[graph.read] * graph.weight[:, None]
        rows = added_up(moved, graph.readers, len(graph.is_node))
        rows = jax.nn.relu(rows + parameters[f"convolve.{layer}.bias"])
    return rows, jax.nn.sigmoid(affinities(parameters, graph, rows))[:, 0]


def affinities(parameters: Parameters, graph: GraphArrays, embeddings: Array) -> Array:
    """Return the scores of edges before the sigmoid, shape (Q, 1)."""
    pairs = embeddings[graph.edges[:, 0]] * embeddings[graph.edges[:, 1]]
    return perceptron(parameters, "score", pairs, ends_active=False)


def judged(
    parameters: Parameters,
    graph: GraphArrays,
    embeddings: Array,
    scores: Array,
    kept: Array,
    group_of: Array,
    is_allowed: Array,
) -> tuple[Array, Array]:
    """Return logits of devices for each group, shape (P, D), and the next state, shape (P, hidden).

    The next state adds a group's embedding to each of its nodes' (Algorithm 1, line 10). A group's
    is the mean of its nodes' weighted embeddings, not their sum: twenty steps of sums overflow.
    """
    share = jnp.where(kept >= 0, scores[kept], 1.0) * graph.is_node
    count = len(graph.is_node)
    nodes = jnp.maximum(added_up(graph.is_node, group_of, count), 1)
    pooled = added_up(embeddings * share[:, None], group_of, count) / nodes[:, None]
    logits = perceptron(parameters, "place", pooled, ends_active=False)
    return jnp.where(is_allowed, logits, NEVER), embeddings + pooled[group_of]


def chained_loss(parameters: Parameters, graph: GraphArrays, buffer: Buffer) -> Array:
    """Return minus the weighted sum of log probabilities of steps in a chain (Equation 14)."""
    states = jnp.asarray(buffer.state).at[0].set(transformed(parameters, graph))

    def step(
        state: Array, kept: Array, group_of: Array, allowed: Array, chosen: Array, is_group: Array
    ) -> Array:
        embeddings, scores = observed(parameters, graph, state)
        logits, _ = judged(parameters, graph, embeddings, scores, kept, group_of, allowed)
        return log_likelihood(logits, chosen, is_group)

    logs = jax.vmap(step)(states, *buffer[1:6])
    return -(logs * buffer.weight).sum()


# Compiled once for each size of a graph.
transform = jax.jit(transformed)
observe = jax.jit(observed)
judge = jax.jit(judged)
chained_update = updating(chained_loss)
