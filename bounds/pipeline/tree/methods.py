"""`mip-tree`, `bottleneck-tree` and `bottleneck-guess-tree`: certified branch and bound.

Each relaxes a program of the paper ([MTPP24], Figure 3, Sections 3.2 and 3.3) at a threshold, with
stronger cut rows, and with rows and windows that hold below the threshold only (see `share`). The
thresholds rise, and the tree is kept.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from boundmark.bounds import checker
from boundmark.bounds.best import Best
from boundmark.bounds.pipeline.share import ShareTable, Tables, table_in_time
from boundmark.bounds.pipeline.tree.search import (
    Formulation,
    Tree,
    bottleneck,
    bottleneck_guess,
    exact,
)
from boundmark.bounds.pipeline.tree.superblocks import Demand
from boundmark.problems.certificate import Certificate
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import PipelineInstance

# Nodes and stages: the programs of larger instances are out of reach, and so are their shares.
LARGEST_GRAPH = 2**12

Formulate: TypeAlias = Callable[[ShareTable, int], Iterable[Formulation]]


@dataclass(frozen=True)
class TreeSettings:
    """Settings of the trees: which thresholds are tried, and how much time is kept back.

    Attributes
    ----------
    first_step, largest_step
        Distance of the first target from what has been refuted, as a part of it; it doubles up to
        the largest. Shares far above what can be refuted are weak, and each new target has the
        worst leaves solved again, so steps begin small.
    root_trials, root_precision
        How often the roots are solved to find the largest threshold that they refute, and how
        exactly, as a part of it.
    report_growth, checks_between
        A certificate is made in any case once the tree's own time has grown by this part since the
        one before, and by so many times the slowest check. So a tree shows early what it is worth,
        also where it only has short turns of a long time (see `certify`).
    steps_in_reserve
        Time kept for one more step and the last certificate, in slowest steps so far.
    checks_in_reserve
        Time kept beside that, in slowest checks so far: the last tree is checked at lower
        thresholds, too, by bisection.
    """

    first_step: float = 0.0005
    largest_step: float = 0.016
    root_trials: int = 6
    root_precision: float = 0.0005
    report_growth: float = 0.25
    checks_between: float = 10.0
    steps_in_reserve: float = 2.5
    checks_in_reserve: float = 5.0

    def reserve(self, step: float, check: float) -> float:
        """Return the seconds that are kept, given those of the slowest step and check."""
        return self.steps_in_reserve * step + self.checks_in_reserve * check

    def next_report(self, spent: float, check: float) -> float:
        """Return when the next certificate is due, in seconds of the tree's own time."""
        return spent + max(self.report_growth * spent, self.checks_between * check)


def run_mip_tree(
    instance: PipelineInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    settings: TreeSettings = TreeSettings(),
    *,
    tables: Tables = table_in_time,
) -> None:
    """Report bounds by trees on the program that has all stages in it ([MTPP24], Figure 3)."""

    def formulate(table: ShareTable, bound: int) -> tuple[Formulation]:
        return (exact(instance.k),)

    report_rising_bounds(instance, formulate, budget, progress, "mip-tree", settings, tables)


def run_bottleneck_tree(
    instance: PipelineInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    settings: TreeSettings = TreeSettings(),
    *,
    tables: Tables = table_in_time,
) -> None:
    """Report bounds by trees on one stage at any position ([MTPP24], Section 3.2).

    The paper's program asks that the stage has the mean work. Here it has the mean of the nodes'
    shares at the share bound (see `share`): a node among expensive tensors counts for more than its
    work. So the tree starts where `share` ends. If it comes to an end, one that asks for the mean
    work follows, whose optimum is at least that of the paper's program.
    """
    formulate = _by_demand(instance, bottleneck)
    report_rising_bounds(instance, formulate, budget, progress, "bottleneck-tree", settings, tables)


def run_bottleneck_guess_tree(
    instance: PipelineInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    settings: TreeSettings = TreeSettings(),
    *,
    tables: Tables = table_in_time,
) -> None:
    """Report bounds by trees on one stage, a tree for each position ([MTPP24], Section 3.3).

    As in `bottleneck-tree`, the stage has the mean of the nodes' shares, or of their work. Since
    its position is known, the superblocks before and after it cost something, and nodes have
    windows.
    """
    formulate = _by_demand(instance, bottleneck_guess)
    report_rising_bounds(
        instance, formulate, budget, progress, "bottleneck-guess-tree", settings, tables
    )


def _by_demand(
    instance: PipelineInstance, program: Callable[[int, Demand], Formulation]
) -> Formulate:
    """Return a function that formulates a program for shares as demand, then for work."""

    def formulate(table: ShareTable, bound: int) -> Iterator[Formulation]:
        yield program(instance.k, Demand.of_shares(table, bound, instance.k))
        yield program(instance.k, Demand.of_work(instance.graph, instance.k))

    return formulate


def report_rising_bounds(
    instance: PipelineInstance,
    formulate: Formulate,
    budget: Budget,
    progress: Progress,
    producer: str,
    settings: TreeSettings,
    tables: Tables = table_in_time,
) -> None:
    """Report the share bound, then better ones until the time is up or the bound stays.

    Parameters
    ----------
    progress
        If it is a `Best`, no threshold is tried that its best partition meets.
    formulate
        Maps the graph's table and the share bound to what trees start from. The next one is begun
        when the bound of the one before stays.
    producer
        Name of the method.
    tables
        Maps the graph and the time left to its table.
    """
    largest = max(instance.nodes, instance.k)
    if largest > LARGEST_GRAPH:
        raise UnsupportedError(
            f"the instance has {largest} nodes or stages; expected at most {LARGEST_GRAPH}."
        )
    table = tables(instance.graph, budget)
    best = Best.before(instance, progress)
    first = table.report(instance, producer, best, budget)
    for formulation in formulate(table, first):
        _rise(Tree(instance, table, formulation, budget), best, producer, settings)


def _rise(tree: Tree, best: Best, producer: str, settings: TreeSettings) -> None:
    """Report the bounds of a tree at rising thresholds."""
    report = _Report(tree, best, producer)
    refuted = _refute_by_roots(tree, report, settings)
    step = settings.first_step
    if best.is_proven or not tree.start(_target(refuted, step, best)):
        return
    budget, slowest = tree.budget, 0.0
    next_report = settings.next_report(budget.spent(), report.seconds)
    while (
        not report.is_too_large
        and not best.is_proven
        and budget.remaining() > settings.reserve(slowest, report.seconds)
    ):
        began = budget.spent()
        if tree.bound > tree.threshold:
            report.at(tree.threshold)
            step = min(2 * step, settings.largest_step)
            if not tree.raise_threshold(_target(tree.threshold, step, best)):
                break
        elif report.proven > tree.threshold:
            # Another method has proven more.
            if not tree.raise_threshold(_target(report.proven - 1, step, best)):
                break
        elif not tree.grow():
            break
        if budget.spent() > next_report:
            report.at(tree.threshold)
            next_report = settings.next_report(budget.spent(), report.seconds)
        slowest = max(slowest, budget.spent() - began)
    report.at(tree.threshold)
    _refute_less(tree, report)


def _refute_by_roots(tree: Tree, report: "_Report", settings: TreeSettings) -> int:
    """Estimate the largest threshold that the roots alone refute.

    By how much their optimum is above the threshold falls as the threshold rises, and steeply at
    first: shares that fill all stages leave little freedom. The secant method finds where it is 0.
    """
    refuted, above = report.proven - 1, 0.0
    stands, below = 0, 0.0
    threshold = report.proven
    for _ in range(settings.root_trials):
        if not tree.start(threshold):
            break
        report.at(threshold)
        excess = min(tree.optimum, 2.0 * threshold) - threshold
        if excess > 0:
            refuted, above = threshold, excess
        else:
            stands, below = threshold, excess
        width = stands - refuted
        if not stands:
            threshold += max(1, math.floor(above / 2))
        elif width <= max(1, settings.root_precision * stands):
            break
        else:
            step = math.floor(width * above / (above - below))
            threshold = refuted + min(max(1, step), width - 1)
    return refuted


def _refute_less(tree: Tree, report: "_Report") -> None:
    """Bisect for the largest threshold below the tree's that its leaves refute, and report it."""
    low, high = report.proven - 1, tree.threshold
    while (
        high - low > 1 and not report.is_too_large and tree.budget.remaining() > 2 * report.seconds
    ):
        threshold = (low + high) // 2
        if report.at(threshold) > threshold:
            low = threshold
        else:
            high = threshold


def _target(refuted: int, step: float, best: Best) -> int:
    """Return the next threshold, below the cost of the best partition."""
    return int(min(refuted + max(1, int(step * refuted)), max(refuted + 1, best.objective - 1)))


@dataclass
class _Report:
    """Reporter of a tree's bounds, checked in exact arithmetic.

    Attributes
    ----------
    seconds
        What the slowest check took.
    is_too_large
        Whether the tree has grown beyond what the checker checks.
    """

    tree: Tree
    best: Best
    producer: str
    seconds: float = 0.0
    is_too_large: bool = False

    @property
    def proven(self) -> int:
        """The best bound so far."""
        return self.best.proven

    def at(self, threshold: int) -> int:
        """Check and report the tree's bound at a threshold.

        Return 0 if it cannot be better, or if there is too little time: turns of other methods may
        have used up what was kept for a check.
        """
        tree = self.tree
        if (tree.bound if threshold == tree.threshold else threshold + 1) <= self.proven:
            return 0
        if tree.budget.remaining() < self.seconds:
            return 0
        instance, kind, began = tree.instance, tree.formulation.kind, tree.budget.spent()
        payload = tree.payload(threshold)
        if payload is None:
            return 0
        unproven = Certificate.of(instance, kind, 0, payload, self.producer)
        try:
            bound = checker.check_certificate(instance.to_json(), unproven.to_json())
        except checker.TooLarge:
            self.is_too_large = True
            return 0
        self.seconds = max(self.seconds, tree.budget.spent() - began)
        self.best.bound(Certificate.of(instance, kind, bound, payload, self.producer))
        return bound
