"""Training with advantages: batches of placements from the first state. Needs JAX."""

from typing import Any

import numpy as np

from boundmark.heuristics.placement.learned import hsdag_policy as policy
from boundmark.heuristics.placement.learned.evaluations import Evaluations
from boundmark.heuristics.placement.learned.hsdag_agent import Agent

# Of a placement without room, in units of the worst one with room in its batch.
NO_ROOM = 2.0


def train(agent: Agent, evaluations: Evaluations) -> None:
    """Place batches and learn from each, until the evaluations or the time are used up."""
    count = agent.settings.steps
    is_slot = np.arange(agent.high)
    while evaluations.left:
        parameters = agent.parameters
        state = policy.transform(parameters, agent.graph)
        embeddings, scores = policy.observe(parameters, agent.graph, state)
        parses = [agent.parsed(scores) for _ in range(count)]
        kept, group_of, allowed = (
            np.stack(rows) for rows in zip(*map(agent.padded, parses), strict=True)
        )
        logits, _ = policy.judge_all(
            parameters, agent.graph, embeddings, scores, kept, group_of, allowed
        )
        chosen = agent.draw(logits)
        latencies = []
        for row in range(count):
            if not evaluations.left:
                return
            latencies.append(evaluations.latency(agent.operators(chosen[row], group_of[row])))
        if not agent.settings.train:
            continue
        is_group = np.stack([is_slot < groups.groups for groups in parses]).astype(np.float32)
        weight = advantages(latencies)
        # States are not read: all steps begin at the first one.
        nothing = np.zeros((count, 0), dtype=np.float32)
        buffer = policy.Buffer(nothing, kept, group_of, allowed, chosen, is_group, weight)
        for _ in range(agent.settings.updates):
            agent.moments = policy.shared_update(
                agent.moments, agent.updates, agent.graph, buffer,
                agent.settings.learning_rate, agent.settings.entropy,
            )  # fmt: skip
            agent.updates += 1


def advantages(latencies: Any) -> Any:
    """Return how much better than the batch's mean each placement is, in standard deviations.

    Of the logarithms of latencies, so that the scale of an instance makes no difference.
    """
    found = np.asarray(latencies, dtype=np.float64)
    has_room = np.isfinite(found)
    if not has_room.any():
        return np.zeros(len(found), dtype=np.float32)
    found = np.where(has_room, found, NO_ROOM * found[has_room].max())
    better = -np.log(np.maximum(found, 1.0))
    better -= better.mean()
    return (better / max(better.std(), 1e-6)).astype(np.float32)
