"""`rnn-seq2seq`: a sequence-to-sequence model names devices ([MIRHOSEINI17]).

Operators are co-located and described as for `hsdag`, with logarithms of shapes. The network, an
LSTM encoder and a decoder with attention, is trained by REINFORCE with a moving average of rewards
and the square root of latency as cost. Sizes and rates that the paper chose for clusters of workers
are ours.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from boundmark.heuristics.placement.learned.graphs import (
    FeatureChoice,
    GraphArrays,
    colocated,
    feature_matrix,
    graph_arrays,
    layout_of,
)
from boundmark.heuristics.placement.learned.learning import (
    Evaluations,
    MovingAverage,
    allowed_devices,
)
from boundmark.heuristics.placement.learned.neural_layers import (
    NEVER,
    Array,
    Parameters,
    adam_state,
    dense,
    initial_layers,
    parameters_of,
    updating,
)
from boundmark.problems.placement import PlacementInstance

# Latency that counts for a placement without room, in units of the worst one so far.
NO_ROOM = 2.0


class Placements(NamedTuple):
    """Placements that were drawn, and their weights in the loss."""

    # Device of each set, shape (b, P).
    chosen: Array
    # Shape (b,).
    weight: Array


def initial_parameters(
    features: int, devices: int, hidden: int, generator: np.random.Generator
) -> Parameters:
    """Return parameters; LSTMs have one layer."""
    return {
        **initial_layers("read", (features, hidden), generator),
        **initial_layers("encode", (2 * hidden, 4 * hidden), generator),
        **initial_layers("decode", (4 * hidden, 4 * hidden), generator),
        **initial_layers("key", (hidden, hidden), generator),
        **initial_layers("query", (hidden, hidden), generator),
        **initial_layers("attend", (hidden, 1), generator),
        # One embedding for each device, and one for none yet.
        **initial_layers("named", (devices + 1, hidden), generator),
        **initial_layers("place", (2 * hidden, devices), generator),
    }


def encoded(parameters: Parameters, graph: GraphArrays) -> Array:
    """Return the encoder's state after each set, shape (P, hidden)."""
    rows = jax.nn.relu(dense(parameters, "read.0", graph.features))
    nothing = jnp.zeros(rows.shape[1])

    def step(carry: tuple[Array, Array], row: Array) -> tuple[tuple[Array, Array], Array]:
        following = _lstm(parameters, "encode.0", carry, row)
        return following, following[0]

    return jax.lax.scan(step, (nothing, nothing), rows)[1]


def decoded(
    parameters: Parameters,
    graph: GraphArrays,
    states: Array,
    is_allowed: Array,
    noise: Array,
    given: Array,
) -> tuple[Array, Array]:
    """Return the devices of sets and the logarithm of their probability, shapes (P,) and ().

    States are the encoder's, shape (P, hidden); `is_allowed` says which device may have which set,
    and Gumbel noise draws devices, both of shape (P, D). Of those given, shape (P,), -1 stands for
    one to be drawn.
    """
    keys = dense(parameters, "key.0", states)
    devices = is_allowed.shape[1]
    embeddings = parameters["named.0.weights"]
    # Where the last set is; padding comes behind it.
    last = states[graph.is_node.sum().astype(int) - 1]

    def step(
        carry: tuple[Array, Array, Array], row: tuple[Array, Array, Array, Array]
    ) -> tuple[tuple[Array, Array, Array], tuple[Array, Array]]:
        short, long, named = carry
        own, allowed, noisy, fixed = row
        query = dense(parameters, "query.0", short)
        fit = dense(parameters, "attend.0", jnp.tanh(keys + query))[:, 0]
        share = jax.nn.softmax(jnp.where(graph.is_node > 0, fit, NEVER))
        context = share @ states
        read = jnp.concatenate([embeddings[named], context, own])
        short, long = _lstm(parameters, "decode.0", (short, long), read)
        logits = dense(parameters, "place.0", jnp.concatenate([short, context]))
        logits = jnp.where(allowed, logits, NEVER)
        choice = jnp.where(fixed >= 0, fixed, (logits + noisy).argmax())
        return (short, long, choice), (choice, jax.nn.log_softmax(logits)[choice])

    start = (last, jnp.zeros_like(last), jnp.array(devices))
    rows = (states, is_allowed, noise, given)
    _, (chosen, logs) = jax.lax.scan(step, start, rows)
    return chosen, (logs * graph.is_node).sum()


def _lstm(
    parameters: Parameters, name: str, carry: tuple[Array, Array], row: Array
) -> tuple[Array, Array]:
    """Return the next hidden state and the next cell state of an LSTM."""
    short, long = carry
    gates = dense(parameters, name, jnp.concatenate([row, short]))
    enter, forget, leave, fresh = jnp.split(gates, 4)
    # The forget gate is open at first.
    long = jax.nn.sigmoid(forget + 1) * long + jax.nn.sigmoid(enter) * jnp.tanh(fresh)
    return jax.nn.sigmoid(leave) * jnp.tanh(long), long


def _draw(parameters: Parameters, graph: GraphArrays, is_allowed: Array, noise: Array) -> Array:
    states = encoded(parameters, graph)
    free = jnp.full(len(graph.is_node), -1)

    def one(noisy: Array) -> Array:
        return decoded(parameters, graph, states, is_allowed, noisy, free)[0]

    return jax.vmap(one)(noise)


def loss(parameters: Parameters, graph: GraphArrays, is_allowed: Array, batch: Placements) -> Array:
    """Return minus the weighted mean of the log probabilities of placements."""
    states = encoded(parameters, graph)
    quiet = jnp.zeros(is_allowed.shape)

    def one(chosen: Array) -> Array:
        return decoded(parameters, graph, states, is_allowed, quiet, chosen)[1]

    return -(jax.vmap(one)(batch.chosen) * batch.weight).mean()


# Compiled once for each size of a graph.
draw = jax.jit(_draw)
update = updating(loss)


def train(
    instance: PlacementInstance,
    evaluations: Evaluations,
    generator: np.random.Generator,
    steps: int,
    hidden: int,
    learning_rate: float,
) -> None:
    """Place batches and learn from each, until the evaluations or the time are used up.

    The reward is minus the square root of latency, as in the paper, less a moving average.
    """
    sets = colocated(instance.graph.dag)
    layout = layout_of(instance.graph, sets, FeatureChoice(), raw_shapes=False)
    graph = graph_arrays(sets, feature_matrix(layout, instance.graph, sets))
    devices, high = instance.graph.devices, len(graph.is_node)
    allowed = np.ones((high, devices), dtype=bool)
    allowed[: sets.nodes] = allowed_devices(instance.graph.is_supported, sets.set_of, sets.nodes)
    width = graph.features.shape[1]
    moments = adam_state(initial_parameters(width, devices, hidden, generator))
    average, worst, number = MovingAverage(), 0.0, 0
    while evaluations.left:
        noise = generator.gumbel(size=(steps, high, devices)).astype(np.float32)
        chosen = np.asarray(draw(parameters_of(moments), graph, allowed, noise))
        latencies = []
        for row in chosen:
            if not evaluations.left:
                return
            latencies.append(evaluations.latency(row[: sets.nodes][sets.set_of]))
        finite = [latency for latency in latencies if np.isfinite(latency)]
        worst = max([worst, *finite])
        known = [x if np.isfinite(x) else NO_ROOM * max(worst, 1.0) for x in latencies]
        weight = average.advantages(-np.sqrt(known)).astype(np.float32)
        batch = Placements(chosen, weight)
        moments = update(moments, number, learning_rate, graph, allowed, batch)
        number += 1
