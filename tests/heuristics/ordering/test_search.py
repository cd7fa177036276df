"""Orders, how they are costed, and that searches improve them."""

import numpy as np
import pytest
from brute_force_ordering import instance, topological_orders
from recording import record
from tiny_instances import tiny
from tiny_ordering import LARGER

from boundmark.heuristics.ordering import METHODS
from boundmark.heuristics.ordering.constructed import (
    breadth_first,
    depth_first,
    smallest_increase,
)
from boundmark.heuristics.ordering.search import anneal, peak_and_sum, random_runs, tensors_of
from boundmark.problems.arrays import frozen
from boundmark.problems.dag import Dag
from boundmark.problems.ordering import ExecutionOrder
from boundmark.problems.ordering.order import check_order, memory_while_running

# Three branches of two operators from 0 to 7.
BRANCHES = Dag.from_edges(
    8, [(0, 1), (0, 2), (0, 3), (1, 4), (2, 5), (3, 6), (4, 7), (5, 7), (6, 7)]
)


def test_breadth_first_goes_around_the_branches() -> None:
    """All first operators, then all second ones."""
    assert breadth_first(BRANCHES).tolist() == [0, 1, 2, 3, 4, 5, 6, 7]


def test_depth_first_finishes_a_branch() -> None:
    """One branch after another, the smallest number first."""
    assert depth_first(BRANCHES).tolist() == [0, 1, 4, 2, 5, 3, 6, 7]


def test_greedy_takes_what_leaves_least() -> None:
    """Operator 2 frees 5 and leaves 1; the others leave more."""
    sample = instance(4, [(5, 0, [2]), (2, 0, [1]), (4, 1, [3]), (1, 2, [3])])
    assert smallest_increase(sample).tolist() == [0, 2, 1, 3]


def test_the_kernel_costs_orders_as_the_problem_does() -> None:
    """Peak and sum of all orders of all tiny instances."""
    for sample, _ in tiny("ordering"):
        tensors = tensors_of(sample)
        for order in topological_orders(sample):
            taken = memory_while_running(sample.graph, sample.workspace, sample.overwrites, order)
            assert peak_and_sum(frozen(order), tensors) == (max(taken), sum(taken))


@pytest.mark.parametrize("peak_weight", [0, 12])
def test_annealing_keeps_orders_topological(peak_weight: int) -> None:
    """What it returns is an order of the cost it says, and no worse than the first."""
    tensors = tensors_of(LARGER)
    first = LARGER.graph.dag.topological_order
    current, best = first.copy(), first.copy()
    moves = random_runs(12, 500, np.random.default_rng(1))
    least = anneal(peak_weight, current, best, moves, np.full(500, 5.0), tensors)
    for order in (current, best):
        check_order(LARGER.graph, order.tolist())
    peak, total = peak_and_sum(best, tensors)
    assert least == peak_weight * peak + total
    assert current.tolist() != first.tolist()


def test_runs_are_neighbours_within_the_order() -> None:
    """Neither is empty, and both are inside."""
    for nodes in (2, 3, 50):
        begin, middle, end = random_runs(nodes, 200, np.random.default_rng(3)).T
        assert (begin >= 0).all()
        assert (begin < middle).all()
        assert (middle < end).all()
        assert (end <= nodes).all()


def test_searches_find_the_optimum_of_a_small_graph() -> None:
    """Two modules of three branches: searches are as good as dynamic programming."""
    exact = record("downset-dp", LARGER)
    best = min(LARGER.objective(solution) for solution in exact.solutions)
    for name, params in (
        ("reorder", {"evaluations": 3000}),
        ("brkga-orders", {"population": 30, "generations": 20}),
    ):
        found = record(name, LARGER, params=params).solutions
        assert min(LARGER.objective(solution) for solution in found) == best
    first = LARGER.objective(ExecutionOrder(LARGER.graph.dag.topological_order))
    assert best < first


def test_a_single_operator_has_one_order() -> None:
    """All methods return it."""
    sample = instance(1, [(3, -1, [0]), (2, 0, [])])
    for method in METHODS:
        few = {name: 5 for name in ("population", "generations") if name in method.params}
        (solution,) = record(method.name, sample, params=few).solutions
        assert sample.objective(solution) == 5
