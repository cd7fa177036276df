"""Breakpoints, networks and searches of sections, against exhaustion."""

import itertools
import random

import pytest
from brute_force_ordering import instance, optimum, taken, topological_orders
from tiny_instances import tiny

from boundmark.bounds import checker
from boundmark.bounds.checker.ordering.order import live_after
from boundmark.bounds.checker.ordering.section import always_overwrites, may_overwrite
from boundmark.bounds.ordering.downset_dp import SectionSearch
from boundmark.bounds.ordering.plan import Plan
from boundmark.bounds.ordering.section_network import SectionNetwork
from boundmark.problems.ordering import OrderingInstance


def plan_of(sample: OrderingInstance) -> Plan:
    """Return the plan of an instance, without breakpoints."""
    order = sample.graph.dag.topological_order.tolist()
    return Plan(checker.check_instance(sample.to_json()), order)


def prefixes(sample: OrderingInstance) -> set[frozenset[int]]:
    """Return all down-sets."""
    return {
        frozenset(order[:size])
        for order in topological_orders(sample)
        for size in range(sample.nodes + 1)
    }


SAMPLES = [sample for sample, _ in tiny("ordering") if sample.nodes >= 4]


def test_cuts_are_the_least_memory() -> None:
    """Of all orders, where overwriting does not depend on the order; else they are no more."""
    exact = 0
    for sample in SAMPLES:
        (part,) = plan_of(sample).sections()
        network = SectionNetwork(part)
        least = dict.fromkeys(range(sample.nodes), 2**60)
        for order in topological_orders(sample):
            for v, memory in zip(order, taken(sample, order), strict=True):
                least[v] = min(least[v], memory)
        for at, v in enumerate(part.operators):
            value, _ = network.least_while_running(at)
            if may_overwrite(part, at) and not always_overwrites(part, at):
                assert value <= least[v]
            else:
                assert value == least[v]
                exact += 1
    assert exact > 150


def test_forced_breakpoints_are_those_that_all_orders_pass() -> None:
    """Not one more and not one less."""
    for sample in SAMPLES:
        plan = plan_of(sample)
        orders = list(topological_orders(sample))
        expected = [
            size
            for size in range(1, sample.nodes)
            if len({frozenset(order[:size]) for order in orders}) == 1
        ]
        assert plan.find_forced() == expected


def test_the_lowest_point_below_a_slope() -> None:
    """The least of run L(D) - rise |D|; at a proper down-set if there is one."""
    dice = random.Random(1)
    for sample in SAMPLES:
        plan = plan_of(sample)
        (part,) = plan.sections()
        run, rise = dice.randint(1, 4), dice.randint(-9, 9)
        read = checker.check_instance(sample.to_json())
        values = {}
        for order in topological_orders(sample):
            for size, live in enumerate(live_after(read, list(order))):
                values[frozenset(order[:size])] = run * live - rise * size
        value, side, _ = SectionNetwork(part, run).lowest_below_slope(rise)
        chosen = frozenset(v for v, inside in zip(part.operators, side, strict=True) if inside)
        assert value == min(values.values()) == values[chosen]
        proper = [v for down, v in values.items() if 0 < len(down) < sample.nodes]
        if 0 in (len(chosen), sample.nodes - len(chosen)):
            assert min(proper) > value


def test_some_optimal_order_passes_all_breakpoints() -> None:
    """Of the sum, by slopes and by force."""
    passed = 0
    for sample in SAMPLES:
        sample = sample.with_parameters({"metric": "sum"})
        plan = plan_of(sample)
        plan.find_forced()
        plan.find_slopes(lambda: False)
        breakpoints = [frozenset(plan.order[:end]) for end in plan.ends]
        best = optimum(sample)
        passed += sum("slope" in point for point in plan.breakpoints)
        assert any(
            all(frozenset(order[: len(point)]) == point for point in breakpoints)
            and sum(taken(sample, order)) == best
            for order in topological_orders(sample)
        )
    assert passed > 30


@pytest.mark.parametrize("width", [1, 2, 10**6])
@pytest.mark.parametrize("metric", ["peak", "sum"])
def test_searches_enclose_the_optimum(metric: str, width: int) -> None:
    """With any width, the order found costs what is said and no order costs less than the bound.

    Without limit to the width, both are the optimum.
    """
    for sample in SAMPLES:
        sample = sample.with_parameters({"metric": metric})
        (part,) = plan_of(sample).sections()
        search = SectionSearch(part, metric == "peak", [0] * sample.nodes, 2**20)
        found = search.run(2**60, 0, width, lambda: False)
        assert found is not None
        assert found.places is not None
        order = [part.operators[at] for at in found.places]
        combine = max if metric == "peak" else sum
        assert found.cost == combine(taken(sample, order))
        assert found.lower <= optimum(sample) <= found.cost
        if width > 1000:
            assert found.lower == found.cost


def test_little_memory_narrows_the_search() -> None:
    """It is as if the width were less; bounds stay bounds."""
    sample = instance(9, [(v + 1, v, [8]) for v in range(8)], metric="sum")
    (part,) = plan_of(sample).sections()
    wide = SectionSearch(part, False, [0] * 9, 2**30).run(2**60, 0, 10**6, lambda: False)
    narrow = SectionSearch(part, False, [0] * 9, 2**10).run(2**60, 0, 10**6, lambda: False)
    assert wide is not None
    assert narrow is not None
    assert narrow.steps < wide.steps
    assert narrow.lower < wide.lower == wide.cost


def test_searches_stop_when_the_time_is_up() -> None:
    """They find nothing then."""
    (part,) = plan_of(SAMPLES[0]).sections()
    search = SectionSearch(part, False, [0] * len(part.operators), 2**20)
    assert search.run(2**60, 0, 1, lambda: True) is None


def test_sections_of_more_than_a_word() -> None:
    """Seventy operators in two branches: sets of two words, with the order known."""
    count = 35
    tensors = [(5, 0, [1, 1 + count])]
    for begin in (1, 1 + count):
        tensors += [(9 - at % 2, begin + at, [begin + at + 1]) for at in range(count - 1)]
        tensors.append((1, begin + count - 1, [1 + 2 * count]))
    sample = instance(2 + 2 * count, tensors, metric="sum")
    (part,) = plan_of(sample).sections()
    found = SectionSearch(part, False, [0] * sample.nodes, 2**24).run(
        2**60, 0, 10**6, lambda: False
    )
    assert found is not None
    assert found.places is not None
    assert found.lower == found.cost
    branches = [at > count for at in found.places[1:-1]]
    # One branch as a whole, then the other one.
    assert len(list(itertools.groupby(branches))) == 2
