"""HSDAG's policy on one graph, and its training as printed. Needs JAX."""

from pathlib import Path
from typing import Any

import numpy as np

from boundmark.heuristics.placement.learned import hsdag_policy as policy
from boundmark.heuristics.placement.learned.graphs import (
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
    Parameters,
    adam_state,
    parameters_of,
)
from boundmark.problems.arrays import IntArray
from boundmark.problems.placement import PlacementInstance

NAME = "hsdag"


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
            else policy.initial_parameters(
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
        state = policy.transform(parameters, self.graph)
        embeddings, scores = policy.observe(parameters, self.graph, state)
        kept, group_of, allowed = self.padded(self.parsed(scores, explores=False))
        logits, _ = policy.judge(
            parameters, self.graph, embeddings, scores, kept, group_of, allowed
        )
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
        columns = policy.Buffer._make(map(np.stack, zip(*steps, strict=True)))
        buffer = columns._replace(weight=weight.astype(np.float32))
        for _ in range(agent.settings.updates):
            agent.moments = policy.chained_update(
                agent.moments, agent.updates, agent.settings.learning_rate, agent.graph, buffer
            )
            agent.updates += 1


def discounted(rewards: Any, discount: float) -> Any:
    """Return the weight of each step: its reward times the discount to the power of its number.

    Equation 14 as printed: what a step weighs does not depend on what comes after it, and steps
    count the less the later they are.
    """
    return rewards * discount ** np.arange(1, len(rewards) + 1)


def episode(agent: Agent, evaluations: Evaluations) -> list[policy.Buffer]:
    """Return the steps of an episode from the first state on, fewer if evaluations run out.

    Each is a buffer's row, with its latency in the weight's place.
    """
    parameters, steps = agent.parameters, []
    state = policy.transform(parameters, agent.graph)
    for _ in range(agent.settings.steps):
        if not evaluations.left:
            break
        embeddings, scores = policy.observe(parameters, agent.graph, state)
        groups = agent.parsed(scores)
        kept, group_of, allowed = agent.padded(groups)
        logits, following = policy.judge(
            parameters, agent.graph, embeddings, scores, kept, group_of, allowed
        )
        chosen = agent.draw(logits)
        latency = evaluations.latency(agent.operators(chosen, group_of))
        is_group = (np.arange(agent.high) < groups.groups).astype(np.float32)
        steps.append(policy.Buffer(state, kept, group_of, allowed, chosen, is_group, latency))
        state = following
    return steps
