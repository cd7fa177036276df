"""`brkga-100`, `brkga-10000`: genetic search over orders, each segmented ([MTPP24], Section 4.2).

The paper states the population and the number of evaluations. It leaves the rest open;
`boundmark.heuristics.evolution` sets it within what [BRKGA11], which the paper cites, recommends.

The paper counts population x generations evaluations, whether or not the elite is decoded again.
Here an evaluation is a priority vector that was decoded, and the search ends after exactly as many
as population x generations, so that "10000" is the same work as in `random-10000`; as the elite is
not decoded again, there are in fact 124 generations.
"""

from functools import partial

from boundmark.heuristics.evolution import BrkgaSettings, evolve
from boundmark.heuristics.incumbent import Incumbent
from boundmark.heuristics.pipeline.slicegraph import segment_order
from boundmark.heuristics.priority_order import Priorities, topological_order
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import Partition, PipelineInstance


def run(
    instance: PipelineInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    *,
    population: int,
    generations: int,
) -> None:
    """Search for priorities whose order has the cheapest segmentation."""
    best: Incumbent[Partition] = Incumbent(progress)
    settings = BrkgaSettings(population, population * generations)
    evolve_segmentations(instance, best, settings, seed, budget)


def evolve_segmentations(
    instance: PipelineInstance,
    best: Incumbent[Partition],
    settings: BrkgaSettings,
    seed: int,
    budget: Budget,
) -> None:
    """Search for priorities whose order has the cheapest segmentation; offer all to `best`."""

    def sort_and_segment(priorities: Priorities) -> int:
        order = topological_order(instance.graph.dag, priorities)
        cost, ends = segment_order(instance, order)
        best.offer(cost, partial(Partition.from_segments, order, ends))
        return cost

    evolve(instance.nodes, sort_and_segment, settings, seed, budget)
