"""`mip-tree`: certified branch and bound on the paper's exact program ([MTPP24], Figure 3).

Suppose that all stages cost at most a threshold t. That narrows the stages that a node can be in,
its window (see `fractional-load`). Branching narrows windows further, and the linear relaxation of
the program, with stronger cut rows, bounds the bottleneck stage at each leaf. Every partition whose
stages cost at most t is in some leaf, so OPT is at least the smallest of t + 1 and the leaves'
bounds. When all leaves are above t, a larger t comes next. The tree stays: shares shrink a little,
and a leaf is solved again only when it is the worst one.
"""

from contextlib import suppress
from typing import Any

from boundmark.bounds import checker
from boundmark.bounds.best import Best
from boundmark.bounds.pipeline.flows.fractional_load import ShareTable, Tables, table_in_time
from boundmark.bounds.pipeline.prefixes.relaxation import (
    TREE_FAMILIES,
    refuse_more_than,
    single_stages,
)
from boundmark.bounds.pipeline.prefixes.search import Program, Search
from boundmark.bounds.pipeline.prefixes.windows import Closure, OutOfTimeError, shares
from boundmark.problems.certificate import Certificate
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import PipelineInstance

KIND = "mip-tree/1"

# Nodes and stages: the programs of larger instances are out of reach, and so are their shares.
LARGEST_GRAPH = 2**12


def run(
    instance: PipelineInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    *,
    tables: Tables = table_in_time,
) -> None:
    """Report the share bound, then better ones until the time is up or the bound stays."""
    # `progress`: If it is a `Best`, no threshold is tried that its best partition meets. `tables`:
    # Maps the graph and the time left to its table of shares.
    refuse_more_than(LARGEST_GRAPH, instance)
    table = tables(instance.graph, budget)
    best = Best.before(instance, progress)
    table.report(instance, "mip-tree", best, budget)
    if not best.is_proven:
        # The closure of a large graph takes part of a second.
        with suppress(OutOfTimeError):
            Tree(instance, table, budget, best).raise_bound()


class Tree:
    """A tree over the stages of all nodes, at thresholds that rise."""

    def __init__(
        self, instance: PipelineInstance, table: ShareTable, budget: Budget, best: Best
    ) -> None:
        self._instance, self._table, self._budget, self._best = instance, table, budget, best
        self._closure = Closure.of(instance.graph.dag, budget)
        self._search: Search | None = None
        # What stages cost at most, what the slowest check took, and whether the tree has grown
        # beyond what the checker checks.
        self.threshold, self.seconds, self.is_too_large = 0, 0.0, False

    @property
    def optimum(self) -> float:
        """The least of the leaves' optima, in floating point."""
        return 0.0 if self._search is None else self._search.optimum

    def raise_bound(self) -> None:
        """Report the tree's bounds at rising thresholds."""
        best, budget = self._best, self._budget
        slowest, next_report = 0.0, next_report_at(budget.spent(), 0.0)
        with suppress(OutOfTimeError):
            is_open = self._go_to(best.proven)
            # Time is kept for one more step and the last certificate.
            while (
                is_open
                and not self.is_too_large
                and not best.is_proven
                and budget.remaining() > 2.5 * slowest + 5 * self.seconds
            ):
                began = budget.spent()
                if self.optimum > self.threshold:
                    self.report(self.threshold)
                    is_open = self._go_to(self._next_target())
                elif best.proven > self.threshold:
                    # Another method has proven more.
                    is_open = self._go_to(best.proven)
                else:
                    assert self._search is not None
                    is_open = self._search.grow()
                if budget.spent() > next_report:
                    self.report(self.threshold)
                    next_report = next_report_at(budget.spent(), self.seconds)
                slowest = max(slowest, budget.spent() - began)
        self.report(self.threshold)
        self._refute_less()

    def _next_target(self) -> int:
        """Return the next threshold, below the cost of the best partition.

        What the root alone refutes tells how far to go, if not too far: half of what its bound has
        to spare, since it has less at larger thresholds.
        """
        # Each new target has the worst leaves solved again, but shares far above what can be
        # refuted are weak.
        refuted, part = self.threshold, 0.016
        if self._search is None or self._search.root.children is None:
            part = max(0.0005, min(self.optimum / max(refuted, 1) - 1, 0.04) / 2)
        known = max(refuted + 1, self._best.objective - 1)
        return int(min(refuted + max(1, int(part * refuted)), known))

    def _go_to(self, threshold: int) -> bool:
        """Keep the tree and go on at a threshold; return False if shares refute it."""
        instance, budget = self._instance, self._budget
        amounts = shares(self._table, threshold)
        if amounts is None:
            return False
        if budget.is_spent():
            # To set up a program of thousands of nodes takes a second.
            raise OutOfTimeError
        windows = self._closure.share_windows(amounts, instance.k)
        stages = single_stages(instance.k)
        program = Program(
            instance.graph, threshold, stages, windows, "cost", amounts, budget.threads
        )
        if self._search is None:
            self._search = Search(instance.graph, self._closure, program, windows, budget)
        else:
            self._search.go_on(program, windows)
        self.threshold = threshold
        return True

    def report(self, threshold: int) -> int:
        """Check and report the tree's bound at a threshold, in exact arithmetic.

        Return 0 if it cannot be better, or if there is too little time: turns of other methods may
        have used up what was kept for a check.
        """
        best, budget, instance = self._best, self._budget, self._instance
        known = min(self.optimum, threshold + 1) if threshold == self.threshold else threshold + 1
        if known <= best.proven or budget.remaining() < self.seconds:
            return 0
        began, payload = budget.spent(), self._payload(threshold)
        if payload is None:
            return 0
        try:
            unproven = Certificate.of(instance, KIND, 0, payload, "mip-tree")
            bound = checker.check_certificate(instance.to_json(), unproven.to_json())
        except checker.TooLarge:
            self.is_too_large = True
            return 0
        self.seconds = max(self.seconds, budget.spent() - began)
        best.bound(Certificate.of(instance, KIND, bound, payload, "mip-tree"))
        return bound

    def _payload(self, threshold: int) -> dict[str, Any] | None:
        """Return the certificate's payload; None if the time is up before.

        The multipliers are valid for any threshold; they prove less at larger ones.
        """
        flows = self._table.flows_in_time(threshold, self._budget)
        if flows is None or self._search is None:
            return None
        nodes: list[Any] = []
        for leaf in self._search.walk():
            if leaf.children is None:
                found = self._search.multipliers(leaf)
                nodes.append({name: found.get(name, []) for name in TREE_FAMILIES})
            else:
                nodes.append(list(leaf.branching or ()))
        return {"threshold": threshold, "flows": flows, "nodes": nodes}

    def _refute_less(self) -> None:
        """Bisect for the largest threshold below the tree's that its leaves refute, and report."""
        low, high = self._best.proven - 1, self.threshold
        while (
            high - low > 1 and not self.is_too_large and self._budget.remaining() > 2 * self.seconds
        ):
            threshold = (low + high) // 2
            if self.report(threshold) > threshold:
                low = threshold
            else:
                high = threshold


def next_report_at(spent: float, check: float) -> float:
    """Return when the next certificate is due, in seconds of the tree's own time.

    That is after a part of the time so far, and after many of the slowest check. So a tree shows
    early what it is worth, also where it only has short turns of a long time (see `certify`).
    """
    return spent + max(0.25 * spent, 10 * check)
