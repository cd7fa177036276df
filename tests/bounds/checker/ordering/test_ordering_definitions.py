"""What the checker concludes of small random graphs, against all orders and all sets."""

import itertools
import random
from collections.abc import Sequence
from typing import Any

import brute_force_ordering
import pytest
from checking import cost_or_reason, prove, read
from definitions.ordering import (
    Row,
    drawn,
    forced_breakpoints,
    least_cost,
    part_of,
    priced,
    sections,
)
from selection import each_seed

from boundmark.bounds.checker.ordering.order import live_after
from boundmark.bounds.checker.ordering.prices import (
    least_slope_value,
    least_while_running,
    read_prices,
)
from boundmark.bounds.checker.ordering.search import Search
from boundmark.bounds.checker.ordering.section import (
    always_overwrites,
    may_overwrite,
)
from boundmark.problems.ordering import OrderingInstance

SEEDS = range(48)


def sample_of(seed: int, most: int = 5) -> tuple[OrderingInstance, random.Random, list[int]]:
    """Return an instance with any of the options, dice, and one of its orders."""
    sample, dice = drawn(seed, most), random.Random(seed)
    return sample, dice, list(dice.choice(list(brute_force_ordering.topological_orders(sample))))


def there_after(sample: OrderingInstance, done: set[int]) -> list[int]:
    """Return the tensors that are there after some operators."""
    graph = sample.graph
    return [
        t
        for t, producer in enumerate(graph.producer.tolist())
        if (producer == -1 or producer in done)
        and (set(graph.consumers[t]) - done or t in graph.kept)
    ]


@pytest.mark.parametrize("order", [[0, 1], [0, 1, 1], [0, 1, 3], [0, 1, 2, 2], [-1, 0, 1], 3])
def test_what_is_no_order(order: Any) -> None:
    """Each operator comes once."""
    sample = brute_force_ordering.instance(3, [(1, 0, [1])])
    assert cost_or_reason(sample, {"order": [0, 1, 2]}) == 1
    assert "order of the solution" in str(cost_or_reason(sample, {"order": order}))


@each_seed(SEEDS)
def test_live_tensors(seed: int) -> None:
    """After each operator of an order, what is there is written or an input, and still needed."""
    sample, _, order = sample_of(seed, 6)
    sizes = sample.graph.size.tolist()
    assert live_after(read(sample), order) == [
        sum(sizes[t] for t in there_after(sample, set(order[:at]))) for at in range(len(order) + 1)
    ]


def value(
    sample: OrderingInstance, members: Sequence[int], begun: set[int], rows: list[Row],
    done: set[int], default: dict[int, int],
) -> int:  # fmt: skip
    """Return the priced size of what is there after some operators of a section.

    Parameters
    ----------
    members, begun, done
        The operators of the section, those before it, and those that have run, those included.
    default
        For a tensor without prices, the reader whose price is its size.
    """
    graph = sample.graph
    after = begun | set(members)
    total = 0
    for t, (size, producer) in enumerate(
        zip(graph.size.tolist(), graph.producer.tolist(), strict=True)
    ):
        is_there = producer == -1 or producer in done
        touched = producer in members or set(graph.consumers[t]) & set(members)
        stays = t in graph.kept or set(graph.consumers[t]) - after
        own = [(reader, amount) for number, reader, amount in rows if number == t]
        if not touched:
            total += size * (t in there_after(sample, begun))
        elif stays:
            total += size * is_there
        else:
            own = own or ([(default[t], size)] if t in default else [])
            total += sum(amount * (is_there - (reader in done)) for reader, amount in own)
    return total


def sets_between(members: Sequence[int], inside: set[int], outside: set[int]) -> list[set[int]]:
    """Return all sets of operators with some of them and without others."""
    free = [v for v in members if v not in inside | outside]
    return [
        inside | set(more)
        for size in range(len(free) + 1)
        for more in itertools.combinations(free, size)
    ]


def waits(sample: OrderingInstance, u: int, w: int) -> bool:
    """Whether an operator runs after another one in all orders."""
    orders = brute_force_ordering.topological_orders(sample)
    return all(order.index(u) < order.index(w) for order in orders)


@each_seed(SEEDS)
def test_least_memory_by_prices(seed: int) -> None:
    """The least priced size over all sets that may have run, in sections of any order."""
    sample, dice, order = sample_of(seed)
    begin = dice.randrange(len(order))
    end = dice.randrange(begin + 1, len(order) + 1)
    part, begun, members = part_of(sample, order, begin, end), set(order[:begin]), order[begin:end]
    graph = sample.graph
    for _ in range(3):
        rows = priced(part, dice)
        prices = read_prices(part, [list(row) for row in rows])
        for at, v in enumerate(members):
            before = {u for u in members if u != v and waits(sample, u, v)}
            behind = {w for w in members if w != v and waits(sample, v, w)}
            outside = behind | {v}
            default = {}
            for t, readers in enumerate(graph.consumers):
                certain = [u for u in sorted(readers) if u in outside]
                if certain:
                    default[t] = certain[0]
            expected = min(
                value(sample, members, begun, rows, begun | done, default)
                for done in sets_between(members, before, outside)
            )
            written = [t for t, p in enumerate(graph.producer.tolist()) if p == v]
            output = sum(int(graph.size[t]) for t in written)
            expected += (
                output
                + {
                    "none": 0,
                    "streamed": int(graph.parameter_size[v]),
                    "resident": graph.parameter_total,
                }[sample.weights]
            )
            # It may run last of all that it need not run before.
            mine = [
                t
                for t in graph.overwrites[v]
                if sample.in_place == "yes" and not set(graph.consumers[t]) - begun - set(members)
            ]
            if any(not behind & set(graph.consumers[t]) for t in mine):
                expected -= output
            assert may_overwrite(part, at) == any(
                not behind & set(graph.consumers[t]) for t in mine
            )
            assert always_overwrites(part, at) == any(
                set(graph.consumers[t]) <= before | begun | {v} for t in mine
            )
            assert least_while_running(part, at, prices) == expected


@each_seed(range(3, 400, 4))
def test_who_overwrites(seed: int) -> None:
    """In some orders, or in all, an operator is the last to read what it can overwrite."""
    sample, _, order = sample_of(seed, 6)
    part = part_of(sample, order, 0, len(order))
    orders = list(brute_force_ordering.topological_orders(sample))
    for at, v in enumerate(order):
        last = [
            any(
                all(found.index(w) <= found.index(v) for w in sample.graph.consumers[t])
                for t in sample.graph.overwrites[v]
                if sample.in_place == "yes"
            )
            for found in orders
        ]
        assert may_overwrite(part, at) == any(last)
        # One tensor has to do for all orders.
        assert always_overwrites(part, at) <= all(last)
        assert always_overwrites(part, at) == any(
            all(found.index(w) <= found.index(v) for found in orders for w in consumers)
            for consumers in (sample.graph.consumers[t] for t in sample.graph.overwrites[v])
        )


@each_seed(SEEDS)
def test_least_values_by_slopes(seed: int) -> None:
    """The least of priced size less slope times operators, over all sets of a section."""
    sample, dice, order = sample_of(seed)
    begin = dice.randrange(len(order))
    end = dice.randrange(begin + 1, len(order) + 1)
    part, begun, members = part_of(sample, order, begin, end), set(order[:begin]), order[begin:end]
    for _ in range(4):
        rise, run = dice.randint(-6, 6), dice.randint(1, 3)
        rows = priced(part, dice)
        prices = read_prices(part, [[t, reader, run * amount] for t, reader, amount in rows])
        expected = min(
            run * value(sample, members, begun, rows, begun | done, {}) - rise * len(done)
            for done in sets_between(members, set(), set())
        )
        assert least_slope_value(part, prices, rise, run) == expected


@each_seed(SEEDS)
def test_searches_decide(seed: int) -> None:
    """Of sections between breakpoints, a search refutes what is below the optimum, no more."""
    sample, _, order = sample_of(seed, 6)
    orders = list(brute_force_ordering.topological_orders(sample))
    nodes = sample.nodes
    forced = forced_breakpoints(orders, order)
    for begin, end in sections(forced, nodes):
        part = part_of(sample, order, begin, end)
        best = least_cost(sample, orders, begin, end)
        least = [least_while_running(part, v, {}) for v in range(end - begin)]
        for limit in range(best - 2, best + 3):
            if sample.metric == "peak":
                assert Search(part).refutes_peak(limit) == (limit <= best)
            else:
                assert Search(part).refutes_sum(least, limit) == (limit <= best)


@each_seed(range(200))
def test_breakpoints_by_slopes(seed: int) -> None:
    """Some optimal order passes each breakpoint that is accepted, and prices decide what is."""
    sample, dice, order = sample_of(2 * seed + 1)
    nodes = sample.nodes
    orders = list(brute_force_ordering.topological_orders(sample))
    best = brute_force_ordering.optimum(sample)
    forced = forced_breakpoints(orders, order)
    at = dice.choice([at for at in range(1, nodes) if at not in forced] or [0])
    if not at:
        return
    ends = sorted([0, *forced, nodes])
    begin = max(end for end in ends if end < at)
    end = min(end for end in ends if end > at)
    part = part_of(sample, order, begin, end)
    sizes = sample.graph.size.tolist()
    live = sum(sizes[t] for t in there_after(sample, set(order[:at])))
    never = [
        v for v in range(end - begin) if may_overwrite(part, v) and not always_overwrites(part, v)
    ]
    passing = [o for o in orders if set(o[:at]) == set(order[:at])]
    searches = [
        [number, least_cost(sample, passing, first, last)]
        for number, (first, last) in enumerate(itertools.pairwise(sorted([*ends, at])))
    ]
    rows = [
        [t.number, part.operators[t.readers[-1]], t.size]
        for t in part.tensors
        if t.readers and not t.stays
    ]
    for rise in range(-8, 9):
        run = dice.randint(1, 2)
        chosen = priced(part, dice) if dice.random() < 0.3 else rows
        prices = [[t, reader, run * amount] for t, reader, amount in chosen]
        point = {"at": at, "slope": [rise, run], "prices": prices}
        breakpoints = [{"forced": forced}, point]
        payload = {"order": order, "stops": breakpoints, "cuts": [], "searches": searches}
        least = least_slope_value(part, read_prices(part, prices), rise, run)
        is_shown = not never and least >= run * live - rise * (at - begin)
        found = prove(sample, "downset-dp/1", payload)
        assert (found is not None) == is_shown
        assert found is None or found == best == sum(cost for _, cost in searches)
