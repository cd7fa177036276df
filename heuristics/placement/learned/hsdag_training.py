"""HSDAG's policy as functions of its parameters, and its training ([HSDAG24]). Needs JAX.

`transformed` maps features to embeddings, `observed` is the encoder with the scores of edges, and
`judged` pools the groups that host code parses from the scores and scores devices for each
(Sections 2.4 and 2.5).

Parsing has no gradient. The paper does not say how scores are trained then; here a node counts in
its group by the score of the edge that it keeps, so that the placement depends on scores smoothly.
"""

from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from boundmark.heuristics.placement.learned.graphs import (
    GraphArrays,
    colocated,
    feature_matrix,
    graph_arrays,
    layout_of,
    shared_layout,
)
from boundmark.heuristics.placement.learned.hsdag import (
    Checkpoint,
    HsdagSettings,
    Parse,
    load_checkpoint,
    parse,
)
from boundmark.heuristics.placement.learned.learning import (
    Evaluations,
    allowed_devices,
    drawn,
    likeliest,
)
from boundmark.heuristics.placement.learned.neural_layers import (
    NEVER,
    Array,
    Parameters,
    adam_state,
    added_up,
    initial_layers,
    log_likelihood,
    parameters_of,
    perceptron,
    updating,
)
from boundmark.problems.arrays import IntArray
from boundmark.problems.placement import PlacementInstance

NAME = "hsdag"


class Buffer(NamedTuple):
    """The x steps of a buffer, with all that the loss needs."""

    # Embeddings before the encoder, shape (x, P, hidden). The first is not read: it depends on
    # parameters.
    state: Array
    # The edge that each node keeps, -1 without one, shape (x, P).
    kept: Array
    # Group of each node, shape (x, P).
    group_of: Array
    # Whether a group can be on a device, shape (x, P, D).
    is_allowed: Array
    # Device of each group, shape (x, P).
    chosen: Array
    # 1 for groups, 0 behind the last one, shape (x, P).
    is_group: Array
    # Weight of the logarithm of each step's probability, shape (x,).
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


class Agent:
    """HSDAG's policy, its optimiser and the graph that it places.

    Attributes
    ----------
    moments
        Parameters with Adam's moments.
    updates
        Number of updates so far.
    """

    def __init__(
        self, instance: PlacementInstance, settings: HsdagSettings, generator: np.random.Generator
    ) -> None:
        self.settings = settings
        self.generator = generator
        self.devices = instance.graph.devices
        self.sets = colocated(instance.graph.dag)
        self.edges = self.sets.dag.edge_pairs()
        given = load_checkpoint(Path(settings.load)) if settings.load else None
        if given is not None:
            given.require(NAME, self.devices)
            self.layout = given.layout
        elif settings.shared_columns:
            self.layout = shared_layout(settings.features, settings.raw_shapes)
        else:
            self.layout = layout_of(
                instance.graph, self.sets, settings.features, settings.raw_shapes
            )
        features = feature_matrix(self.layout, instance.graph, self.sets)
        self.graph = graph_arrays(self.sets, features)
        self.high = len(self.graph.is_node)
        # A device supports a set if it supports all of its operators.
        self.is_supported = allowed_devices(
            instance.graph.is_supported, self.sets.set_of, self.sets.nodes
        )
        first = (
            given.parameters
            if given
            else initial_parameters(
                self.graph.features.shape[1], self.devices, settings.hidden, generator
            )
        )
        self.moments = adam_state(dict(first))
        self.updates = 0

    @property
    def parameters(self) -> Parameters:
        """The current parameters."""
        return parameters_of(self.moments)

    def save(self) -> None:
        """Write a checkpoint if the settings name a file."""
        if self.settings.save:
            arrays = {name: np.asarray(values) for name, values in self.parameters.items()}
            Checkpoint(NAME, self.devices, self.layout, arrays).save(Path(self.settings.save))

    def parsed(self, scores: Any, *, explores: bool = True) -> Parse:
        """Return the groups that follow from scores, shape (Q,); `explores` drops some edges."""
        found = np.asarray(scores)[: len(self.edges)]
        stay = np.arange(len(found))
        if explores:
            stay = stay[self.generator.random(len(found)) >= self.settings.dropped_edges]
        groups = parse(self.sets.nodes, self.edges[stay], found[stay])
        kept = groups.kept
        return Parse(groups.group_of, np.where(kept >= 0, stay[kept] if len(stay) else -1, -1))

    def padded(self, groups: Parse) -> tuple[IntArray, IntArray, Any]:
        """Return kept edges, groups and allowed devices, padded to the graph's size."""
        kept = np.full(self.high, -1, dtype=np.int64)
        kept[: self.sets.nodes] = groups.kept
        # Padding has no weight in whatever group it is.
        group_of = np.zeros(self.high, dtype=np.int64)
        group_of[: self.sets.nodes] = groups.group_of
        allowed = np.ones((self.high, self.devices), dtype=bool)
        allowed[: groups.groups] = allowed_devices(
            self.is_supported, groups.group_of, groups.groups
        )
        return kept, group_of, allowed

    def operators(self, chosen: IntArray, group_of: IntArray) -> IntArray:
        """Return the devices of operators, shape (n,), from those of groups, shape (P,)."""
        return chosen[group_of[: self.sets.nodes]][self.sets.set_of]

    def draw(self, logits: Any) -> IntArray:
        """Return a device for each row of logits, at random."""
        return drawn(np.asarray(logits), self.generator)

    def greedy(self) -> IntArray:
        """Return the likeliest placement, a device for each operator, shape (n,)."""
        parameters = self.parameters
        state = transform(parameters, self.graph)
        embeddings, scores = observe(parameters, self.graph, state)
        kept, group_of, allowed = self.padded(self.parsed(scores, explores=False))
        logits, _ = judge(parameters, self.graph, embeddings, scores, kept, group_of, allowed)
        return self.operators(likeliest(np.asarray(logits)), group_of)


def train_as_printed(agent: Agent, evaluations: Evaluations) -> None:
    """Train by [HSDAG24], Algorithm 1: steps in a chain, a buffer, updates.

    Rewards are 1 / latency, in units of the first one's: a common factor makes no difference to
    Adam. A placement without room has none.
    """
    first = 0.0
    while evaluations.left:
        steps = episode(agent, evaluations)
        if len(steps) < agent.settings.steps or not agent.settings.train:
            continue
        latencies = np.array([step.weight for step in steps])
        first = first or float(latencies[0])
        reward = np.where(np.isfinite(latencies), first / latencies, 0.0) if first else latencies
        weight = discounted(np.nan_to_num(reward), agent.settings.discount)
        columns = Buffer._make(map(np.stack, zip(*steps, strict=True)))
        buffer = columns._replace(weight=weight.astype(np.float32))
        for _ in range(agent.settings.updates):
            agent.moments = chained_update(
                agent.moments, agent.updates, agent.settings.learning_rate, agent.graph, buffer
            )
            agent.updates += 1


def discounted(rewards: Any, discount: float) -> Any:
    """Return the weight of each step: its reward times the discount to the power of its number.

    Equation 14 as printed: what a step weighs does not depend on what comes after it, and steps
    count the less the later they are.
    """
    return rewards * discount ** np.arange(1, len(rewards) + 1)


def episode(agent: Agent, evaluations: Evaluations) -> list[Buffer]:
    """Return the steps of an episode from the first state on, fewer if evaluations run out.

    Each is a buffer's row, with its latency in the weight's place.
    """
    parameters, steps = agent.parameters, []
    state = transform(parameters, agent.graph)
    for _ in range(agent.settings.steps):
        if not evaluations.left:
            break
        embeddings, scores = observe(parameters, agent.graph, state)
        groups = agent.parsed(scores)
        kept, group_of, allowed = agent.padded(groups)
        logits, following = judge(
            parameters, agent.graph, embeddings, scores, kept, group_of, allowed
        )
        chosen = agent.draw(logits)
        latency = evaluations.latency(agent.operators(chosen, group_of))
        is_group = (np.arange(agent.high) < groups.groups).astype(np.float32)
        steps.append(Buffer(state, kept, group_of, allowed, chosen, is_group, latency))
        state = following
    return steps
