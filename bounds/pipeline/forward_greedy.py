"""`forward-greedy`: stage after stage, each the best one that a threshold allows.

The first stage takes as much work as it can, then the second one, and so on; each is a small
integer program, that of a step of `reach` with what is before the stage given. If nothing is left
after k stages, the threshold is met, otherwise a larger one is tried. See `reach.greedy`.
"""

import itertools
from dataclasses import dataclass
from typing import NamedTuple

from boundmark.bounds.best import Best
from boundmark.bounds.pipeline.minimum_cuts import MinimumCuts, largest_node_cut
from boundmark.bounds.pipeline.quick_partition import quick_partition
from boundmark.bounds.pipeline.reach.attempt import Context, refuse_large
from boundmark.bounds.pipeline.reach.greedy import Greedy
from boundmark.bounds.pipeline.reach.prefixes import OutOfTimeError, Side
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import PipelineInstance


class Round(NamedTuple):
    """Settings of one round: how much effort goes into a threshold.

    Attributes
    ----------
    branchings
        Of each stage's program.
    sides
        Where partitions begin.
    precision
        Where bisection ends, as a part of the threshold.
    """

    branchings: int
    sides: tuple[Side, ...]
    precision: float


BOTH: tuple[Side, ...] = ("upper", "lower")


@dataclass(frozen=True)
class ForwardSettings:
    """Settings of `forward-greedy`.

    Attributes
    ----------
    start_fraction
        Part of the time, at most, for a partition to start from.
    rounds
        The rounds, in order.
    """

    start_fraction: float = 0.02
    rounds: tuple[Round, ...] = (
        Round(0, ("upper",), 0.01),
        Round(10, ("upper",), 0.003),
        Round(10, BOTH, 0.002),
        Round(100, BOTH, 0.001),
        Round(1000, BOTH, 0.0005),
        Round(10000, BOTH, 0.0),
    )


def run(
    instance: PipelineInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    settings: ForwardSettings = ForwardSettings(),
) -> None:
    """Report ever better partitions.

    Raises
    ------
    UnsupportedError
        If the graph is too large, or the solver is not installed.
    """
    refuse_large(instance)
    best, graph = Best(instance, progress), instance.graph
    floor = max(
        largest_node_cut(graph, MinimumCuts(graph))[1],
        -(-int(graph.work.sum()) // instance.k),
    )
    best.solution(quick_partition(instance, seed, budget.part(settings.start_fraction), floor))
    try:
        context = Context.of(instance, budget)
        for effort in settings.rounds:
            if not _bisect(context, effort, floor, best):
                _bisect(context, Round(effort.branchings, BOTH, 0.0), floor, best)
                break
    except OutOfTimeError:
        pass


def _bisect(context: Context, effort: Round, floor: int, best: Best) -> bool:
    """Bisect for the least threshold that the construction meets.

    Returns
    -------
    Whether more branchings might find more.
    """
    unmet, is_cut_off = floor - 1, False
    while True:
        cost = int(best.objective)
        width = cost - unmet
        if width <= max(1, int(effort.precision * cost)):
            return is_cut_off
        threshold = unmet + width // 2
        for side, price in itertools.product(effort.sides, context.settings.prices):
            greedy = Greedy(context, threshold, side, price, effort.branchings)
            partition = greedy.partition()
            is_cut_off |= greedy.is_cut_off
            if partition is not None:
                best.solution(partition)
            if best.objective <= threshold:
                break
        else:
            unmet = threshold
