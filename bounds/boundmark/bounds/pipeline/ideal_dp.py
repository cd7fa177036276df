"""`ideal-dp`: the optimum over chains of down-sets (ideals), for graphs that have few of them.

A partition whose quotient graph is acyclic is a chain of at most k ideals. Models are long and
narrow, and many have little more ideals than nodes, where the dynamic program over pairs of ideals
is quick. J. Tarnawski et al., "Efficient Algorithms for Device BlockLayout of DNN Graph Operators",
NeurIPS 2020, proposed such a program, with other costs. Here, one search decides whether a
threshold can be met, and thresholds are bisected.
"""

import numpy as np

from boundmark.bounds.checker.pipeline import ideals as checked
from boundmark.bounds.pipeline.ideals import lattice, pendants, without
from boundmark.bounds.pipeline.kernels import ideal_search
from boundmark.bounds.pipeline.minimum_cuts import MinimumCuts
from boundmark.bounds.pipeline.node_cut import largest_node_cut
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.certificate import Certificate, Claim
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Method, Progress
from boundmark.problems.pipeline import Partition, PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph

KIND = "ideal-dp/1"

# About half a second of search, after which the clock is looked at.
PAIRS_AT_A_TIME = 10_000_000


class BudgetSpentError(Exception):
    """The time is up in the middle of a search."""


class IdealSearch:
    """Decides which thresholds k stages can meet; not for use by several threads at once."""

    def __init__(self, graph: PipelineGraph, ideals: ideal_search.Lattice, k: int) -> None:
        self._nodes = graph.dag.nodes
        self._ideals = ideals
        self._k = min(k, graph.dag.nodes)
        self._cache = graph.cache
        size = len(ideals.work)
        state = [np.zeros(size, dtype=np.int64) for _ in range(7)]
        state.append(np.zeros(4, dtype=np.int64))
        self._state = ideal_search.State(*state)

    def stages(self, threshold: int, budget: Budget) -> IntArray | None:
        """Return stages of cost up to a threshold, one a node, or None if there are none.

        Raises
        ------
        BudgetSpentError
            If this takes too long.
        """
        state = self._state
        state.stages.fill(-1)
        state.seen.fill(-1)
        state.stages[0] = 0
        state.queue[0] = 0
        state.counts[:] = 0, 1, np.iinfo(np.int64).max, 0
        outcome = ideal_search.PAUSED
        while outcome == ideal_search.PAUSED:
            if budget.is_spent():
                raise BudgetSpentError
            pause = self.pairs + PAIRS_AT_A_TIME
            outcome = ideal_search.search(
                self._k, threshold, self._cache, pause, self._ideals, state
            )
        return None if outcome == ideal_search.REFUTED else self._stages_up_to(outcome)

    @property
    def next_threshold(self) -> int:
        """The least threshold that the last search does not refute as well."""
        return int(self._state.counts[2])

    @property
    def pairs(self) -> int:
        """How many pairs of ideals the last search has looked at."""
        return int(self._state.counts[3])

    def _stages_up_to(self, ideal: int) -> IntArray:
        """Return the number of the stage of each node; those outside the ideal are in the last."""
        stages = np.full(self._nodes, self._state.stages[ideal])
        members = self._ideals.members.reshape(len(self._ideals.work), -1).view(np.uint8)
        while ideal:
            inside = np.unpackbits(members[ideal], count=self._nodes, bitorder="little")
            ideal = int(self._state.before[ideal])
            stages[inside == 1] = self._state.stages[ideal]
        return frozen(stages)


def run(
    instance: PipelineInstance, budget: Budget, seed: int, progress: Progress, *, ideals: int
) -> None:
    """Report ever better partitions and bounds up to the optimum.

    Parameters
    ----------
    ideals
        Number of ideals up to which to try.

    Raises
    ------
    UnsupportedError
        If there are more.
    """
    graph = instance.graph
    removed = pendants(graph)
    core, kept = without(graph, [v for v, _ in removed])
    most = min(ideals, checked.MOST_IDEAL_BITS // graph.dag.nodes)
    found = lattice(core, most)
    if found is None:
        raise UnsupportedError(f"the graph has more than {most:,} down-sets")
    search = IdealSearch(core, found, instance.k)
    ignored = sorted(v for v, _ in removed)
    steps = min(checked.MOST_IDEAL_STEPS, checked.MOST_IDEAL_BITS // graph.dag.nodes)

    def report(bound: int) -> None:
        if len(found.step_node) <= steps and search.pairs <= checked.MOST_IDEAL_PAIRS:
            payload = {"threshold": bound - 1, "ignored": ignored}
            progress.bound(Certificate.of(instance, KIND, bound, payload, METHOD.name))
        else:
            progress.bound(Claim(KIND, bound))

    # The bound's own threshold is searched too, because the certificate needs the pairs counted.
    mean = -(-int(graph.work.sum()) // instance.k)
    threshold = max(mean, largest_node_cut(core, MinimumCuts(core))[1]) - 1
    lower, upper, stride = threshold, None, 0
    while upper is None or lower < upper:
        try:
            stages = search.stages(threshold, budget)
        except BudgetSpentError:
            return
        if stages is None:
            lower = search.next_threshold
            report(lower)
        else:
            partition = Partition(_with_pendants(stages, kept, removed))
            upper = instance.objective(partition)
            progress.solution(partition)
        if upper is None:
            # Often the bound just refuted is the optimum.
            threshold = lower + stride
            stride = max(1, lower // 256, 2 * stride)
        else:
            threshold = (lower + upper) // 2


def _with_pendants(stages: IntArray, kept: list[int], removed: list[tuple[int, int]]) -> IntArray:
    """Return the stages of all nodes, given those of the nodes kept."""
    stage = dict(zip(kept, stages.tolist(), strict=True))
    for v, neighbour in reversed(removed):
        stage[v] = stage[neighbour]
    return frozen([stage[v] for v in range(len(stage))])


METHOD = Method(
    name="ideal-dp",
    problem="pipeline",
    kind="exact",
    summary="The optimum by dynamic programming over down-sets, for graphs that have few of them.",
    run=run,
    params={"ideals": 200_000},
)
