"""`reslice`: local search that sorts the nodes by their stages and segments that order again.

Noise lets nodes of neighbouring stages change places, see `noisy_order`.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from boundmark.heuristics.incumbent import Incumbent
from boundmark.heuristics.pipeline.orders import noisy_order
from boundmark.heuristics.pipeline.slicegraph import has_segmentation, segment_order
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import Partition, PipelineInstance


@dataclass(frozen=True)
class ResliceSettings:
    """Settings of `reslice`.

    Attributes
    ----------
    noise
        Numbers of stages that the noise of an order spans; one of them is drawn for each order.
    patience
        Orders per node without improvement before the search goes on from a distant order.
    distant_noise
        Number of stages that the noise of a distant order spans.
    """

    noise: tuple[float, ...] = (1.0, 1.5, 2.0, 3.0)
    patience: int = 5
    distant_noise: float = 8.0


DEFAULTS = ResliceSettings()


def run(
    instance: PipelineInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    *,
    evaluations: int,
    settings: ResliceSettings = DEFAULTS,
) -> None:
    """Search from the graph's own order until the evaluations or the budget are used up.

    An order that is as good replaces the current one, so that the search drifts along plateaus.
    """
    generator = np.random.default_rng(seed)
    order = instance.graph.dag.topological_order
    cost, ends = segment_order(instance, order)
    stages = Partition.from_segments(order, ends).stages
    best: Incumbent[Partition] = Incumbent(progress)
    best.offer(cost, partial(Partition, stages))
    idle, done = 0, 1
    while done != evaluations and not budget.is_spent():
        done += 1
        if idle == settings.patience * instance.nodes:
            idle = 0
            order = noisy_order(instance, best.solution.stages, settings.distant_noise, generator)
            cost = segment_order(instance, order)[0]
        else:
            order = noisy_order(instance, stages, generator.choice(settings.noise), generator)
            idle += 1
        if has_segmentation(instance, order, cost):
            new_cost, ends = segment_order(instance, order)
            if new_cost < cost:
                idle = 0
            cost, stages = new_cost, Partition.from_segments(order, ends).stages
            best.offer(cost, partial(Partition, stages))
