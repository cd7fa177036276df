"""`prefix-bound`: refutes thresholds by bounds on the first s stages, for s = 1 to k.

Thresholds between what has been refuted and the cost of the best partition are tried. At each, an
attempt is made to refute it, and another to meet it stage by stage. Both may fail. Such a threshold
stands until the next round, in which steps branch more often. Real models are long: a step's linear
program is nearly integral there, and few nodes are open in it.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from boundmark.bounds.best import Best
from boundmark.bounds.checker.pipeline.limits import LARGEST_TREE_GRAPH
from boundmark.bounds.pipeline.flows import minimum_cuts
from boundmark.bounds.pipeline.paper import work
from boundmark.bounds.pipeline.prefixes.attempt import (
    FEW_BRANCHINGS,
    KIND,
    SHORT,
    Attempt,
    Context,
)
from boundmark.bounds.pipeline.prefixes.relaxation import (
    PrefixWeights,
    Superblocks,
    refuse_more_than,
)
from boundmark.bounds.pipeline.prefixes.search import Program, Search
from boundmark.bounds.pipeline.prefixes.windows import SHARE_UNITS, OutOfTimeError, Windows, scaled
from boundmark.bounds.pipeline.quick_partition import start_from_quick_partition
from boundmark.problems.arrays import frozen
from boundmark.problems.certificate import Certificate
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import Partition, PipelineInstance
from boundmark.problems.pipeline.instance import stage_costs


class Round(NamedTuple):
    """Settings of one round: how much effort goes into a threshold."""

    # In each step.
    branchings: int
    # Stages of a step.
    stages: int
    # How close the refuted threshold is to come to the least one that stands, as a part of it.
    precision: float
    # Whether a program of all stages is tried at each threshold, and not only where the gap is
    # nearly closed: a tick is a large part of the cost of a small instance.
    is_whole: bool = False


# When steps of one stage prove no more, those of two do, because both have to agree on the prefix
# between them.
ROUNDS = (
    Round(0, 1, 0.003),
    Round(10, 1, 0.003),
    Round(10, 2, 0.002),
    Round(25, 2, 0.001),
    Round(100, 2, 0.001),
    Round(400, 2, 0.0005),
    Round(1600, 2, 0.0002),
    Round(6400, 3, 0.0, is_whole=True),
)

# From so many stages on, the losses of short steps add up, and there are fewer steps of four.
MANY_STAGES = 12
ROUNDS_OF_MANY_STAGES = (
    Round(0, 1, 0.01),
    Round(10, 1, 0.02),
    Round(50, 4, 0.003),
    Round(200, 4, 0.001),
    Round(400, 4, 0.0005),
    Round(1600, 4, 0.0002),
    Round(6400, 4, 0.0, is_whole=True),
)


def run(instance: PipelineInstance, budget: Budget, seed: int, progress: Progress) -> None:
    """Report ever better partitions and certificates.

    Raises `UnsupportedError` if the instance is too large for the checker.
    """
    refuse_more_than(LARGEST_TREE_GRAPH, instance)
    best = Best.before(instance, progress)
    work.run_mean_work(instance, budget, seed, best)
    minimum_cuts.run_node_cut(instance, budget, seed, best)
    start_from_quick_partition(instance, seed, budget, best)
    # The context of a large graph takes part of a second.
    with suppress(OutOfTimeError):
        context = Context.of(instance, budget)
        ThresholdSearch(context, best).run()


class ThresholdSearch:
    """Search that raises the bound and lowers the best cost, round by round, until they meet."""

    def __init__(self, context: Context, best: Best) -> None:
        self._context, self._best = context, best
        self._own_refuted = int(best.certified) - 1
        self._waiting: Attempt | None = None
        self._reported = context.budget.spent()
        self._reporting = 0.0
        self._meeting = 0.0

    def run(self) -> None:
        """Go through the rounds."""
        is_many = self._context.instance.k >= MANY_STAGES
        with suppress(OutOfTimeError):
            for effort in ROUNDS_OF_MANY_STAGES if is_many else ROUNDS:
                if self._is_closed:
                    break
                self._run_round(effort)
                self._improve(max(effort.branchings, FEW_BRANCHINGS))
        self._report()

    @property
    def _refuted(self) -> int:
        """The largest threshold that was refuted, here or by another method."""
        return max(self._own_refuted, int(self._best.certified) - 1)

    @property
    def _is_closed(self) -> bool:
        return self._refuted >= self._best.objective - 1

    def _run_round(self, effort: Round) -> None:
        """Try thresholds until the refuted one is close enough to the least that stands."""
        best, is_first, slack = self._best, True, 0.0
        # Where the first threshold is in the gap. For long steps it is lower: a failure takes long,
        # and much is rarely refuted.
        share = 0.5 if effort.stages <= SHORT else 1 / 6
        stands = best.objective
        while not self._is_closed:
            high = int(min(stands, best.objective))
            width = high - self._refuted
            if width <= max(1, int(effort.precision * high)) and (width <= 1 or not is_first):
                break
            # Then the threshold just below the best cost is tried first, with steps from both ends.
            is_narrow = best.objective - self._refuted <= 0.01 * best.objective
            starts_at_the_top = is_narrow and is_first
            threshold = high - 1 if starts_at_the_top else self._between(high, slack, share)
            is_first = False
            found = self._decide(threshold, effort, is_narrow)
            if found is None:
                slack = 0.0
            else:
                stands, slack = threshold, found

    def _between(self, high: int, slack: float, share: float) -> int:
        """Return a threshold between the refuted one and the least that stands."""
        # `slack`: What was lacking at the threshold that stands, in stages; 0 if that is not known.
        # Each of the stages gets less by what a lower threshold lacks. `share`: Where the threshold
        # is otherwise, as a part of the way up.
        width = high - self._refuted
        guess = int(slack / self._context.instance.k * high if slack else (1 - share) * width)
        # Least distance from both bounds.
        nearest = int(0.125 * width)
        return high - max(1, min(max(guess, nearest), width - max(1, nearest)))

    def _decide(self, threshold: int, effort: Round, is_narrow: bool) -> float | None:
        """Try to refute a threshold, or else to find a partition that meets it.

        Returns None if either has come off, otherwise what was lacking.
        """
        attempt = Attempt(self._context, threshold)
        branchings, stages = effort.branchings, effort.stages
        if attempt.is_refuted or attempt.forward(branchings, stages):
            self._refute(attempt)
            return None
        is_long = stages > SHORT
        if is_long and attempt.back_and_forth(branchings, stages):
            self._refute(attempt)
            return None
        if branchings and (is_narrow or self._may_meet) and self._meet(threshold, branchings):
            return None
        # From so many branchings on, a program of all stages is tried, and, after short steps, the
        # other end.
        is_worth_all = effort.is_whole or (is_narrow and branchings >= 100)
        if is_worth_all and (
            (not is_long and attempt.backward(branchings, stages))
            or attempt.finish(branchings, self._best)
        ):
            self._refute(attempt)
            return None
        return None if self._best.objective <= threshold else attempt.slack

    @property
    def _may_meet(self) -> bool:
        """Whether there is time for partitions; the last one begun may exceed it."""
        return self._meeting <= 0.25 * self._context.budget.spent()

    def _improve(self, branchings: int) -> None:
        """Bisect for the least threshold at which a partition is built, while there is time."""
        unmet, best = self._refuted, self._best
        while self._may_meet and best.objective - unmet > 0.002 * best.objective:
            threshold = unmet + int(best.objective - unmet) // 2
            if not self._meet(threshold, branchings):
                unmet = threshold

    def _meet(self, threshold: int, branchings: int) -> bool:
        """Build partitions at a threshold; return whether one of them meets it."""
        budget = self._context.budget
        began = budget.spent()
        most_branchings = 200
        for price in (1.0, 0.0):
            limit = min(branchings, most_branchings)
            partition = Greedy(self._context, threshold, price, limit).partition()
            self._meeting += budget.spent() - began
            began = budget.spent()
            if partition is not None:
                self._best.solution(partition)
                if self._best.objective <= threshold:
                    return True
        return False

    def _refute(self, attempt: Attempt) -> None:
        self._own_refuted, self._waiting = attempt.threshold, attempt
        budget = self._context.budget
        pause = min(0.1 * budget.wall_seconds, 20 * self._reporting)
        if budget.spent() >= self._reported + pause:
            self._report()

    def _report(self) -> None:
        """Report the certificate of the largest threshold refuted."""
        if self._waiting is not None:
            began = self._context.budget.spent()
            instance, payload = self._context.instance, self._waiting.payload()
            bound = self._waiting.threshold + 1
            self._best.bound(Certificate.of(instance, KIND, bound, payload, "prefix-bound"))
            self._waiting = None
            self._reported = self._context.budget.spent()
            self._reporting = self._reported - began


Nodes = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Greedy:
    """Builder of partitions stage by stage, each stage the best that a threshold allows.

    It is the step of `attempt` with the prefix before the stage given, instead of any that weighs
    no more. The best stage has much work; tensors that the stages to come have to read are charged
    to it. Nothing is proved: a threshold for which this fails may still be met.
    """

    context: Context
    threshold: int
    # The part of such a tensor's transfer that is charged.
    price: float
    # For each stage, at most.
    branchings: int

    def partition(self) -> Partition | None:
        """Return a partition whose stages, but maybe the last, cost at most the threshold.

        The last stage takes what is left. It may cost more, and still less than the bottleneck
        stage of other partitions.

        Raises `OutOfTimeError` if the budget ends first.
        """
        instance = self.context.instance
        k = instance.k
        stages = np.full(instance.nodes, -1, dtype=np.int64)
        for done in range(k - 1):
            rest = stages < 0
            if not rest.any():
                break
            if int(instance.graph.work[rest].sum()) > (k - done) * self.threshold:
                return None
            found = self._stage(rest, k - done)
            if found is None:
                return None
            stages[found] = done
        stages[stages < 0] = k - 1
        return Partition(frozen(stages))

    def _stage(self, rest: Nodes, left: int) -> Nodes | None:
        """Return the next stage, a subset of the nodes that are left."""
        search, work = self._search(rest, left), self.context.instance.graph.work
        done = int(work[~rest].sum()) / max(self.threshold, 1)
        # How much worse than the best one a stage may be, in stages.
        precision = 1e-4
        best, best_value = None, -np.inf
        for _ in range(self.branchings + 1):
            leaf = search.worst
            if leaf is None or leaf.point is None or leaf.point.y is None:
                break
            for inside in _rounded(leaf.point.y[:, 1]):
                stage = rest & inside
                value = self._value(stage, rest)
                if value > best_value and self._fits(stage):
                    best, best_value = stage, value
            if -search.optimum - done - best_value < precision or not search.grow():
                break
        return best

    def _search(self, rest: Nodes, left: int) -> Search:
        """Return the search for the stage behind those before it."""
        context, graph = self.context, self.context.instance.graph
        weights = scaled(graph.work, self.threshold)
        is_far = context.closure.weights_before(np.where(rest, weights, 0)) > SHARE_UNITS
        windows = Windows(np.where(rest, 1 + is_far, 0), np.where(rest, 2, 0))
        anything = PrefixWeights(weights, np.array([0, 0]), np.array([2**62, 2**62]))
        merged = np.array([1, 1, max(1, left - 1)])
        # With a price, what the rest reads counts, and its costs are limited.
        is_costed = np.array([False, True, self.price > 0])
        superblocks = Superblocks(merged, is_costed, prefixes=anything)
        threads = context.budget.threads
        program = Program(
            graph,
            max(self.threshold, 1),
            superblocks,
            windows,
            "upper",
            weights,
            threads,
            self.price,
        )
        return Search(graph, context.closure, program, windows, context.budget)

    def _value(self, stage: Nodes, rest: Nodes) -> float:
        graph = self.context.instance.graph
        dag, other = graph.dag, rest & ~stage
        cut = np.unique(dag.sources[other[dag.targets] & ~other[dag.sources]])
        charged = self.price * int(graph.transfer[cut].sum())
        return (int(graph.work[stage].sum()) - charged) / max(self.threshold, 1)

    def _fits(self, stage: Nodes) -> bool:
        costs = stage_costs(self.context.instance.graph, stage.astype(np.int64), 2)
        return int(costs[1]) <= self.threshold


def _rounded(values: npt.NDArray[np.float64]) -> Iterator[Nodes]:
    """Yield down-sets rounded from values, at several thresholds."""
    for value in np.unique(values.round(6))[::-1]:
        if value > 0:
            yield values >= value - 1e-6
