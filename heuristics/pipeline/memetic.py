"""`memetic`: genetic search over orders, cuts between pairs of stages, annealed moves of nodes.

It begins with the segmentations of two orders: the graph's own, and one that keeps the transfers of
open tensors low, which is far ahead where tensors live long, as in training. On graphs with few
edges, as models are, two searches from there are tried for a short time: one divides pairs of
stages by minimum cuts, the other anneals moves of nodes. Cuts move whole layers at once and win
where stages are large; moves win where stages have few nodes.

Then genetic search over orders finds the rough shape of a partition, also where moves of single
nodes would take long. Cuts go on for most of what is left if they have won, or if stages are so
large that the trial was too short for them, and less otherwise; annealing has the rest, and all of
it on graphs with many edges. Boundaries that cuts have found are combined with those of annealing.
"""

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from boundmark.heuristics.effort import Effort
from boundmark.heuristics.incumbent import Incumbent
from boundmark.heuristics.pipeline.annealing import (
    DEFAULTS,
    AnnealingSettings,
    RoundBest,
    anneal_from,
    refine,
)
from boundmark.heuristics.pipeline.orders import fewest_open_order
from boundmark.heuristics.pipeline.pair_cuts import CutSearch
from boundmark.heuristics.pipeline.slicegraph import evolve_segmentations, segment_order
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import Partition, PipelineInstance

# Edges per node up to which cuts are tried. Models have 1.0 to 1.4, random graphs mostly more than
# 1.5, and there moves are far ahead.
MOST_EDGES = 1.5


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

    Parameters
    ----------
    settings
        Of annealing.
    """
    best: Incumbent[Partition] = Incumbent(progress)
    starts = instance.graph.dag.topological_order, fewest_open_order(instance.graph)
    for done, order in enumerate(starts, start=1):
        cost, ends = segment_order(instance, order)
        best.offer(cost, partial(Partition.from_segments, order, ends))
        if budget.is_spent() or evaluations == done:
            return

    generator = np.random.default_rng(seed)
    rest = _Rest(budget, evaluations - len(starts) if evaluations else None)
    cuts = CutSearch(instance, best, starts, generator)
    cuts_share = 0.0
    if instance.graph.dag.edges <= MOST_EDGES * instance.nodes:
        start = RoundBest(best.cost, best.solution.stages)
        # Either search is tried for a short time.
        cuts.run(*rest.take(0.04))
        moves = rest.take(0.02)
        if settings.suit(instance):
            anneal_from(instance, best, start, *moves, generator, settings)
        have_won = cuts.found.cost < start.cost or cuts.ended < len(starts)
        # Of what genetic search leaves, if cuts have won, or have not descended from both orders to
        # the end, and if they have not won.
        cuts_share = 0.7 if have_won else 0.3
    part, evolved = rest.take(0.1)
    most = 10_000 if evolved is None else evolved
    evolve_segmentations(instance, best, 100, most, seed, part)
    if cuts_share:
        cuts.run(*rest.take(cuts_share))

    def combine(stages: IntArray, effort: Effort) -> None:
        """Offer the best partition with boundaries of a round, of the best one and of descents."""
        cuts.pool.add(stages)
        cuts.pool.add(best.solution.stages)
        found = cuts.pool.best_partition(best.cost, effort)
        if found is not None:
            partition = Partition(frozen(found))
            best.offer(instance.objective(partition), lambda: partition)

    refine(
        *(instance, best, budget, rest.evaluations, generator, settings),
        after_round=combine if cuts_share else None,
    )


@dataclass
class _Rest:
    """What is left of a run: evaluations or, if they have no limit, time."""

    budget: Budget
    evaluations: int | None

    def take(self, fraction: float) -> tuple[Budget, int | None]:
        """Return a fraction of it as a budget and a number of evaluations."""
        if self.evaluations is None:
            return self.budget.part(fraction), None
        taken = math.ceil(fraction * self.evaluations)
        self.evaluations -= taken
        return self.budget, taken
