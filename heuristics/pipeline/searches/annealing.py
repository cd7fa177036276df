"""Rounds of simulated annealing over moves of nodes, with slicing anew around what they find.

The usual scheme ([KIRKPATRICK83]) on the partition itself: a move of a node to
another stage changes the costs of two stages, and is tried in a five-hundredth of the time that
sorting and slicing an order takes. A round cools down once. After some rounds from partitions far
from each other, rounds go on from the best partition found. Which partition a long round ends in
depends on the seed by as much as twice the time would gain, and in models more on where it begins.

Temperatures, margin and rounds were chosen on regal-style graphs with k = 4 .. 32 and a few models;
see docs/performance.md.
"""

from dataclasses import dataclass

import numpy as np

from boundmark.heuristics.pipeline.kernels.draws import State, new_state
from boundmark.heuristics.pipeline.kernels.graph import Graph, kernel_graph
from boundmark.heuristics.pipeline.kernels.node_moves import anneal
from boundmark.heuristics.pipeline.kernels.walk import Walk, count_readers
from boundmark.heuristics.pipeline.orders.fewest_open import noisy_fewest_open_order
from boundmark.heuristics.pipeline.orders.noisy_order import noisy_order
from boundmark.heuristics.pipeline.searches.effort import Effort
from boundmark.heuristics.pipeline.searches.incumbent import NO_COST, Incumbent
from boundmark.heuristics.pipeline.slicing.best_slicing import beats, slice_order
from boundmark.problems.arrays import IntArray
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import Partition, PipelineInstance
from boundmark.problems.pipeline.objective import stage_costs, stage_overflow

# Moves of a round per node, as far as there is time for more than one round.
MOVES_PER_NODE = 10_000
# The part of all rounds that begins far from what is known.
DISTANT_SHARE = 0.3
# Orders of which the best is where such a round begins.
DISTANT_ORDERS = 10
# After so many rounds in turn that go on from the best partition and find nothing, one is distant.
PATIENCE = 2
# At the beginning of a round, in units of the best cost, as is the margin, but at most so much of
# what a node costs in the mean: where stages have hundreds of nodes, what is hotter than that soon
# is far from any good partition, and does not find back.
HOTTEST, HOTTEST_NODES = 0.03, 1.5
# At the beginning of a round that goes on from the best partition, in units of the above.
REHEATED = 1 / 3
# At the end of a round, in units of what a node costs in the mean. Large stages can be balanced to
# a small part of their cost, and what is too hot for that ends anywhere near the best partition.
COLDEST = 0.015
MARGIN = 0.02
# Together no longer than sorting and slicing an order takes, and as long as 200 moves took before
# they were quicker.
MOVES_PER_EVALUATION = 300
EVALUATIONS_PER_STEP = 13
# Orders sliced around a partition that annealing has found.
RESLICED = 4
# Steps, and the part of the time that they end at, from which the speed of moves is known.
TIMED_STEPS, TIMED_SHARE = 10, 0.02
# Counts of readers by node and stage, 4 bytes each. Partitions that need more are only sliced anew.
MOST_COUNTS = 2**28


def walk_from(instance: PipelineInstance, stages: IntArray) -> Walk:
    """Return a walk that begins with a copy of a partition."""
    graph, count = instance.graph, min(instance.k, instance.nodes)
    loads = np.zeros(count, np.int64)
    np.add.at(loads, stages, graph.param_load)
    costs = stage_costs(graph, stages, count) - stage_overflow(graph, stages, count)
    stages, readers = stages.copy(), np.zeros((instance.nodes, count), np.int32)
    count_readers(kernel_graph(graph), stages, readers)
    return Walk(stages, costs, loads, readers)


def hottest(instance: PipelineInstance) -> float:
    """Return the temperature at the beginning of a round, in units of the best cost."""
    return min(HOTTEST, HOTTEST_NODES * _mean_cost_of_a_node(instance))


def coldest(instance: PipelineInstance) -> float:
    """Return the temperature at the end of a round, in units of the best cost."""
    return COLDEST * _mean_cost_of_a_node(instance)


def _mean_cost_of_a_node(instance: PipelineInstance) -> float:
    """Return what a node costs in the mean, in units of the best cost, if all stages cost that."""
    return min(instance.k, instance.nodes) / instance.nodes


@dataclass
class _Found:
    """The best partition of a round."""

    cost: int
    stages: IntArray


def refine(
    instance: PipelineInstance,
    best: Incumbent,
    budget: Budget,
    evaluations: int | None,
    generator: np.random.Generator,
) -> None:
    """Improve the best partition until the evaluations are used up or the budget ends.

    Parameters
    ----------
    evaluations
        Orders sliced, and moves at `MOVES_PER_EVALUATION` each. The cooling follows their number
        or, without one, the clock.
    """
    effort = Effort(budget, evaluations)
    if instance.nodes * min(instance.k, instance.nodes) > MOST_COUNTS:
        while best.cost > 0 and not effort.is_spent():
            reslice(instance, best, effort.take(RESLICED), generator)
        return
    graph, state = kernel_graph(instance.graph), new_state(generator)
    search = _Search(instance, graph, state, generator, effort, best)
    count = search.affordable_rounds()
    start, failures = _Found(best.cost, best.stages), 0
    for done in range(count):
        if best.cost == 0 or effort.is_spent():
            return
        is_distant = done < max(1, DISTANT_SHARE * count) or failures == PATIENCE
        if is_distant:
            failures = 0
        if done > 0:
            start = search.distant() if is_distant else _Found(best.cost, best.stages)
        before = best.cost
        search.cool_down(
            start, hottest(instance) * (1 if is_distant else REHEATED), (done + 1) / count
        )
        failures = 0 if is_distant or best.cost < before else failures + 1


@dataclass(frozen=True)
class _Search:
    """What all rounds share."""

    instance: PipelineInstance
    graph: Graph
    state: State
    generator: np.random.Generator
    effort: Effort
    best: Incumbent

    def affordable_rounds(self) -> int:
        """Return how many rounds the effort that is left is enough for, at least one.

        Without a number of evaluations, that takes a few moves, at the end's temperature.
        """
        moves = self.instance.nodes * MOVES_PER_NODE
        if self.effort.evaluations is not None:
            return max(1, round(self.effort.evaluations * MOVES_PER_EVALUATION / moves))
        walk, begun, steps = walk_from(self.instance, self.best.stages), self.effort.spent(), 0
        found = _Found(self.best.cost, self.best.stages)
        while steps < TIMED_STEPS and self.effort.spent() < TIMED_SHARE:
            self._step(found, walk, coldest(self.instance))
            steps += 1
        spent = self.effort.spent() - begun
        if steps == 0 or spent <= 0:
            return 1
        timed = steps * EVALUATIONS_PER_STEP * MOVES_PER_EVALUATION
        return max(1, round(timed / spent / moves))

    def distant(self) -> _Found:
        """Return the best slicing of several orders that keep few transfers open, more or less."""
        instance, generator = self.instance, self.generator
        found = _Found(NO_COST, self.best.stages)
        for _ in range(max(1, self.effort.take(DISTANT_ORDERS))):
            order = noisy_fewest_open_order(instance.graph, generator.random(), generator)
            if found.cost == NO_COST or beats(instance, order, found.cost - 1):
                cost, ends = slice_order(instance, order)
                found = _Found(cost, Partition.from_slices(order, ends).stages)
        self.best.offer(found.cost, found.stages)
        return found

    def cool_down(self, found: _Found, heat: float, end: float) -> None:
        """Anneal from a partition until a part of the effort is spent.

        Parameters
        ----------
        found
            Where it begins; becomes the best of the round.
        heat
            The temperature at the beginning, in units of the best cost of the round.
        end
            The part.
        """
        walk, before = walk_from(self.instance, found.stages), self.best.cost
        cooling, begun = coldest(self.instance) / heat, self.effort.spent()
        spent = begun
        while spent < end and self.best.cost > 0 and not self.effort.is_spent():
            self._step(found, walk, heat * cooling ** ((spent - begun) / (end - begun)))
            spent = self.effort.spent()
        if self.best.cost < before:
            self._reslice()

    def _step(self, found: _Found, walk: Walk, temperature: float) -> None:
        """Try some moves, and keep what is better than the best of the round."""
        moves = self.effort.take(EVALUATIONS_PER_STEP) * MOVES_PER_EVALUATION
        stages = np.empty_like(found.stages)
        cost = int(
            anneal(self.graph, walk, self.state, moves, temperature, MARGIN, found.cost, stages)
        )
        if cost < found.cost:
            found.cost, found.stages = cost, stages
            self.best.offer(cost, stages)

    def _reslice(self) -> None:
        """Slice orders around the best partition as long as that makes it better."""
        while not self.effort.is_spent():
            orders = self.effort.take(RESLICED)
            if not reslice(self.instance, self.best, orders, self.generator):
                return


def reslice(
    instance: PipelineInstance, best: Incumbent, orders: int, generator: np.random.Generator
) -> bool:
    """Slice orders consistent with the best partition; return whether one was better."""
    is_better = False
    for _ in range(orders):
        order = noisy_order(instance, best.stages, 1.0, generator)
        if beats(instance, order, best.cost - 1):
            cost, ends = slice_order(instance, order)
            is_better |= best.offer_slices(cost, order, ends)
    return is_better
