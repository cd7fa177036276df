"""An attempt to refute a threshold by bounds on prefixes, step by step from either end.

Each step is a search tree. It becomes a part of a certificate, in exact arithmetic: what its
leaves' multipliers prove is computed as the checker does.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from boundmark.bounds import checker
from boundmark.bounds.best import Best
from boundmark.bounds.checker import budget as checker_budget
from boundmark.bounds.checker.pipeline.instance import Instance
from boundmark.bounds.checker.pipeline.leaf import TERM_BYTES, WeighedRow, add_up
from boundmark.bounds.checker.pipeline.leaf import Program as CheckedProgram
from boundmark.bounds.checker.pipeline.limits import LARGEST_TREE_GRAPH
from boundmark.bounds.pipeline.prefixes.prefix_weights import Prefixes, Step, Weights
from boundmark.bounds.pipeline.prefixes.relaxation import (
    TREE_FAMILIES,
    FloatArray,
    Multipliers,
    Superblocks,
    refuse_more_than,
)
from boundmark.bounds.pipeline.prefixes.search import Leaf, Objective, Program, Search
from boundmark.bounds.pipeline.prefixes.windows import SHARE_UNITS, Closure, Windows, scaled
from boundmark.problems.arrays import frozen
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import Partition, PipelineInstance

KIND = "prefix-bound/1"

STEP_ROWS = (*TREE_FAMILIES, "at_least", "at_most")
NOTHING: Multipliers = {name: [] for name in STEP_ROWS}

# Steps of up to so many stages end at every prefix; longer ones follow one another, so that each
# has time to branch.
SHORT = 2

# Branchings of the steps of one stage that come before longer ones.
FEW_BRANCHINGS = 10

# The least improvement of a limit, in stages, for which a proof is stored.
LEAST_GAIN = 1e-6


@dataclass(frozen=True, eq=False)
class Context:
    """Data of an instance that all attempts to refute thresholds share."""

    instance: PipelineInstance
    closure: Closure
    # The instance as the checker reads it.
    checked: Instance
    budget: Budget

    @classmethod
    def of(cls, instance: PipelineInstance, budget: Budget) -> "Context":
        """Return the context for attempts.

        Raises `UnsupportedError` if the instance is too large for the checker. Raises
        `OutOfTimeError` if the budget ends first.
        """
        refuse_more_than(LARGEST_TREE_GRAPH, instance)
        closure = Closure.of(instance.graph.dag, budget)
        return cls(instance, closure, checker.check_instance(instance.to_json()), budget)


@dataclass(frozen=True)
class Effort:
    """Steps to check a proof, and its size."""

    # Largest number of steps of the check, as the checker counts.
    steps: int = 0
    # Integers in the certificate.
    values: int = 0

    def __add__(self, other: "Effort") -> "Effort":
        return Effort(self.steps + other.steps, self.values + other.values)


class Attempt:
    """Bounds on the prefixes of all pipelines whose stages cost at most a threshold."""

    def __init__(self, context: Context, threshold: int) -> None:
        # In ticks.
        self.threshold = threshold
        self._context = context
        instance = context.instance
        self._weights = Weights.moved(instance.graph, threshold)
        self._shares = scaled(instance.graph.work, threshold).tolist()
        self.prefixes = Prefixes(context.closure, self._weights.nodes, SHARE_UNITS, instance.k)
        # Whether there is no such pipeline.
        self.is_refuted = self.prefixes.are_refuted
        self._steps: list[dict[str, Any]] = []
        # The checker's steps for order and closure.
        n = instance.nodes
        # What the steps so far take to check and to store.
        self.effort = Effort(n**2 // 4 + n + 2 * instance.graph.dag.edges)
        # Linear programs solved.
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

        Returns whether something has been learned. Raises `OutOfTimeError` if the budget ends
        first.
        """
        prefixes = self.prefixes
        superblocks = prefixes.superblocks(step)
        windows = prefixes.windows(superblocks)
        if not windows.are_possible:
            return self._learn_without_search(step)
        search = self._search(superblocks, windows, step.side)
        sign = -1 if step.side == "upper" else 1
        enough = sign * prefixes.opposite(step) / SHARE_UNITS + LEAST_GAIN
        for _ in range(branchings):
            if search.optimum > enough or not search.grow():
                break
        self.programs += search.program.count
        gain = search.optimum - sign * prefixes.bound(step) / SHARE_UNITS
        return gain >= LEAST_GAIN and self._learn_from(search, step, superblocks)

    def forward(self, branchings: int, stages: int = 1) -> bool:
        """Take steps from the first stage on; return whether the threshold is refuted."""
        # `branchings`: In each of the longest steps. `stages`: Of the longest steps.
        k = self._context.instance.k
        for reached, length, most in steps_from_an_end(k, branchings, stages):
            if self.is_refuted:
                break
            self.take(Step(max(0, reached - length), reached - 1, "upper"), most)
        return self.is_refuted

    def backward(self, branchings: int, stages: int = 1) -> bool:
        """Take steps from the last stage on; return whether the threshold is refuted."""
        k = self._context.instance.k
        for reached, length, most in steps_from_an_end(k, branchings, stages):
            if self.is_refuted:
                break
            self.take(Step(k - reached, min(k, k - reached + length) - 1, "lower"), most)
        return self.is_refuted

    def back_and_forth(self, branchings: int, stages: int, nearly_refuted: float = 0.1) -> bool:
        """Take steps from either end in turn, while that narrows the prefixes enough.

        Steps from one end search between the bounds that those from the other end have left.
        """
        # `nearly_refuted`: Steps from the other end follow if the bounds of some prefix are closer
        # than this, in stages.
        most = nearly_refuted
        for turn in itertools.cycle((self.backward, self.forward)):
            if self.is_refuted or self.width >= most:
                break
            # The steps have to narrow the prefixes by half to be taken once more.
            most = 0.5 * self.width
            turn(branchings, stages)
        return self.is_refuted

    def finish(self, branchings: int, best: Best) -> bool:
        """Search all stages in one program; return whether the threshold is refuted.

        Partitions that come up on the way are reported.
        """
        prefixes, k = self.prefixes, self._context.instance.k
        step = Step(0, k - 1, "upper")
        superblocks = prefixes.superblocks(step)
        windows = prefixes.windows(superblocks)
        if not windows.are_possible:
            return self._learn_without_search(step)
        open_columns = int((windows.last - windows.first).sum())
        # Programs of more columns are not tried.
        if open_columns > 2500:
            return False
        # Margin by which a leaf's bound has to exceed the threshold, in ticks.
        clearly = 1e-3
        search = self._search(superblocks, windows, "cost")
        for _ in range(branchings + 1):
            if search.optimum > self.threshold + clearly:
                break
            leaf = search.worst
            if leaf is not None and leaf.point is not None and leaf.point.y is not None:
                for partition in _rounded(leaf.point.y, k):
                    best.solution(partition)
                if best.objective <= self.threshold:
                    return False
            if not search.grow():
                break
        self.programs += search.program.count
        return self._learn_from(search, step, superblocks)

    def payload(self) -> dict[str, Any]:
        """Return the certificate's payload, once the threshold is refuted."""
        return {
            "threshold": self.threshold,
            "flows": [],
            "weights": self._weights.nodes.tolist(),
            "moves": self._weights.moves_to_json(),
            "steps": self._steps,
        }

    def _search(self, superblocks: Superblocks, windows: Windows, objective: Objective) -> Search:
        context = self._context
        graph, budget = context.instance.graph, context.budget
        amounts, threads = np.array(self._shares), budget.threads
        program = Program(graph, self.threshold, superblocks, windows, objective, amounts, threads)
        return Search(graph, context.closure, program, windows, budget)

    def _learn_without_search(self, step: Step) -> bool:
        """Learn from a step for which windows leave nothing to search."""
        return self._learn(step, self._no_limit(step), [NOTHING], Effort())

    def _learn_from(self, search: Search, step: Step, superblocks: Superblocks) -> bool:
        """Learn the best limit that a search tree proves, unless rounding leaves nothing of it."""
        rows, merged = self._rows(superblocks, step), superblocks.merged.tolist()
        limit, nodes, effort = self._no_limit(step), list[Any](), Effort()
        pick = max if step.side == "upper" else min
        for leaf in search.walk():
            if leaf.children is not None:
                nodes.append(list(leaf.branching or ()))
                continue
            windows = leaf.windows.first.tolist(), leaf.windows.last.tolist()
            found = self._limit_of(leaf, search, CheckedProgram(merged, windows), rows, step)
            if found is None:
                return False
            leaf_limit, multipliers = found
            nodes.append(multipliers)
            leaf_effort = self._leaf_effort(multipliers)
            if leaf_effort.steps * TERM_BYTES > checker_budget.MOST_CHECK_BYTES:
                return False
            effort += leaf_effort
            if leaf_limit is not None:
                limit = pick(limit, leaf_limit)
        return self._learn(step, limit, nodes, effort)

    def _learn(self, step: Step, limit: int, nodes: list[Any], effort: Effort) -> bool:
        """Keep the proof of a step if it improves on what is known; return whether it does."""
        # `nodes`: The tree, as certificates hold it. `effort`: Of checking its leaves.
        prefixes, graph = self.prefixes, self._context.checked
        sign = 1 if step.side == "upper" else -1
        if sign * limit >= sign * prefixes.bound(step):
            return False
        n = len(graph.work)
        program = graph.k + n * (step.stages + 1)
        tree = Effort(program + len(nodes) * (n + len(graph.edges)), 2 * len(nodes))
        effort += self.effort + tree
        # More integers would not fit into a file that the checker reads.
        most_values = 2**23
        if effort.steps > checker_budget.MOST_STEPS or effort.values > most_values:
            return False
        is_stuck = prefixes.is_stuck(step, limit)
        prefixes.learn(step, limit)
        self._steps.append(
            {
                "first": step.first,
                "last": step.last,
                "side": step.side,
                "limit": limit,
                "nodes": nodes,
            }
        )
        self.effort = effort
        self.is_refuted = is_stuck or prefixes.are_refuted
        return True

    def _no_limit(self, step: Step) -> int:
        """Return a limit that refutes the threshold."""
        return self.prefixes.opposite(step) + (-1 if step.side == "upper" else 1)

    def _rows(self, superblocks: Superblocks, step: Step) -> dict[str, list[WeighedRow]]:
        """Return the weight rows, with the negation of the bound to improve on."""
        weighed, known = superblocks.prefixes, self.prefixes.bound(step)
        assert weighed is not None
        weights = weighed.weights.tolist()
        at_least, at_most = weighed.at_least.tolist(), weighed.at_most.tolist()
        if step.side == "upper":
            at_least[-1] = known + 1
        else:
            at_most[0] = known - 1
        return {
            "at_least": [WeighedRow(weights, ((b, 1),), bound) for b, bound in enumerate(at_least)],
            "at_most": [WeighedRow(weights, ((b, -1),), -bound) for b, bound in enumerate(at_most)],
        }

    def _limit_of(
        self,
        leaf: Leaf,
        search: Search,
        program: CheckedProgram,
        rows: dict[str, list[WeighedRow]],
        step: Step,
    ) -> tuple[int | None, Multipliers] | None:
        """Return a leaf's limit, None if the leaf is empty, and the multipliers that prove it.

        Those of the parents hold as well, should the leaf's own prove nothing.
        """
        if not leaf.windows.are_possible:
            return None, NOTHING
        ancestor: Leaf | None = leaf
        while ancestor is not None:
            if ancestor.point is not None:
                found = search.program.integers(ancestor.point)
                multipliers = {name: found[name] for name in STEP_ROWS}
                summed = add_up(self._context.checked, program, self._shares, rows, multipliers)
                assert summed is not None
                lacking = summed[0] * self.threshold - summed[1]
                contrary = _multiplier_of_the_contrary(multipliers, step)
                if lacking < 0 and contrary == 0:
                    return None, multipliers
                if contrary:
                    steps = lacking // contrary + 1
                    known = self.prefixes.bound(step)
                    return known + (steps if step.side == "upper" else -steps), multipliers
            ancestor = ancestor.parent
        return None

    def _leaf_effort(self, multipliers: Multipliers) -> Effort:
        """Return the effort of checking a leaf: what `add_up` spends."""
        superblocks = {b for name in ("cost", "overflow", "share") for b in multipliers[name][::2]}
        weighed = len(multipliers["at_least"]) // 2 + len(multipliers["at_most"]) // 2
        values = sum(map(len, multipliers.values()))
        sums = 2 * (len(superblocks) + weighed)
        return Effort(len(self._shares) * sums + 2 * values, values)


def _multiplier_of_the_contrary(multipliers: Multipliers, step: Step) -> int:
    """Return the multiplier of the negated bound."""
    if step.side == "upper":
        row, found = step.stages, multipliers["at_least"]
    else:
        row, found = 0, multipliers["at_most"]
    return sum(found[i + 1] for i in range(0, len(found), 2) if found[i] == row)


def steps_from_an_end(k: int, branchings: int, stages: int) -> Iterator[tuple[int, int, int]]:
    """Yield how many stages steps reach from an end, their lengths and branchings.

    Short steps narrow the windows of the longer ones that follow. The longest ones follow one
    another, instead of ending everywhere: then there is time for them to branch.
    """
    for reached in range(1, k + 1):
        if stages > 1:
            yield reached, 1, min(branchings, FEW_BRANCHINGS)
        if stages > SHORT:
            yield reached, SHORT, min(branchings, 25)
        if stages <= SHORT or reached % stages == 0 or reached == k:
            yield reached, stages, branchings


def _rounded(y: FloatArray, k: int) -> Iterator[Partition]:
    """Yield partitions rounded from a point, at several thresholds for y."""
    most = 8
    values = np.unique(y.round(3))
    for value in values[(values > 0) & (values <= 1)][:: max(1, len(values) // most)]:
        stages = (y < value - 1e-6).sum(axis=1) - 1
        yield Partition(frozen(np.clip(stages, 0, k - 1)))
