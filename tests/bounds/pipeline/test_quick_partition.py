from itertools import combinations_with_replacement

import pytest
from brute_force import all_dags, instance, stage_cost

from boundmark.bounds.pipeline import quick_partition
from boundmark.problems.arrays import frozen
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import Partition


def test_segmentation_is_the_best_of_its_order() -> None:
    """No other segmentation of the order is cheaper, with overflow too."""
    for number, edges in enumerate(all_dags(5)[::10]):
        sample = instance(
            [3, 1, 4, 1, 5],
            edges,
            k=1 + number % 4,
            transfer=[2, 7, 1, 3, 2],
            param_load=[0, 6, 2, 0, 5],
            cache=(100, 6)[number % 2],
        )
        order = sample.graph.dag.topological_order
        choices = combinations_with_replacement(range(6), sample.k - 1)
        expected = min(
            sample.objective(Partition.from_segments(order, frozen([*ends, 5]))) for ends in choices
        )
        assert sample.objective(quick_partition.segmented(sample, order)) == expected


def test_other_orders_find_what_one_misses() -> None:
    """Two independent chains, interleaved by their numbers: each belongs into one stage."""
    sample = instance([1] * 12, [(v, v + 2) for v in range(10)], 2, transfer=[9] * 12)
    plain = quick_partition.segmented(sample, sample.graph.dag.topological_order)
    quick = quick_partition.quick_partition(sample, 1, Budget(20), 6)
    assert sample.objective(plain) == 12
    assert sample.objective(quick) == 6


def test_longest_stages_are_the_longest_that_fit() -> None:
    """Each stage ends at the last place at which its cost is within the threshold."""
    for number, edges in enumerate(all_dags(5)[::10]):
        sample = instance(
            [3, 1, 4, 1, 5],
            edges,
            k=1 + number % 4,
            transfer=[2, 7, 1, 3, 2],
            param_load=[0, 6, 2, 0, 5],
            cache=(100, 6)[number % 2],
        )
        order = sample.graph.dag.topological_order
        nodes = order.tolist()
        for threshold in range(0, 30, 3):
            expected: list[int] | None = [0] * 5
            start = 0
            for stage in range(sample.k):
                ends = [
                    end
                    for end in range(start + 1, 6)
                    if stage_cost(sample, set(nodes[start:end])) <= threshold
                ]
                for v in nodes[start : max(ends, default=start)]:
                    assert expected is not None
                    expected[v] = stage
                start = max(ends, default=start)
            if start < 5:
                expected = None
            assert quick_partition.longest_stages(sample, order, threshold) == expected


def test_large_graphs_are_segmented_without_a_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    """Along a chain, stages as long as possible lose nothing but the precision."""
    work = [1 + v * v % 17 for v in range(200)]
    edges = [(v, v + 1) for v in range(199)]
    sample = instance(work, edges, 7, transfer=[v * v % 13 for v in range(200)])
    order = sample.graph.dag.topological_order
    best = sample.objective(quick_partition.segmented(sample, order))
    monkeypatch.setattr(quick_partition, "MOST_NODES_OF_A_MATRIX", 100)
    quick = quick_partition.quick_partition(sample, 1, Budget(20), 0)
    found = sample.objective(quick)
    assert best <= found <= 1.05 * best
