"""What networks of learned methods compute on graphs that are small enough to check it by hand.

JAX starts threads, and tests that fork could not have it in their process: call these functions in
another one (`other_process.call`). They return NumPy arrays.
"""

from typing import Any

import numpy as np
from brute_force_placement import instance
from recording import Recorder

from boundmark.heuristics.placement.learned.graphs import colocated
from boundmark.heuristics.placement.learned.hsdag import HsdagSettings
from boundmark.heuristics.placement.learned.learning import Evaluations
from boundmark.heuristics.placement.learned.methods import prepare_jax
from boundmark.problems.arrays import IntArray
from boundmark.problems.catalog import methods
from boundmark.problems.method import Budget

# Eight sets: a fork, two longer branches and a join, and one alone.
EDGES = [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (3, 6), (4, 6), (5, 6)]
SAMPLE = instance([[4, 2], [3, 5], [2, 2], [6, 1], [5, 5], [2, 7], [3, 3], [1, 1]], EDGES)

Arrays = dict[str, np.ndarray]


def tiny_agent(hidden: int = 4) -> Any:
    """Return an agent with small embeddings."""
    prepare_jax(1)
    from boundmark.heuristics.placement.learned.hsdag_training import Agent

    params = {**methods("placement")["hsdag"].params, "hidden": hidden, "raw_shapes": False}
    return Agent(SAMPLE, HsdagSettings.of(params), np.random.default_rng(3))


def encoder() -> tuple[Arrays, Arrays]:
    """Return embeddings and scores, and the same by dense matrices as printed (Equations 6, 7)."""
    agent = tiny_agent()
    from boundmark.heuristics.placement.learned import hsdag_training as policy

    parameters, nodes = agent.parameters, agent.sets.nodes
    state = policy.transform(parameters, agent.graph)
    embeddings, scores = policy.observe(parameters, agent.graph, state)
    adjacent = np.eye(nodes)
    for source, target in agent.edges.tolist():
        adjacent[source, target] = 1
    scale = np.diag(adjacent.sum(axis=1) ** -0.5)
    rows = np.asarray(state)[:nodes]
    for layer in ("0", "1"):
        weights, bias = (
            np.asarray(parameters[f"convolve.{layer}.{n}"]) for n in ("weights", "bias")
        )
        rows = np.maximum(scale @ adjacent @ scale @ rows @ weights + bias, 0)
    pairs = rows[agent.edges[:, 0]] * rows[agent.edges[:, 1]]
    hidden = np.maximum(pairs @ np.asarray(parameters["score.0.weights"]), 0)
    logits = (hidden @ np.asarray(parameters["score.1.weights"]))[:, 0]
    found = {
        "embeddings": np.asarray(embeddings)[:nodes],
        "scores": np.asarray(scores)[: len(agent.edges)],
    }
    return found, {"embeddings": rows, "scores": 1 / (1 + np.exp(-logits))}


def pooling() -> tuple[np.ndarray, np.ndarray]:
    """Return the next state for given groups, and the same by hand.

    Nodes 0 to 2 are a group of which 0 and 1 keep edge 0 and 2 keeps edge 1; 3 is a group without
    edges, and the other nodes are one that keeps edge 2.
    """
    agent = tiny_agent()
    from boundmark.heuristics.placement.learned import hsdag_training as policy

    nodes, high = agent.sets.nodes, agent.high
    embeddings = np.zeros((high, 4), dtype=np.float32)
    embeddings[:nodes] = np.arange(nodes)[:, None] + [0, 10, 20, 30]
    scores = np.zeros(len(agent.graph.edges), dtype=np.float32)
    scores[:3] = 0.5, 0.25, 0.125
    kept, group_of = np.full(high, -1), np.zeros(high, dtype=np.int64)
    kept[:nodes] = [0, 0, 1, -1, *[2] * (nodes - 4)]
    group_of[:nodes] = [0, 0, 0, 1, *[2] * (nodes - 4)]
    _, following = policy.judge(
        agent.parameters, agent.graph, embeddings, scores, kept, group_of, np.ones((high, 2), bool)
    )
    own = embeddings[:nodes]
    first = (0.5 * own[0] + 0.5 * own[1] + 0.25 * own[2]) / 3
    rest = 0.125 * own[4:].mean(axis=0)
    by_hand = own + np.stack([first, first, first, own[3], *[rest] * (nodes - 4)])
    return np.asarray(following)[:nodes], by_hand


def gradients() -> dict[str, tuple[float, float]]:
    """Return, for each array of parameters, a slope of the loss along a random direction.

    The second number is the difference quotient.
    """
    import jax

    agent, graph, buffer = _buffer()
    from boundmark.heuristics.placement.learned import hsdag_training as policy

    parameters = {name: np.asarray(values) for name, values in agent.parameters.items()}
    slopes = jax.grad(policy.chained_loss)(parameters, graph, buffer)
    loss = jax.jit(policy.chained_loss)
    generator = np.random.default_rng(5)
    found = {}
    for name, values in parameters.items():
        way = generator.normal(size=values.shape).astype(np.float32)
        step = 1e-3
        ends = [
            float(loss({**parameters, name: values + sign * step * way}, graph, buffer))
            for sign in (1, -1)
        ]
        slope = float((np.asarray(slopes[name]) * way).sum())
        found[name] = slope, (ends[0] - ends[1]) / (2 * step)
    return found


def bias_gradient() -> tuple[np.ndarray, np.ndarray]:
    """Return the loss's slope along the last layer's biases, and what REINFORCE says it is.

    The slope of log p by a logit is 1 or 0 for the device chosen, less its probability.
    """
    import jax

    agent, graph, buffer = _buffer()
    from boundmark.heuristics.placement.learned import hsdag_training as policy

    slopes = jax.grad(policy.chained_loss)(agent.parameters, graph, buffer)
    expected = np.zeros(2)
    for step in range(len(buffer.weight)):
        state = buffer.state[step] if step else policy.transform(agent.parameters, graph)
        embeddings, scores = policy.observe(agent.parameters, graph, state)
        logits, _ = policy.judge(
            agent.parameters, graph, embeddings, scores, *(row[step] for row in buffer[1:4])
        )
        share = np.exp(np.asarray(logits, dtype=np.float64))
        share /= share.sum(axis=1, keepdims=True)
        rows = buffer.is_group[step] > 0
        expected -= buffer.weight[step] * (np.eye(2)[buffer.chosen[step]] - share)[rows].sum(axis=0)
    return np.asarray(slopes["place.1.bias"]), expected


def _buffer() -> tuple[Any, Any, Any]:
    """Return an agent, its graph and a buffer of three steps of a chain with different weights."""
    agent = tiny_agent(hidden=16)
    from boundmark.heuristics.placement.learned import hsdag_training as policy

    parameters, rows = agent.parameters, []
    state = policy.transform(parameters, agent.graph)
    for weight in (1.0, 0.5, 0.25):
        embeddings, scores = policy.observe(parameters, agent.graph, state)
        groups = agent.parsed(scores)
        padded = agent.padded(groups)
        logits, following = policy.judge(parameters, agent.graph, embeddings, scores, *padded)
        is_group = (np.arange(agent.high) < groups.groups).astype(np.float32)
        rows.append((np.asarray(state), *padded, agent.draw(logits), is_group, np.float32(weight)))
        state = following
    return agent, agent.graph, policy.Buffer(*map(np.stack, zip(*rows, strict=True)))


class Watched(Evaluations):
    """Evaluations that keep all latencies."""

    latencies: list[float]

    def latency(self, devices: IntArray) -> float:
        """Return and keep the latency."""
        self.latencies.append(super().latency(devices))
        return self.latencies[-1]


def mean_latencies(evaluations: int) -> tuple[float, float]:
    """Return the mean latency of the first and of the last fifth of the placements drawn.

    The graph is a chain of pairs, each set of which runs three times as fast on the second device.
    """
    prepare_jax(1)
    from boundmark.heuristics.placement.learned import hsdag_training as training

    edges = [(v, w) for v in range(0, 40, 2) for w in (v + 1, v + 2, v + 3)]
    sample = instance([[3, 1]] * 44, edges)
    params = {
        **methods("placement")["hsdag"].params,
        "learning_rate": 1e-3,
        "evaluations": evaluations,
    }
    agent = training.Agent(sample, HsdagSettings.of(params), np.random.default_rng(2))
    counted = Watched(sample, Budget(60), Recorder(), evaluations)
    counted.latencies = []
    training.train_as_printed(agent, counted)
    part = evaluations // 5
    return float(np.mean(counted.latencies[:part])), float(np.mean(counted.latencies[-part:]))


def placeto_gradients() -> list[Arrays]:
    """Return the gradients of an episode's loss, taken in one go and in parts of three turns."""
    prepare_jax(1)
    import jax

    from boundmark.heuristics.placement.learned import placeto

    sets = colocated(SAMPLE.graph.dag)
    graph, generator = placeto.placeto_arrays(SAMPLE, sets), np.random.default_rng(4)
    high, devices = graph.is_allowed.shape
    turns = placeto.Turns(
        generator.integers(devices, size=(high, high)),
        np.arange(high),
        generator.integers(2, size=(high, high)).astype(np.float32),
        generator.integers(devices, size=high),
        generator.normal(size=high).astype(np.float32),
    )
    parameters = placeto.initial_parameters(devices + 1, devices, 8, generator)
    found = []
    for most in (high * high, 0):
        placeto.MOST_AT_ONCE, placeto.PART = most, 3 * high
        # A new function, since a compiled one would keep the first limits.
        gradient = jax.jit(jax.grad(lambda *given: placeto.loss(*given)))
        gradients = gradient(parameters, graph, turns)
        found.append({name: np.asarray(one) for name, one in gradients.items()})
    return found
