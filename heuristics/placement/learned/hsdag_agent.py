"""HSDAG's policy on one graph: what it sees, how it chooses, and its parameters. Needs JAX."""

from pathlib import Path
from typing import Any

import numpy as np

from boundmark.heuristics.placement.learned import hsdag_policy as policy
from boundmark.heuristics.placement.learned.checkpoint import Checkpoint, load_checkpoint
from boundmark.heuristics.placement.learned.choosing import allowed_devices, drawn, likeliest
from boundmark.heuristics.placement.learned.colocation import colocated
from boundmark.heuristics.placement.learned.features import feature_matrix, layout_of
from boundmark.heuristics.placement.learned.graph_arrays import graph_arrays
from boundmark.heuristics.placement.learned.network import Parameters
from boundmark.heuristics.placement.learned.parsing import Parse, parse
from boundmark.heuristics.placement.learned.settings import Settings
from boundmark.heuristics.placement.learned.shared_columns import shared_layout
from boundmark.problems.arrays import IntArray
from boundmark.problems.placement import PlacementInstance

NAME = "hsdag"


class Agent:
    """A policy, its optimiser and the graph that it places.

    Attributes
    ----------
    moments
        Parameters with Adam's moments.
    updates
        How often they were changed.
    """

    def __init__(
        self, instance: PlacementInstance, settings: Settings, generator: np.random.Generator
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
        # A set can be where all of its operators can.
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
        self.moments = policy.adam_state(dict(first))
        self.updates = 0

    @property
    def parameters(self) -> Parameters:
        """The present parameters."""
        return policy.parameters_of(self.moments)

    def save(self) -> None:
        """Write a checkpoint if the settings name a file."""
        if self.settings.save:
            arrays = {name: np.asarray(values) for name, values in self.parameters.items()}
            Checkpoint(NAME, self.devices, self.layout, arrays).save(Path(self.settings.save))

    def parsed(self, scores: Any, *, explores: bool = True) -> Parse:
        """Return groups by scores of edges, shape (Q,); some edges are dropped if it explores."""
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
        """Return the device of each operator, shape (n,), from those of groups, shape (P,)."""
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
