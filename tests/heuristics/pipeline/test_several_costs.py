"""One partition for several costs, against all partitions there are."""

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import brute_force
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import examples

from boundmark.heuristics.pipeline.orders import fewest_open_order
from boundmark.heuristics.pipeline.several_costs import (
    SeveralCostsSettings,
    best_cut,
    run,
)
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import Partition, PipelineInstance

QUICK = SeveralCostsSettings(rounds=2, evaluations=200)


@dataclass
class Reports:
    """What the search reported, in turn."""

    partitions: list[Partition] = field(default_factory=list)

    def solution(self, solution: Partition) -> None:
        """Keep a partition."""
        self.partitions.append(solution)

    def bound(self, bound: object) -> None:
        """Reject it."""
        raise AssertionError("the search reports no bounds")


def with_other_costs(
    instance: PipelineInstance, generator: np.random.Generator, scale: int = 1
) -> PipelineInstance:
    """Return the same graph with costs drawn anew."""
    drawn = {
        name: scale * generator.integers(0, 30, instance.nodes)
        for name in ("work", "transfer", "param_load")
    }
    cache = scale * int(generator.integers(0, 60))
    return replace(instance, graph=replace(instance.graph, **drawn, cache=cache))


def tiny(generator: np.random.Generator) -> list[PipelineInstance]:
    """Return a graph of at most 8 nodes with two costs, for 2 or 3 stages."""
    nodes, density = int(generator.integers(1, 9)), generator.choice([0.2, 0.4])
    pairs = [(u, v) for u in range(nodes) for v in range(u + 1, nodes)]
    edges = [pair for pair in pairs if generator.random() < density]
    first = brute_force.instance([0] * nodes, edges, int(generator.integers(2, 4)))
    return [with_other_costs(first, generator) for _ in range(2)]


def largest_ratio(
    instances: list[PipelineInstance], references: list[int], stages: tuple[int, ...]
) -> Fraction:
    """Return the largest ratio of a valid partition, from the definition of costs alone."""
    return max(
        Fraction(brute_force.cost(one, stages), max(1, reference))
        for one, reference in zip(instances, references, strict=True)
    )


def test_most_tiny_graphs_are_solved_to_the_optimum() -> None:
    """And none below it: all partitions are tried, and the costs are those of the instances."""
    generator = np.random.default_rng(7)
    optimal = 0
    for number in range(40):
        instances = tiny(generator)
        references = [brute_force.optimum(one) for one in instances]
        least = min(
            largest_ratio(instances, references, stages)
            for stages in brute_force.partitions(instances[0])
        )
        reports = Reports()
        run(instances, references, [], Budget(60), number, reports, QUICK)
        best = reports.partitions[-1]
        costs = [one.objective(best) for one in instances]
        stages = tuple(best.stages.tolist())
        assert costs == [brute_force.cost(one, stages) for one in instances]
        found = largest_ratio(instances, references, stages)
        assert found >= least
        optimal += found == least
    assert optimal >= 36


@given(data=st.data())
@settings(max_examples=examples(100))
def test_an_order_is_cut_as_well_as_possible(instances, all_segmentations, data: Any) -> None:
    """No cut of the order has a smaller largest ratio, whatever the references are."""
    first = data.draw(instances(max_nodes=7))
    second = with_other_costs(first, np.random.default_rng(data.draw(st.integers(0, 1000))))
    pair = [first, second]
    references = [data.draw(st.integers(1, 50)) for _ in pair]
    order = first.graph.dag.topological_order

    def ratio(partition: Partition) -> Fraction:
        return largest_ratio(pair, references, tuple(partition.stages.tolist()))

    least = min(
        ratio(Partition.from_segments(order, ends))
        for ends in all_segmentations(first.nodes, first.k)
    )
    assert ratio(best_cut(pair, references, order)) == least


def test_reports_get_better_and_depend_on_the_seed_only(random_instance) -> None:
    """Each partition is better than the one before; a start is improved on or returned."""
    first = random_instance(40, 4, seed=1)
    instances = [first, with_other_costs(first, np.random.default_rng(2), scale=2**30)]
    references = [max(1, one.graph.work.sum() // 4) for one in instances]
    start = best_cut(instances[:1], references[:1], first.graph.dag.topological_order)
    runs = []
    for _ in range(2):
        reports = Reports()
        run(instances, references, [start], Budget(600), 5, reports, QUICK)
        runs.append(reports.partitions)
    ratios = [
        max(one.objective(p) / r for one, r in zip(instances, references, strict=True))
        for p in [start, *runs[0]]
    ]
    assert ratios[1:] == sorted(set(ratios[1:]), reverse=True)
    assert ratios[-1] < ratios[0]
    assert runs[0][-1].stages.tolist() == runs[1][-1].stages.tolist()


def test_each_step_of_the_search_wins_something(random_instance) -> None:
    """Moved nodes, orders cut near the best, and weighted sums, each beside what comes without."""
    steps = {
        "moves": replace(QUICK, rounds=0, patience=0),
        "cuts and moves": replace(QUICK, rounds=0),
        "sums and moves": replace(QUICK, patience=0),
        "all": QUICK,
    }
    found = dict.fromkeys(["orders", *steps], 0.0)
    for seed in (1, 2, 3):
        first = random_instance(40, 4, seed)
        instances = [first, with_other_costs(first, np.random.default_rng(2))]
        references = [int(one.graph.work.sum()) // 4 for one in instances]

        def ratio(partition: Partition, instances=instances, references=references) -> float:
            return max(
                one.objective(partition) / reference
                for one, reference in zip(instances, references, strict=True)
            )

        orders = [first.dag.topological_order, *(fewest_open_order(i.graph) for i in instances)]
        found["orders"] += min(ratio(best_cut(instances, references, one)) for one in orders)
        for name, chosen in steps.items():
            reports = Reports()
            run(instances, references, [], Budget(600), 5, reports, chosen)
            found[name] += ratio(reports.partitions[-1])
    assert found["moves"] < found["orders"]
    assert found["cuts and moves"] < found["moves"]
    assert found["all"] < min(found["cuts and moves"], found["sums and moves"])


def test_ends_with_a_partition_that_costs_no_more_than_any_reference(random_instance) -> None:
    """Nothing can be better if references are bounds; the time is not waited for."""
    instance = random_instance(40, 4, seed=1)
    start = best_cut([instance], [1], instance.graph.dag.topological_order)
    cost = instance.objective(start)
    reports = Reports()
    run([instance, instance], [cost, cost + 1], [start], Budget(10**6), 1, reports)
    assert instance.objective(reports.partitions[-1]) <= cost


def test_without_time_a_start_is_at_least_cut_again(random_instance) -> None:
    """What it is given is never lost."""
    instance = random_instance(40, 4, seed=1)
    start = Partition(np.zeros(40, np.int64))
    reports = Reports()
    run([instance, instance], [1, 1], [start], Budget(0.0), 1, reports)
    assert instance.objective(reports.partitions[-1]) < instance.objective(start)


@pytest.mark.parametrize(
    "other",
    [
        brute_force.instance([1, 2, 3], [(0, 1), (1, 2)], 2),
        brute_force.instance([1, 2, 3], [(0, 1)], 3),
        brute_force.instance([1, 2], [(0, 1)], 2),
    ],
    ids=["edges", "stages", "nodes"],
)
def test_graphs_that_differ_are_refused(other: PipelineInstance) -> None:
    """A partition of one would mean nothing in the other."""
    first = brute_force.instance([1, 2, 3], [(0, 1)], 2)
    with pytest.raises(InvalidInputError, match="expected the same nodes, edges and number"):
        run([first, other], [1, 1], [], Budget(1.0), 1, Reports())
