"""`tower-dp`: the optimum over chains of pairs of down-sets, for graphs with parallel towers.

Models with an encoder for images beside one for texts have few down-sets in each tower, but the
product of both numbers in all, too many for `ideal-dp`. A stage has an interval of down-sets in the
tower and one beside it, and its cost is the sum of both, but for tensors that pass from one side to
the other. So a search through pairs of down-sets, fewest stages first, looks at the intervals of
each side apart from those of the other: for a down-set of the tower, all down-sets beside it that
some stage leads to are found at once, by their least cost. A stage pays for tensors between the
sides if it reads none of them, or has nothing of the tower; otherwise they are free. Hence bounds
hold for each graph, and are optimal where all of the tower leads to the one tensor that leaves it.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile

from boundmark.bounds import checker
from boundmark.bounds.best import Best
from boundmark.bounds.checker.budget import MOST_STEPS, limited, steps_left
from boundmark.bounds.checker.pipeline.instance import Instance
from boundmark.bounds.checker.pipeline.limits import LARGEST_TOWER_GRAPH
from boundmark.bounds.checker.pipeline.towers import PairSearch, sides
from boundmark.bounds.pipeline.quick_partition import quick_partition
from boundmark.bounds.pipeline.tower_search import OutOfTimeError, TowerSearch
from boundmark.bounds.pipeline.weights.tensors import bits_of
from boundmark.bounds.pipeline.work import run_mean_work
from boundmark.problems.certificate import Certificate, Claim
from boundmark.problems.dag import Dag
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import Partition, PipelineInstance

KIND = "tower-dp/1"


@dataclass(frozen=True)
class TowerSettings:
    """Settings of `tower-dp`: which towers are tried, and how time is divided.

    Attributes
    ----------
    least_part
        Part of the nodes that a tower and what is beside it have at least.
    most_tried
        Number of towers tried, the one that leaves most beside it first, until one has few enough
        down-sets.
    start_fraction
        Part of the time for a quick partition, unless a cost is known.
    most_steps, steps_per_second
        Steps of the checker, at most, that may be taken to list the stages of both sides; fewer if
        that would take longer than the time that is left.
    """

    least_part: float = 0.05
    most_tried: int = 3
    start_fraction: float = 0.02
    most_steps: int = 2**25
    steps_per_second: float = 2e6


def run(
    instance: PipelineInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    *,
    settings: TowerSettings = TowerSettings(),
) -> None:
    """Report ever better partitions and bounds, up to the optimum where one tensor joins towers.

    Raises
    ------
    UnsupportedError
        If the graph is too large, has no parallel towers, or they have too many down-sets.
    """
    if instance.nodes > LARGEST_TOWER_GRAPH:
        raise UnsupportedError(
            f"the graph has {instance.nodes:,} nodes; expected at most {LARGEST_TOWER_GRAPH:,}."
        )
    least = settings.least_part * instance.nodes
    large = takewhile(lambda found: found[0] >= least, towers(instance.graph.dag))
    tried = [tower for _, tower in islice(large, settings.most_tried)]
    if not tried:
        raise UnsupportedError("the graph has no parallel towers")
    best = Best.before(instance, progress)
    run_mean_work(instance, budget, seed, best)
    if math.isinf(best.objective):
        part = budget.part(settings.start_fraction)
        best.solution(quick_partition(instance, seed, part, int(best.certified)))
    if best.is_proven:
        return
    checked = checker.check_instance(instance.to_json())
    in_time = int(settings.steps_per_second * budget.remaining())
    for tower in tried:
        most = min(settings.most_steps, in_time)
        search = _prepared(checked, tower, int(best.objective) - 1, most)
        if search is not None:
            _close_in(instance, tower, search, budget, best)
            return
    if in_time >= settings.most_steps:
        raise UnsupportedError("the graph's towers have too many down-sets to check")


def towers(dag: Dag) -> Iterator[tuple[int, list[int]]]:
    """Yield down-sets that are parallel to others, with the number of nodes in the smaller part.

    What comes before a node, or behind one, may fall into components without edges between them:
    towers that the node joins, or branches that leave it. The largest one is a side by itself, and
    the others are in the other side, so the number is that of the second largest. Larger ones come
    first.
    """
    producers = [dag.producers_of(v).tolist() for v in range(dag.nodes)]
    consumers = [dag.consumers_of(v).tolist() for v in range(dag.nodes)]
    order = dag.topological_order.tolist()
    everything = (1 << dag.nodes) - 1
    found: dict[int, int] = {}
    for neighbours, is_before in ((producers, True), (consumers, False)):
        reached = [0] * dag.nodes
        for v in order if is_before else order[::-1]:
            reached[v] = 1 << v
            for u in neighbours[v]:
                reached[v] |= reached[u]
        ends = [v for v in range(dag.nodes) if not (consumers if is_before else producers)[v]]
        for starts in (*neighbours, ends):
            components = _disjoint([reached[u] for u in starts])
            if len(components) > 1:
                largest, second = components[:2]
                tower = largest if is_before else everything & ~largest
                found[tower] = max(found.get(tower, 0), second.bit_count())
    for tower, size in sorted(found.items(), key=lambda item: (-item[1], item[0])):
        yield size, list(bits_of(tower))


def _disjoint(sets: Sequence[int]) -> list[int]:
    """Unite sets that overlap; return the largest first."""
    result: list[int] = []
    for united in sets:
        apart = []
        for other in result:
            if other & united:
                united |= other
            else:
                apart.append(other)
        result = [*apart, united]
    return sorted(result, key=lambda nodes: (-nodes.bit_count(), nodes))


def _prepared(
    checked: Instance, tower: Sequence[int], threshold: int, most_steps: int
) -> TowerSearch | None:
    """Return the search up to a threshold; None if listing the stages takes more steps."""
    try:
        with limited("the towers", most_steps):
            inner, outer = sides(checked, set(tower))
            search = PairSearch(inner, outer, threshold)
            left = steps_left()
    except checker.TooLarge:
        return None
    assert left is not None
    return TowerSearch(checked.k, inner, outer, search, most_steps - left)


def _close_in(
    instance: PipelineInstance,
    tower: Sequence[int],
    search: TowerSearch,
    budget: Budget,
    best: Best,
) -> None:
    """Bisect between the best bound and the best cost, while there is time.

    At a threshold that stands, the pairs may lead to a partition that costs more, if it has tensors
    between the sides that no pair pays for. Then no larger threshold can be refuted.
    """
    refuted_below, stands = best.certified, best.objective
    while refuted_below < min(stands, best.objective):
        threshold = int(refuted_below + min(stands, best.objective)) // 2
        try:
            stages = search.stages(threshold, budget)
        except OutOfTimeError:
            return
        if stages is not None:
            best.solution(Partition(stages))
            stands = min(stands, threshold)
            continue
        refuted_below = threshold + 1
        if search.steps <= MOST_STEPS:
            payload = {"threshold": threshold, "tower": list(tower)}
            best.bound(Certificate.of(instance, KIND, threshold + 1, payload, "tower-dp"))
        else:
            best.bound(Claim(KIND, threshold + 1))
