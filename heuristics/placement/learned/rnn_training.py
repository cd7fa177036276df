"""Training of the sequence-to-sequence policy by REINFORCE ([MIRHOSEINI17]). Needs JAX."""

import numpy as np

from boundmark.heuristics.placement.learned import rnn_policy as policy
from boundmark.heuristics.placement.learned.baseline import MovingBaseline
from boundmark.heuristics.placement.learned.choosing import allowed_devices
from boundmark.heuristics.placement.learned.colocation import colocated
from boundmark.heuristics.placement.learned.evaluations import Evaluations
from boundmark.heuristics.placement.learned.features import (
    FeatureChoice,
    feature_matrix,
    layout_of,
)
from boundmark.heuristics.placement.learned.graph_arrays import graph_arrays
from boundmark.heuristics.placement.learned.hsdag_policy import adam_state, parameters_of
from boundmark.problems.placement import PlacementInstance

# Of a placement without room, in units of the worst one so far.
NO_ROOM = 2.0


def train(
    instance: PlacementInstance,
    evaluations: Evaluations,
    generator: np.random.Generator,
    samples: int,
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
    moments = adam_state(policy.initial_parameters(width, devices, hidden, generator))
    baseline, worst, number = MovingBaseline(), 0.0, 0
    while evaluations.left:
        noise = generator.gumbel(size=(samples, high, devices)).astype(np.float32)
        chosen = np.asarray(policy.draw(parameters_of(moments), graph, allowed, noise))
        latencies = []
        for row in chosen:
            if not evaluations.left:
                return
            latencies.append(evaluations.latency(row[: sets.nodes][sets.set_of]))
        finite = [latency for latency in latencies if np.isfinite(latency)]
        worst = max([worst, *finite])
        known = [x if np.isfinite(x) else NO_ROOM * max(worst, 1.0) for x in latencies]
        weight = baseline.advantages(-np.sqrt(known)).astype(np.float32)
        batch = policy.Placements(chosen, weight)
        moments = policy.update(moments, number, graph, allowed, batch, learning_rate)
        number += 1
