"""Training as printed ([HSDAG24], Algorithm 1): steps in a chain, a buffer, updates. Needs JAX."""

from typing import Any, NamedTuple

import numpy as np

from boundmark.heuristics.placement.learned import hsdag_policy as policy
from boundmark.heuristics.placement.learned.evaluations import Evaluations
from boundmark.heuristics.placement.learned.hsdag_agent import Agent
from boundmark.problems.arrays import IntArray


class Step(NamedTuple):
    """A step of an episode: its state, its actions and its reward; arrays are padded."""

    state: Any
    kept: IntArray
    group_of: IntArray
    is_allowed: Any
    chosen: IntArray
    is_group: Any
    latency: float


def train(agent: Agent, evaluations: Evaluations) -> None:
    """Place and learn until the evaluations or the time are used up.

    Rewards are 1 / latency, in units of the first one's: a common factor makes no difference to
    Adam. A placement without room has none.
    """
    first = 0.0
    while evaluations.left:
        steps = episode(agent, evaluations)
        if len(steps) < agent.settings.steps or not agent.settings.train:
            continue
        latencies = np.array([step.latency for step in steps])
        first = first or float(latencies[0])
        reward = np.where(np.isfinite(latencies), first / latencies, 0.0) if first else latencies
        weight = discounted(np.nan_to_num(reward), agent.settings.discount)
        columns: list[Any] = [np.stack(column) for column in list(zip(*steps, strict=True))[:-1]]
        buffer = policy.Buffer._make([*columns, weight.astype(np.float32)])
        for _ in range(agent.settings.updates):
            agent.moments = policy.chained_update(
                agent.moments, agent.updates, agent.graph, buffer, agent.settings.learning_rate
            )
            agent.updates += 1


def discounted(rewards: Any, discount: float) -> Any:
    """Return the weight of each step: its reward times the discount to the power of its number.

    Equation 14 as printed: what a step weighs does not depend on what comes after it, and steps
    count the less the later they are.
    """
    return rewards * discount ** np.arange(1, len(rewards) + 1)


def episode(agent: Agent, evaluations: Evaluations) -> list[Step]:
    """Return the steps from the first state on, as many as the settings say if evaluations last."""
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
        steps.append(Step(state, kept, group_of, allowed, chosen, is_group, latency))
        state = following
    return steps
