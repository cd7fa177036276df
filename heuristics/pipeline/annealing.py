"""Simulated annealing of a partition by moves of nodes ([KIRKPATRICK83]).

A move of a node to another stage changes the costs of two stages, and is tried in a five-hundredth
of the time that sorting and segmenting an order takes. The search runs in rounds, each of which
cools down once. The first rounds start from partitions far from each other, later ones from the
best partition found. Which partition a long round ends in depends on the seed by as much as twice
the time would gain, and in models more on where it begins.
"""

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from boundmark.heuristics.effort import Effort
from boundmark.heuristics.incumbent import NO_COST, Incumbent
from boundmark.heuristics.pipeline.kernel_graph import Graph, kernel_graph
from boundmark.heuristics.pipeline.node_move_kernels import (
    State,
    Walk,
    anneal,
    count_readers,
    new_state,
)
from boundmark.heuristics.pipeline.orders import noisy_fewest_open_order, noisy_order
from boundmark.heuristics.pipeline.slicegraph import has_segmentation, segment_order
from boundmark.problems.arrays import IntArray
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import Partition, PipelineInstance
from boundmark.problems.pipeline.instance import stage_costs, stage_overflow

# So many moves count as one evaluation. They take no longer than sorting and segmenting an order,
# and as long as 200 moves took before they were quicker.
MOVES_PER_EVALUATION = 300


@dataclass(frozen=True)
class AnnealingSettings:
    """Settings of annealing, chosen on regal-style graphs with k = 4 .. 32 and a few models.

    notes/pipeline.md has the comparisons.

    Attributes
    ----------
    moves_per_node
        Moves of a round per node, if the effort allows more than one round and few.
    few_rounds
        With an effort for more such rounds, both their number and their length grow by the square
        root: many short ones find less than fewer long ones.
    reheated
        Initial temperature of a round from the best partition, as a fraction of that of others.
    margin
        How far below the best cost the level lies above which the costs of stages count, as a
        fraction of the best cost.
    most_counts
        Largest n x k for which consumers are counted by node and stage, at 4 bytes each. Larger
        instances are improved by segmenting orders only.
    """

    moves_per_node: int = 10_000
    few_rounds: int = 8
    reheated: float = 0.15
    margin: float = 0.02
    most_counts: int = 2**28

    def suit(self, instance: PipelineInstance) -> bool:
        """Whether an instance is small enough for moves of nodes."""
        return instance.nodes * min(instance.k, instance.nodes) <= self.most_counts

    def rounds(self, shortest: float) -> int:
        """Return the number of rounds for an effort that is enough for so many shortest ones."""
        count = max(1, round(shortest))
        return count if count <= self.few_rounds else round(math.sqrt(count * self.few_rounds))


DEFAULTS = AnnealingSettings()

# Fraction of all rounds that start far from the best partition; these come first.
DISTANT_SHARE = 0.3

# Initial temperature, as a fraction of the best cost.
HOTTEST = 0.03

# Evaluations' worth of moves between two looks at the clock, with one temperature.
EVALUATIONS_PER_STEP = 13

# Orders segmented around a better partition, again and again until none improves it.
RESEGMENTED_ORDERS = 4


def initial_temperature(instance: PipelineInstance) -> float:
    """Return the temperature at the start of a distant round, in units of the best cost.

    It is at most 1.5 times a node's mean cost. Where stages have hundreds of nodes, a hotter round
    soon is far from any good partition and does not find back.
    """
    return min(HOTTEST, 1.5 * _mean_node_cost(instance))


def final_temperature(instance: PipelineInstance) -> float:
    """Return the temperature at the end of every round, in units of the best cost.

    It is a fraction of a node's mean cost. Large stages can be balanced to a small part of their
    cost; a round that ends hotter ends anywhere near the best partition.
    """
    return 0.015 * _mean_node_cost(instance)


def _mean_node_cost(instance: PipelineInstance) -> float:
    """Return a node's mean cost in units of the best cost, if all stages cost that."""
    return min(instance.k, instance.nodes) / instance.nodes


@dataclass
class RoundBest:
    """The best partition of a round, or of another part of a search."""

    cost: int
    stages: IntArray


def refine(
    instance: PipelineInstance,
    best: Incumbent[Partition],
    budget: Budget,
    evaluations: int | None,
    generator: np.random.Generator,
    settings: AnnealingSettings = DEFAULTS,
) -> None:
    """Improve the best partition until the evaluations are used up or the budget ends."""
    effort = Effort(budget, evaluations)
    if not settings.suit(instance):
        while best.cost > 0 and not effort.is_spent():
            segment_near_best(instance, best, effort.take(RESEGMENTED_ORDERS), generator)
        return
    graph, state = kernel_graph(instance.graph), new_state(generator)
    annealer = _Annealer(instance, graph, state, generator, effort, best, settings)
    hottest = initial_temperature(instance)
    count = annealer.affordable_rounds()
    start, failures = RoundBest(best.cost, best.solution.stages), 0
    # Further rounds from the best partition without improvement before a distant one.
    patience = 2
    for done in range(count):
        if best.cost == 0 or effort.is_spent():
            return
        is_distant = done < max(1, DISTANT_SHARE * count) or failures == patience
        if is_distant:
            failures = 0
        if done > 0:
            start = (
                annealer.distant_start()
                if is_distant
                else RoundBest(best.cost, best.solution.stages)
            )
        before = best.cost
        heat = hottest * (1 if is_distant else settings.reheated)
        annealer.cool_down(start, heat, (done + 1) / count)
        failures = 0 if is_distant or best.cost < before else failures + 1


def anneal_from(
    instance: PipelineInstance,
    best: Incumbent[Partition],
    found: RoundBest,
    budget: Budget,
    evaluations: int | None,
    generator: np.random.Generator,
    settings: AnnealingSettings = DEFAULTS,
    hottest: float = 1.0,
) -> None:
    """Cool down once from a partition, whatever the best one is; `found` becomes the round's best.

    The graph must not be too large for the settings.
    """
    effort = Effort(budget, evaluations)
    graph, state = kernel_graph(instance.graph), new_state(generator)
    annealer = _Annealer(instance, graph, state, generator, effort, best, settings)
    annealer.cool_down(found, hottest * initial_temperature(instance), 1.0)


@dataclass(frozen=True)
class _Annealer:
    """The state that all rounds share."""

    instance: PipelineInstance
    graph: Graph
    state: State
    generator: np.random.Generator
    effort: Effort
    best: Incumbent[Partition]
    settings: AnnealingSettings

    def affordable_rounds(self) -> int:
        """Return for how many rounds the remaining effort is enough, at least one.

        Without a limit on evaluations, a few moves at the final temperature are timed.
        """
        timed_steps, timed_share = 10, 0.02
        moves = self.instance.nodes * self.settings.moves_per_node
        if self.effort.evaluations is not None:
            return self.settings.rounds(self.effort.evaluations * MOVES_PER_EVALUATION / moves)
        found = RoundBest(self.best.cost, self.best.solution.stages)
        walk, begun, steps = walk_from(self.instance, found.stages), self.effort.spent(), 0
        while steps < timed_steps and self.effort.spent() < timed_share:
            self._step(found, walk, final_temperature(self.instance))
            steps += 1
        spent = self.effort.spent() - begun
        if steps == 0 or spent <= 0:
            return 1
        timed = steps * EVALUATIONS_PER_STEP * MOVES_PER_EVALUATION
        return self.settings.rounds(timed / spent / moves)

    def distant_start(self) -> RoundBest:
        """Return the best segmentation of several noisy orders that keep few transfers open."""
        instance, generator = self.instance, self.generator
        found = RoundBest(NO_COST, self.best.solution.stages)
        # The best of ten is taken.
        for _ in range(max(1, self.effort.take(10))):
            order = noisy_fewest_open_order(instance.graph, generator.random(), generator)
            if found.cost == NO_COST or has_segmentation(instance, order, found.cost - 1):
                cost, ends = segment_order(instance, order)
                found = RoundBest(cost, Partition.from_segments(order, ends).stages)
        self.best.offer(found.cost, partial(Partition, found.stages))
        return found

    def cool_down(self, found: RoundBest, heat: float, end: float) -> None:
        """Anneal from a partition until a fraction of the effort is spent."""
        walk, before = walk_from(self.instance, found.stages), self.best.cost
        cooling = final_temperature(self.instance) / heat
        spent = begun = self.effort.spent()
        while spent < end and self.best.cost > 0 and not self.effort.is_spent():
            self._step(found, walk, heat * cooling ** ((spent - begun) / (end - begun)))
            spent = self.effort.spent()
        if self.best.cost < before:
            self._resegment()

    def _step(self, found: RoundBest, walk: Walk, temperature: float) -> None:
        """Try some moves, and keep a partition that is better than the best of the round."""
        moves = self.effort.take(EVALUATIONS_PER_STEP) * MOVES_PER_EVALUATION
        stages, margin = np.empty_like(found.stages), self.settings.margin
        cost = int(
            anneal(self.graph, walk, self.state, moves, temperature, margin, found.cost, stages)
        )
        if cost < found.cost:
            found.cost, found.stages = cost, stages
            self.best.offer(cost, partial(Partition, stages))

    def _resegment(self) -> None:
        """Segment orders around the best partition as long as that improves it."""
        while not self.effort.is_spent():
            orders = self.effort.take(RESEGMENTED_ORDERS)
            if not segment_near_best(self.instance, self.best, orders, self.generator):
                return


def walk_from(instance: PipelineInstance, stages: IntArray) -> Walk:
    """Return a walk that starts with a copy of a partition."""
    graph, count = instance.graph, min(instance.k, instance.nodes)
    loads = np.zeros(count, np.int64)
    np.add.at(loads, stages, graph.param_load)
    costs = stage_costs(graph, stages, count) - stage_overflow(graph, stages, count)
    stages, readers = stages.copy(), np.zeros((instance.nodes, count), np.int32)
    count_readers(kernel_graph(graph), stages, readers)
    return Walk(stages, costs, loads, readers)


def segment_near_best(
    instance: PipelineInstance,
    best: Incumbent[Partition],
    orders: int,
    generator: np.random.Generator,
) -> bool:
    """Segment orders consistent with the best partition; return whether one was better."""
    is_better = False
    for _ in range(orders):
        order = noisy_order(instance, best.solution.stages, 1.0, generator)
        if has_segmentation(instance, order, best.cost - 1):
            cost, ends = segment_order(instance, order)
            is_better |= best.offer(cost, partial(Partition.from_segments, order, ends))
    return is_better
