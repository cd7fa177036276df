"""`slice-search`: simulated annealing over partition vectors ([KIRKPATRICK83]).

A step gives a run of operators one pattern (one device, or some devices by their speeds), divides
an operator like one that it reads, or moves a boundary in a run of operators. Runs matter: a single
operator on other devices than its neighbours mostly pays for communication twice.
"""

from itertools import cycle
from typing import Any

import numpy as np

from boundmark.heuristics.slicing.kernels.plans import anneal
from boundmark.heuristics.slicing.methods.best_response import best_responses
from boundmark.heuristics.slicing.plans.incumbent import NO_LATENCY, Incumbent
from boundmark.heuristics.slicing.plans.simple import (
    divided,
    layers,
    one_device_pattern,
    patterns,
    shares_pattern,
    speeds,
)
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.slicing import SlicingInstance
from boundmark.problems.slicing.graph import tensor_bytes

# In units of the best latency, at the first and the last step of a round. Rounds with high ones get
# from one device to many and back, those with low ones move single boundaries.
HOTTEST, COLDEST = (0.01, 0.1, 0.001), 0.00001

# Steps of the first round, and how many times more each further one has, up to a limit.
FIRST_STEPS, GROWTH, MOST_STEPS = 20_000, 2, 2_000_000

# Of the steps for which there seems to be time, so many are a round.
AFFORDED = 0.5


def run(
    instance: SlicingInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    evaluations: int,
    **params: Any,
) -> None:
    """Report simple plans, what responses make of them, and what rounds of annealing find."""
    best = Incumbent(instance, progress)
    devices, fractions = instance.graph.devices, patterns(instance)
    starts = [divided(instance, one_device_pattern(devices, d)) for d in range(devices)]
    starts += [divided(instance, shares_pattern(speeds(instance))), layers(instance)]
    fits = [best.offer(start) for start in starts]
    if devices == 1 or budget.is_spent():
        _require(best)
        return
    if best.latency < NO_LATENCY:
        vectors = best.vectors.copy()
        best_responses(best.arrays, fractions, vectors, budget)
        best.offer(vectors)
    generator, vectors = np.random.default_rng(seed), starts[-1].copy()
    steps, done, hottest = FIRST_STEPS, 0, cycle(HOTTEST)
    while not budget.is_spent() and best.latency and (not evaluations or done < evaluations):
        steps = min(steps, evaluations - done) if evaluations else steps
        began = budget.remaining()
        # As long as none fits into memory, the last one is as good as any.
        vectors = best.vectors.copy() if best.latency < NO_LATENCY else vectors
        scale = min(best.latency, int(instance.graph.work.sum()) + 1)
        # Whoever exceeds the memory by a byte shall gain nothing by it.
        penalty = _penalty(instance, scale) if all(fits) else scale // 1000 + 1
        anneal(
            best.arrays, fractions, vectors, steps, max(1.0, next(hottest) * scale),
            COLDEST * scale, penalty,
            int(generator.integers(2**31)),
        )  # fmt: skip
        best.offer(vectors)
        done += steps
        affordable = steps * budget.remaining() / max(began - budget.remaining(), 1e-9)
        steps = min(MOST_STEPS, GROWTH * steps)
        if not evaluations:
            # The machine may become slower.
            steps = max(1, min(steps, int(AFFORDED * affordable)))
    _require(best)


def _penalty(instance: SlicingInstance, scale: int) -> int:
    """Return 0 if each device has room for all tensors and the largest parameters."""
    graph = instance.graph
    tensors = int((graph.length * graph.output).sum())
    received = sum(tensor_bytes(graph, edge) for edge in graph.edges)
    most = tensors + received + int(graph.weights.max())
    return 0 if most <= int(graph.capacity.min()) else scale // 1000 + 1


def _require(best: Incumbent) -> None:
    if best.latency == NO_LATENCY:
        raise UnsupportedError("no plan was found that fits into the devices' memory.")
