"""Backtracking: its switches change what it does, not what it finds."""

import itertools

import pytest
from brute_force_ordering import instance, topological_orders
from recording import record
from tiny_instances import tiny

from boundmark.bounds.ordering.btsearch import MARKINGS, NONE, PREFIX, REMAINDER, Backtracking
from boundmark.problems.arrays import frozen
from boundmark.problems.certificate import Certificate
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.method import Budget
from boundmark.problems.ordering import ExecutionOrder, OrderingInstance

# Two modules of two branches of two operators each.
TENSORS = [
    (2, 0, [1, 3]), (9, 1, [2]), (1, 2, [5]), (9, 3, [4]), (1, 4, [5]), (2, 5, [6, 8]),
    (9, 6, [7]), (1, 7, [10]), (9, 8, [9]), (1, 9, [10]),
]  # fmt: skip


def prefixes(sample: OrderingInstance) -> set[tuple[int, ...]]:
    """Return the beginnings of all orders, of one operator and more."""
    orders = topological_orders(sample)
    return {order[:size] for order in orders for size in range(1, sample.nodes + 1)}


@pytest.mark.parametrize(("marking", "hashing"), [*itertools.product(MARKINGS, [False, True])])
def test_switches_do_not_change_the_optimum(marking: str, hashing: bool) -> None:
    """Of all tiny instances, whose last order costs as much as is said."""
    for sample, best in tiny("ordering")[::3]:
        search = Backtracking(sample, marking, hashing)
        orders = list(search.orders(Budget(60.0)))
        assert search.best == best == sample.objective(ExecutionOrder(frozen(orders[-1])))
        costs = [sample.objective(ExecutionOrder(frozen(order))) for order in orders]
        assert costs == sorted(set(costs), reverse=True)


def steps(sample: OrderingInstance) -> dict[str, int]:
    """Return how many steps a whole search takes, by its marking."""
    found = {}
    for marking in MARKINGS:
        search = Backtracking(sample, marking, True)
        list(search.orders(Budget(60.0)))
        found[marking] = search.steps
    return found


def test_each_state_is_processed_once() -> None:
    """With remainders; without marking, every order is tried."""
    for sample, _ in tiny("ordering")[::3]:
        begun = prefixes(sample)
        found = steps(sample)
        assert found[NONE] == len(begun)
        assert found[REMAINDER] == len({(frozenset(row[:-1]), row[-1]) for row in begun})
        assert found[REMAINDER] <= found[PREFIX] <= found[NONE]


def test_the_second_module_is_searched_once() -> None:
    """And not for each of the first one's six orders: twelve steps each, three between."""
    found = steps(instance(11, TENSORS, metric="sum"))
    assert found[REMAINDER] == 27
    assert found[NONE] > 4 * 27


def test_states_reached_at_lower_cost_are_entered_again() -> None:
    """With the cost of reaching them: here both modules try their worse branch first."""
    tensors = [
        (2, 0, [1, 2]), (9, 1, [3]), (1, 2, [3]), (2, 3, [4, 5]), (9, 4, [6]), (1, 5, [6])
    ]  # fmt: skip
    found = steps(instance(7, tensors, metric="sum"))
    assert found[REMAINDER] < found[PREFIX]


def test_finished_searches_are_certified() -> None:
    """By a search that the checker repeats; unfinished ones are not."""
    sample = instance(11, TENSORS, metric="sum")
    recorder = record("btsearch", sample)
    best = min(sample.objective(solution) for solution in recorder.solutions)
    (bound,) = recorder.bounds
    assert isinstance(bound, Certificate)
    assert bound.bound == best
    wide = instance(13, [(v, v, [12]) for v in range(12)])
    assert not record("btsearch", wide, seconds=0.05, params={"marking": "none"}).bounds


def test_unknown_markings_are_refused() -> None:
    """In one sentence."""
    with pytest.raises(InvalidInputError, match="marking is 'state'; expected 'remainder' or"):
        record("btsearch", instance(1, []), params={"marking": "state"})
