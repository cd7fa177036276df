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
from boundmark.bounds.pipeline.reach.search import Program, Search
from boundmark.bounds.pipeline.share import ShareTable
from boundmark.bounds.pipeline.tree.relaxation import FloatArray
from boundmark.bounds.pipeline.windows import SHARE_UNITS, shares
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import Partition, PipelineInstance

KIND = "reach/1"

# Above this, all stages at once are too large a program.
MOST_OPEN_COLUMNS = 2500

# In stages, what steps from one end may lack for those from the other end to begin, and by what
# factor either have to narrow the prefixes for the others to be taken once more.
NEARLY_REFUTED = 0.1
NARROWED = 0.5

# Of a point, at most.
MOST_ROUNDINGS = 8

# Of a step of one stage before one of several, and of one of two stages before a longer one.
FEW_BRANCHINGS = 10
SOME_BRANCHINGS = 25

# Steps of up to so many stages end at every prefix.
SHORT = 2

# In ticks, by how much a leaf's bound is to exceed the threshold.
CLEARLY = 1e-3

# Integers in a certificate, at most: more would not fit into a file that the checker reads.
MOST_VALUES = 2**23

# By how much a limit has to be better, in stages, for its proof to be worth its place.
LEAST_GAIN = 1e-6


@dataclass(frozen=True, eq=False)
class Setting:
    """Data that all attempts on an instance share.

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

    @classmethod
    def of(cls, instance: PipelineInstance, budget: Budget) -> "Setting":
        """Return what attempts without a table have in common.

        Raises
        ------
        UnsupportedError
            If the instance is too large for the checker.
        """
        largest = max(instance.nodes, instance.k)
        if largest > LARGEST_TREE_GRAPH:
            raise UnsupportedError(
                f"the instance has {largest} nodes or stages; expected at most "
                f"{LARGEST_TREE_GRAPH}."
            )
        checked = checker.check_instance(instance.to_json())
        return cls(instance, Closure.of(instance.graph.dag), checked, None, budget)

    def amounts(self, threshold: int) -> IntArray | None:
        """Return each node's share of a stage; None if a node does not fit into any."""
        if self.table is not None:
            return shares(self.table, threshold)
        work = self.instance.graph.work
        return None if int(work.max()) > threshold else scaled(work, threshold)

    def weights(self, threshold: int, amounts: IntArray) -> Weights:
        """Return what nodes weigh: their shares, if these are better than their work."""
        graph = self.instance.graph
        if self.table is not None:
            return Weights.unmoved(graph, amounts)
        return Weights.moved(graph, threshold)


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

    def __init__(self, setting: Setting, threshold: int, amounts: IntArray) -> None:
        self.threshold = threshold
        self._setting, self._amounts = setting, amounts
        self._weights = setting.weights(threshold, amounts)
        k = setting.instance.k
        self.prefixes = Prefixes(setting.closure, self._weights.nodes, SHARE_UNITS, k)
        self.is_refuted = self.prefixes.are_refuted
        self._prover = Prover(setting.checked, amounts.tolist(), threshold)
        self._proofs: list[Proof] = []
        self.effort = Effort(self._steps_before_the_first(), 0)
        self.programs = 0

    @property
    def slack(self) -> float:
        """How much less the prefixes may weigh until they meet, in stages; 0 if they do."""
        prefixes = self.prefixes
        if self.is_refuted:
            return 0.0
        last = max(1, prefixes.k - 1)
        return (prefixes.at_most[last] - prefixes.at_least[last]) / SHARE_UNITS

    @property
    def width(self) -> float:
        """The least distance of what a prefix weighs at most from what it weighs at least.

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
        prefixes, setting = self.prefixes, self._setting
        superblocks = prefixes.superblocks(step)
        windows = prefixes.windows(superblocks)
        if not windows.are_possible:
            return self._learn(proof_without_search(setting.checked, prefixes, step))
        graph, budget = setting.instance.graph, setting.budget
        program = Program(
            graph, superblocks, windows, self._amounts, self.threshold, step.side, budget.threads
        )
        search = Search(graph, setting.closure, program, windows, budget)
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
        k = self._setting.instance.k
        for reached in range(1, k + 1):
            for length, most in _steps_to(reached, k, branchings, stages):
                if self.is_refuted:
                    return True
                self.take(Step(max(0, reached - length), reached - 1, "upper"), most)
        return self.is_refuted

    def backward(self, branchings: int, stages: int = 1) -> bool:
        """Do the same from the last stage on."""
        k = self._setting.instance.k
        for reached in range(1, k + 1):
            for length, most in _steps_to(reached, k, branchings, stages):
                if self.is_refuted:
                    return True
                self.take(Step(k - reached, min(k, k - reached + length) - 1, "lower"), most)
        return self.is_refuted

    def back_and_forth(self, branchings: int, stages: int) -> bool:
        """Take steps from either end in turn, while that narrows the prefixes well.

        Steps from one end search between the bounds that those from the other end have left.
        """
        most = NEARLY_REFUTED
        for turn in itertools.cycle((self.backward, self.forward)):
            if self.is_refuted or self.width >= most:
                break
            most = NARROWED * self.width
            turn(branchings, stages)
        return self.is_refuted

    def finish(self, branchings: int, best: Best) -> bool:
        """Search all stages at once; return whether the threshold is refuted.

        Partitions that come up on the way are reported.
        """
        setting, prefixes = self._setting, self.prefixes
        instance = setting.instance
        step = Step(0, instance.k - 1, "upper")
        superblocks = prefixes.superblocks(step)
        windows = prefixes.windows(superblocks)
        if not windows.are_possible:
            return self._learn(proof_without_search(setting.checked, prefixes, step))
        open_columns = int((windows.last - windows.first).sum())
        if open_columns > MOST_OPEN_COLUMNS:
            return False
        program = Program(
            instance.graph, superblocks, windows, self._amounts, self.threshold, "cost",
            setting.budget.threads,
        )  # fmt: skip
        search = Search(instance.graph, setting.closure, program, windows, setting.budget)
        for _ in range(branchings + 1):
            if search.optimum * self.threshold > self.threshold + CLEARLY:
                break
            leaf = search.worst
            if leaf is not None and leaf.point is not None and leaf.point.y is not None:
                for partition in _rounded(leaf.point.y, instance.k):
                    best.solution(partition)
                if best.objective <= self.threshold:
                    return False
            if not search.grow():
                break
        self.programs += program.count
        proof = self._prover.proof(search, prefixes, step, superblocks)
        return proof is not None and self._learn(proof)

    def payload(self) -> dict[str, Any]:
        """Return what the certificate holds, once the threshold is refuted."""
        table = self._setting.table
        return {
            "threshold": self.threshold,
            "flows": [] if table is None else table.flows(self.threshold),
            "weights": self._weights.nodes.tolist(),
            "moves": self._weights.moves_to_json(),
            "steps": [proof.to_json() for proof in self._proofs],
        }

    def _steps_before_the_first(self) -> int:
        """Return what the checker takes for flows, order and closure."""
        graph, table = self._setting.instance.graph, self._setting.table
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


def _steps_to(reached: int, k: int, branchings: int, stages: int) -> Iterator[tuple[int, int]]:
    """Yield the lengths and branchings of the steps to the prefix or suffix of some stages.

    Short steps narrow the windows of the longer ones that follow. The longest ones follow one
    another, instead of ending everywhere: then there is time for them to branch.
    """
    if stages > 1:
        yield 1, min(branchings, FEW_BRANCHINGS)
    if stages > SHORT:
        yield SHORT, min(branchings, SOME_BRANCHINGS)
    if stages <= SHORT or reached % stages == 0 or reached == k:
        yield stages, branchings


def _rounded(y: FloatArray, k: int) -> Iterator[Partition]:
    """Yield partitions near a point: each node in the first stage up to which it is in enough."""
    values = np.unique(y.round(3))
    for value in values[(values > 0) & (values <= 1)][:: max(1, len(values) // MOST_ROUNDINGS)]:
        stages = (y < value - 1e-6).sum(axis=1) - 1
        yield Partition(frozen(np.clip(stages, 0, k - 1)))
