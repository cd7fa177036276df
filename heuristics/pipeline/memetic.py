"""`memetic`: genetic search over orders, then annealed moves of nodes between stages.

It begins with the segmentations of two orders: the graph's own, and one that keeps the transfers of
open tensors low, which is far ahead where tensors live long. Genetic search over orders then finds
the rough shape of a partition, also where moves of single nodes would take long. Annealing has the
rest of the time.
"""

import math
from functools import partial

import numpy as np

from boundmark.heuristics.incumbent import Incumbent
from boundmark.heuristics.pipeline.annealing import DEFAULTS, AnnealingSettings, refine
from boundmark.heuristics.pipeline.orders import fewest_open_order
from boundmark.heuristics.pipeline.slicegraph import evolve_segmentations, segment_order
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import Partition, PipelineInstance

# Part of the time, or of the evaluations, that genetic search has.
EVOLUTION = 0.1


def run(
    instance: PipelineInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    *,
    evaluations: int,
    settings: AnnealingSettings = DEFAULTS,
) -> None:
    """Search until the evaluations are used up or, if they are 0, until the budget ends.

    Two runs find the same only if a number of evaluations is given.
    """
    best: Incumbent[Partition] = Incumbent(progress)
    starts = instance.graph.dag.topological_order, fewest_open_order(instance.graph)
    for done, order in enumerate(starts, start=1):
        cost, ends = segment_order(instance, order)
        best.offer(cost, partial(Partition.from_segments, order, ends))
        if budget.is_spent() or evaluations == done:
            return
    left = evaluations - len(starts) if evaluations else None
    evolved = 10_000 if left is None else math.ceil(EVOLUTION * left)
    part = budget.part(EVOLUTION) if left is None else budget
    evolve_segmentations(instance, best, 100, evolved, seed, part)
    left = None if left is None else left - evolved
    refine(instance, best, budget, left, np.random.default_rng(seed), settings)
