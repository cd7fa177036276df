from itertools import combinations_with_replacement

from brute_force import all_dags, instance

from boundmark.bounds.pipeline.mip import quick_slicing
from boundmark.problems.arrays import frozen
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import Partition


def test_slicing_is_the_best_one_of_its_order() -> None:
    """No other slicing of the order is cheaper, with overflow too."""
    for number, edges in enumerate(list(all_dags(5))[::10]):
        sample = instance(
            [3, 1, 4, 1, 5],
            edges,
            k=1 + number % 4,
            transfer=[2, 7, 1, 3, 2],
            param_load=[0, 6, 2, 0, 5],
            cache=(100, 6)[number % 2],
        )
        order = sample.graph.dag.topological_order
        slicings = combinations_with_replacement(range(6), sample.k - 1)
        expected = min(
            sample.objective(Partition.from_slices(order, frozen([*ends, 5]))) for ends in slicings
        )
        assert sample.objective(quick_slicing.sliced(sample, order)) == expected


def test_other_orders_find_what_one_misses() -> None:
    """Two independent chains, interleaved by their numbers: each belongs into one stage."""
    sample = instance([1] * 12, [(v, v + 2) for v in range(10)], 2, transfer=[9] * 12)
    plain = quick_slicing.sliced(sample, sample.graph.dag.topological_order)
    quick = quick_slicing.quick_partition(sample, 1, Budget(20), 6)
    assert sample.objective(plain) == 12
    assert sample.objective(quick) == 6
