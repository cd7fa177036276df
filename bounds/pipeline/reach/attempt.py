"""An attempt to refute a threshold, step by step from either end."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from boundmark.bounds import checker
from boundmark.bounds.best import Best
from boundmark.bounds.checker import budget as checker_budget
from boundmark.bounds.checker.pipeline.instance import Instance
from boundmark.bounds.checker.pipeline.limits import LARGEST_TREE_GRAPH
from boundmark.bounds.pipeline.reach.prefixes import Closure, Prefixes, Step, Weights, scaled
from boundmark.bounds.pipeline.reach.proof import Effort, Proof, Prover, proof_without_search
from boundmark.bounds.pipeline.reach.search import Program, Search, StageLimits
from boundmark.bounds.pipeline.share import ShareTable
from boundmark.bounds.pipeline.tree.relaxation import FloatArray
from boundmark.bounds.pipeline.windows import SHARE_UNITS, shares
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import Partition, PipelineInstance

KIND = "reach/1"


@dataclass(frozen=True)
class StepSettings:
    """Settings of steps: how long they are searched, and which ones are taken.

    Attributes
    ----------
    most_open_columns
        Number of open columns above which a program of all stages at once is not tried.
    nearly_refuted
        Steps from the other end follow if the bounds of some prefix are closer than this, in
        stages.
    narrowed
        Factor by which steps from one end have to narrow the prefixes for those from the other end
        to be taken once more.
    most_roundings
        Number of partitions rounded from one point, at most.
    few_branchings, some_branchings
        Branchings of the steps of one stage, and of two stages, that come before longer ones.
    short
        Steps of up to so many stages end at every prefix; longer ones follow one another, so that
        each has time to branch.
    prices
        For partitions built stage by stage: part of a tensor's transfer that is charged to a stage
        if later stages have to read it, in the order in which they are tried.
    stage_precision
        How much worse than the best one such a stage may be, in stages.
    """

    most_open_columns: int = 2500
    nearly_refuted: float = 0.1
    narrowed: float = 0.5
    most_roundings: int = 8
    few_branchings: int = 10
    some_branchings: int = 25
    short: int = 2
    prices: tuple[float, ...] = (1.0, 0.0)
    stage_precision: float = 1e-4


# Margin by which a leaf's bound has to exceed the threshold, in ticks.
CLEARLY = 1e-3

# Integers in a certificate, at most: more would not fit into a file that the checker reads.
MOST_VALUES = 2**23

# The least improvement of a limit, in stages, for which a proof is stored.
LEAST_GAIN = 1e-6


@dataclass(frozen=True, eq=False)
class Context:
    """Data of an instance that all attempts to refute thresholds share.

    Attributes
    ----------
    checked
        The instance as the checker reads it.
    table
        For shares; without one, a node's share is its work over the threshold.
    """

    instance: PipelineInstance
    closure: Closure
    checked: Instance
    table: ShareTable | None
    budget: Budget
    settings: StepSettings = StepSettings()

    @classmethod
    def of(cls, instance: PipelineInstance, budget: Budget) -> "Context":
        """Return the context for attempts without a table of shares.

        Raises
        ------
        UnsupportedError
            If the instance is too large for the checker.
        OutOfTimeError
            If the budget ends first.
        """
        refuse_large(instance)
        closure = Closure.of(instance.graph.dag, budget)
        checked = checker.check_instance(instance.to_json())
        return cls(instance, closure, checked, None, budget)

    def amounts(self, threshold: int) -> IntArray | None:
        """Return each node's share of a stage; None if a node does not fit into any."""
        if self.table is not None:
            return shares(self.table, threshold)
        work = self.instance.graph.work
        return None if int(work.max()) > threshold else scaled(work, threshold)

    def weights(self, threshold: int, amounts: IntArray) -> Weights:
        """Return the nodes' weights: shares if there is a table, else moved work."""
        graph = self.instance.graph
        if self.table is not None:
            return Weights.unmoved(graph, amounts)
        return Weights.moved(graph, threshold)


def refuse_large(instance: PipelineInstance) -> None:
    """Raise `UnsupportedError` if the instance is too large for the checker."""
    largest = max(instance.nodes, instance.k)
    if largest > LARGEST_TREE_GRAPH:
        raise UnsupportedError(
            f"the instance has {largest} nodes or stages; expected at most {LARGEST_TREE_GRAPH}."
        )


class Attempt:
    """Bounds on the prefixes of all pipelines whose stages cost at most a threshold.

    Attributes
    ----------
    threshold
        In ticks.
    is_refuted
        Whether there is no such pipeline.
    effort
        What the steps so far take to check and to store.
    """

    def __init__(self, context: Context, threshold: int, amounts: IntArray) -> None:
        self.threshold = threshold
        self._context, self._amounts = context, amounts
        self._weights = context.weights(threshold, amounts)
        k = context.instance.k
        self.prefixes = Prefixes(context.closure, self._weights.nodes, SHARE_UNITS, k)
        self.is_refuted = self.prefixes.are_refuted
        self._prover = Prover(context.checked, amounts.tolist(), threshold)
        self._proofs: list[Proof] = []
        self.effort = Effort(self._steps_before_the_first(), 0)
        self.programs = 0

    @property
    def slack(self) -> float:
        """The distance of the last prefix's bounds, in stages; 0 if the threshold is refuted."""
        prefixes = self.prefixes
        if self.is_refuted:
            return 0.0
        last = max(1, prefixes.k - 1)
        return (prefixes.at_most[last] - prefixes.at_least[last]) / SHARE_UNITS

    @property
    def width(self) -> float:
        """The least distance between a prefix's upper and lower bound.

        In stages; 0 if the threshold is refuted.
        """
        if self.is_refuted:
            return 0.0
        between = zip(self.prefixes.at_least[1:-1], self.prefixes.at_most[1:-1], strict=True)
        return min((most - least for least, most in between), default=0) / SHARE_UNITS

    def take(self, step: Step, branchings: int) -> bool:
        """Search a step until it refutes the threshold, is decided, or has branched often enough.

        Returns
        -------
        Whether something has been learned.

        Raises
        ------
        OutOfTimeError
            If the budget ends first.
        """
        prefixes, context = self.prefixes, self._context
        superblocks = prefixes.superblocks(step)
        windows = prefixes.windows(superblocks)
        if not windows.are_possible:
            return self._learn(proof_without_search(context.checked, prefixes, step))
        graph, budget = context.instance.graph, context.budget
        limits = StageLimits(graph, self._amounts, self.threshold)
        program = Program(limits, superblocks, windows, step.side, budget.threads)
        search = Search(graph, context.closure, program, windows, budget)
        sign = -1 if step.side == "upper" else 1
        enough = sign * prefixes.opposite(step) / SHARE_UNITS + LEAST_GAIN
        for _ in range(branchings):
            if search.optimum > enough or not search.grow():
                break
        self.programs += program.count
        gain = search.optimum - sign * prefixes.bound(step) / SHARE_UNITS
        if gain < LEAST_GAIN:
            return False
        proof = self._prover.proof(search, prefixes, step, superblocks)
        return proof is not None and self._learn(proof)

    def forward(self, branchings: int, stages: int = 1) -> bool:
        """Take steps from the first stage on; return whether the threshold is refuted.

        Parameters
        ----------
        branchings
            In each of the longest steps.
        stages
            Of the longest steps.
        """
        k, settings = self._context.instance.k, self._context.settings
        for reached in range(1, k + 1):
            for length, most in _steps_to(reached, k, branchings, stages, settings):
                if self.is_refuted:
                    return True
                self.take(Step(max(0, reached - length), reached - 1, "upper"), most)
        return self.is_refuted

    def backward(self, branchings: int, stages: int = 1) -> bool:
        """Take steps from the last stage on; return whether the threshold is refuted."""
        k, settings = self._context.instance.k, self._context.settings
        for reached in range(1, k + 1):
            for length, most in _steps_to(reached, k, branchings, stages, settings):
                if self.is_refuted:
                    return True
                self.take(Step(k - reached, min(k, k - reached + length) - 1, "lower"), most)
        return self.is_refuted

    def back_and_forth(self, branchings: int, stages: int) -> bool:
        """Take steps from either end in turn, while that narrows the prefixes enough.

        Steps from one end search between the bounds that those from the other end have left.
        """
        most = self._context.settings.nearly_refuted
        for turn in itertools.cycle((self.backward, self.forward)):
            if self.is_refuted or self.width >= most:
                break
            most = self._context.settings.narrowed * self.width
            turn(branchings, stages)
        return self.is_refuted

    def finish(self, branchings: int, best: Best) -> bool:
        """Search all stages in one program; return whether the threshold is refuted.

        Partitions that come up on the way are reported.
        """
        context, prefixes = self._context, self.prefixes
        instance = context.instance
        step = Step(0, instance.k - 1, "upper")
        superblocks = prefixes.superblocks(step)
        windows = prefixes.windows(superblocks)
        if not windows.are_possible:
            return self._learn(proof_without_search(context.checked, prefixes, step))
        open_columns = int((windows.last - windows.first).sum())
        if open_columns > context.settings.most_open_columns:
            return False
        limits = StageLimits(instance.graph, self._amounts, self.threshold)
        program = Program(limits, superblocks, windows, "cost", context.budget.threads)
        search = Search(instance.graph, context.closure, program, windows, context.budget)
        for _ in range(branchings + 1):
            if search.optimum * self.threshold > self.threshold + CLEARLY:
                break
            leaf = search.worst
            if leaf is not None and leaf.point is not None and leaf.point.y is not None:
                most = context.settings.most_roundings
                for partition in _rounded(leaf.point.y, instance.k, most):
                    best.solution(partition)
                if best.objective <= self.threshold:
                    return False
            if not search.grow():
                break
        self.programs += program.count
        proof = self._prover.proof(search, prefixes, step, superblocks)
        return proof is not None and self._learn(proof)

    def payload(self) -> dict[str, Any]:
        """Return the certificate's payload, once the threshold is refuted."""
        table = self._context.table
        return {
            "threshold": self.threshold,
            "flows": [] if table is None else table.flows(self.threshold),
            "weights": self._weights.nodes.tolist(),
            "moves": self._weights.moves_to_json(),
            "steps": [proof.to_json() for proof in self._proofs],
        }

    def _steps_before_the_first(self) -> int:
        """Return the checker's steps for flows, order and closure."""
        graph, table = self._context.instance.graph, self._context.table
        flows = [] if table is None else table.flows(self.threshold)
        nodes = len(graph.work)
        return (
            nodes**2 // 4
            + nodes
            + 2 * graph.dag.edges
            + sum(8 + len(flow["edges"]) for flow in flows)
        )

    def _learn(self, proof: Proof) -> bool:
        step, limit, prefixes = proof.step, proof.limit, self.prefixes
        sign = 1 if step.side == "upper" else -1
        if sign * limit >= sign * prefixes.bound(step):
            return False
        effort = self.effort + proof.effort
        if effort.steps > checker_budget.MOST_STEPS or effort.values > MOST_VALUES:
            return False
        is_stuck = prefixes.is_stuck(step, limit)
        prefixes.learn(step, limit)
        self._proofs.append(proof)
        self.effort = effort
        self.is_refuted = is_stuck or prefixes.are_refuted
        return True


def _steps_to(
    reached: int, k: int, branchings: int, stages: int, settings: StepSettings
) -> Iterator[tuple[int, int]]:
    """Yield the lengths and branchings of the steps to the prefix or suffix of some stages.

    Short steps narrow the windows of the longer ones that follow. The longest ones follow one
    another, instead of ending everywhere: then there is time for them to branch.
    """
    if stages > 1:
        yield 1, min(branchings, settings.few_branchings)
    if stages > settings.short:
        yield settings.short, min(branchings, settings.some_branchings)
    if stages <= settings.short or reached % stages == 0 or reached == k:
        yield stages, branchings


def _rounded(y: FloatArray, k: int, most: int) -> Iterator[Partition]:
    """Yield partitions rounded from a point, at several thresholds for y."""
    values = np.unique(y.round(3))
    for value in values[(values > 0) & (values <= 1)][:: max(1, len(values) // most)]:
        stages = (y < value - 1e-6).sum(axis=1) - 1
        yield Partition(frozen(np.clip(stages, 0, k - 1)))
