"""`memetic`: genetic search over orders, then annealed moves of nodes and new segmentations.

It begins with the better segmentation of two orders: the graph's own, and one that keeps the
transfers of open tensors low, which is far ahead where tensors live long, as in training. BRKGA
searches orders and finds the rough shape of a partition, also where moves of single nodes would
take long; annealing then has most of the time.
"""

import math
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from boundmark.heuristics.evolution import BrkgaSettings
from boundmark.heuristics.incumbent import Incumbent
from boundmark.heuristics.pipeline.annealing import AnnealingSettings, refine
from boundmark.heuristics.pipeline.brkga import evolve_segmentations
from boundmark.heuristics.pipeline.orders import fewest_open_order
from boundmark.heuristics.pipeline.slicegraph import segment_order
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import Partition, PipelineInstance


@dataclass(frozen=True)
class MemeticSettings:
    """Settings of `memetic`.

    Attributes
    ----------
    evolved_share
        Fraction of the evaluations or, without a limit on these, of the time for genetic search.
    population
        Priority vectors in a generation.
    most_evolved
        Largest number of orders in genetic search if evaluations have no limit.
    annealing
        Settings of the rest.
    """

    evolved_share: float = 0.1
    population: int = 100
    most_evolved: int = 10_000
    annealing: AnnealingSettings = field(default_factory=AnnealingSettings)


DEFAULTS = MemeticSettings()


def run(
    instance: PipelineInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    *,
    evaluations: int,
    settings: MemeticSettings = DEFAULTS,
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

    if evaluations == 0:
        evolved, left = settings.most_evolved, None
        evolution_budget = budget.part(settings.evolved_share)
    else:
        evolved = math.ceil(settings.evolved_share * (evaluations - len(starts)))
        left = evaluations - len(starts) - evolved
        evolution_budget = budget
    evolution = BrkgaSettings(settings.population, evolved)
    evolve_segmentations(instance, best, evolution, seed, evolution_budget)
    generator = np.random.default_rng(seed)
    refine(instance, best, budget, left, generator, settings.annealing)
