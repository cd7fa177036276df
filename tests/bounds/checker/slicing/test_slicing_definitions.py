"""What the checker computes for plans, parts and operators, against indices counted one by one."""

import itertools
import json
import math
import random
from contextlib import suppress
from functools import cache

import numpy as np
import pytest
from brute_force_slicing import instance, orders, vectors
from checking import cost_or_reason, read
from definitions.slicing import drawn, large_enough
from selection import each_seed
from slow_slicing import simulate

from boundmark.bounds.checker.slicing.compute import best_split
from boundmark.bounds.checker.slicing.instance import Edge
from boundmark.bounds.checker.slicing.needs import Needs
from boundmark.bounds.checker.slicing.ticks import Operator, Sum
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.slicing import Edge as ProblemEdge
from boundmark.problems.slicing import SlicingInstance, SlicingPlan
from boundmark.problems.slicing.graph import whole


def value(sample: SlicingInstance, plan: SlicingPlan) -> int | None:
    """Return what the checker says a plan takes; None if it does not fit."""
    found = cost_or_reason(sample, plan.to_json())
    assert isinstance(found, int) or "holds more than its capacity" in found
    return found if isinstance(found, int) else None


@each_seed(range(40))
def test_devices_hold_what_they_hold(seed: int) -> None:
    """In any order, a plan fits to the byte: parameters, what is received, what is kept."""
    dice = random.Random(seed)
    devices = dice.choice([2, 3])
    lengths = [dice.randrange(2, 6) for _ in range(4)]
    axes = [dice.randrange(2) for _ in lengths]
    edges = []
    for u, w in itertools.combinations(range(4), 2):
        if dice.random() < 0.5:
            extent = lengths[u] if axes[u] == axes[w] else dice.randrange(1, 4)
            if dice.random() < 0.3:
                edges.append(whole(u, w, dice.randrange(3), extent))
            else:
                window = (1, dice.randrange(-1, 1), dice.randrange(1, 3), 1, 1)
                edges.append(ProblemEdge(u, w, dice.randrange(3), extent, *window))
    work = [[dice.randrange(1, 9) for _ in range(devices)] for _ in lengths]
    weights, output = ([dice.randrange(9) for _ in lengths] for _ in range(2))
    output = large_enough(output, edges, axes)
    every = [vectors(length, devices) for length in lengths]
    ways = orders(instance(lengths, work, edges, axis=axes))
    for _ in range(6):
        rows = SlicingPlan(
            np.array([dice.choice(row) for row in every]), np.array(dice.choice(ways))
        )

        def of(capacity: int) -> SlicingInstance:
            return instance(
                lengths, work, edges, axis=axes, weights=weights, output=output,
                capacity=[capacity] * devices,
            )  # fmt: skip

        low, high = -1, 1000
        while low + 1 < high:
            middle = (low + high) // 2
            try:
                is_enough = simulate(of(middle), rows)[1]
            except InvalidInputError:
                # Some operator does not fit, whatever the plan.
                is_enough = False
            low, high = (low, middle) if is_enough else (middle, high)
        assert value(of(high), rows) is not None
        assert of(high).objective(rows) == value(of(high), rows)
        with suppress(InvalidInputError):
            assert value(of(high - 1), rows) is None


def test_tensors_are_held_until_they_are_read_last() -> None:
    """A device may be full to the last byte, and an output takes room until its last reader ran."""
    edges = [whole(0, 1, 0, 2), whole(0, 2, 0, 2)]
    for capacity, is_enough in ((8, True), (7, False)):
        sample = instance(
            [2, 2, 2, 2], [[1], [1], [1], [1]], edges, output=[2, 1, 1, 1], weights=[0] * 4,
            capacity=[capacity],
        )  # fmt: skip
        # While operator 2 runs, its own output and those of 0 are there: 2 * 2 + 2 * 1.
        assert (value(sample, SlicingPlan(np.array([(0, 2)] * 4))) is not None) == (
            is_enough or capacity >= 6
        )
    tight = instance([2, 2, 2], [[1]] * 3, edges, output=[2, 1, 1], capacity=[6])
    assert value(tight, SlicingPlan(np.array([(0, 2)] * 3))) == 3
    less = instance([2, 2, 2], [[1]] * 3, edges, output=[2, 1, 1], capacity=[5])
    assert value(less, SlicingPlan(np.array([(0, 2)] * 3))) is None


def indices(edge: Edge, begin: int, end: int) -> tuple[int, int]:
    """Return the range of indices that a part needs, from those of each of its own."""
    groups = [
        (index * edge.multiply + edge.add + reach) // edge.divide
        for index in range(begin, end)
        for reach in range(edge.size)
    ]
    low, high = edge.scale * min(groups), edge.scale * (max(groups) + 1)
    return min(max(low, 0), edge.extent), min(max(high, 0), edge.extent)


@each_seed(range(60))
def test_needs_of_parts(seed: int) -> None:
    """The least and the most that parts need, and what overlaps at cuts, of all there are."""
    sample = drawn(seed)
    graph = read(sample)
    for edge in graph.edges:
        length = graph.length[edge.consumer]
        needs = Needs(edge, length)
        ranges = {
            (a, b): indices(edge, a, b) for a in range(length) for b in range(a + 1, length + 1)
        }
        for (a, b), (low, high) in ranges.items():
            assert (edge.first(a), edge.end(b)) == (low, high)
        for width in range(1, length + 1):
            sizes = [edge.end(a + width) - edge.first(a) for a in range(length - width + 1)]
            assert needs.of_width(width) == (min(sizes), max(sizes))
        overlaps = [edge.end(c) - edge.first(c) for c in range(1, length)]
        least = min(overlaps, default=0)
        assert needs.cover == edge.end(length) - edge.first(0)
        assert (needs.least_overlap, needs.least_twice) == (least, max(0, least))
        assert needs.most_skipped == max(0, -least)


@each_seed(range(60))
def test_best_splits(seed: int) -> None:
    """No division of an operator takes less, and one takes as little if indices can be divided."""
    dice = random.Random(seed)
    devices, length = dice.randrange(1, 4), dice.randrange(1, 9)
    work = [dice.randrange(1, 20) for _ in range(devices)]
    launch = [dice.randrange(4) for _ in range(devices)]
    graph = read(instance([length], [work], launch=launch))

    def ticks(row: tuple[int, ...]) -> int:
        return max(
            start - (-one * (end - begin) // length)
            for one, start, (begin, end) in zip(work, launch, itertools.pairwise(row), strict=True)
            if end > begin
        )

    assert best_split(graph, 0) == min(map(ticks, vectors(length, devices)))


@pytest.mark.parametrize(
    ("length", "work", "launch", "expected"),
    [(2, [2, 2], [0, 0], 1), (1, [1, 9], [0, 0], 1), (4, [8, 0], [0, 0], 0), (3, [9], [2], 11)],
)
def test_best_splits_by_hand(
    length: int, work: list[int], launch: list[int], expected: int
) -> None:
    """A tick may be enough, and an operator that some device does in no time takes none."""
    assert best_split(read(instance([length], [work], launch=launch)), 0) == expected


@each_seed(range(120))
def test_no_plan_takes_less_ticks(seed: int) -> None:
    """Whatever an operator and what it reads are split into, it takes the least ticks or more."""
    check_least_ticks(drawn(seed))


@pytest.mark.parametrize("seed", range(12))
def test_no_plan_takes_less_ticks_on_devices_of_all_speeds(seed: int) -> None:
    """A byte is charged to the slowest of three devices, where moving it takes long."""
    dice = random.Random(seed)
    length = dice.choice([4, 5])
    window = dice.choice([(1, -1, 3, 1, 1), (1, 0, 2, 1, 1), (2, 0, 2, 1, 1), (1, -2, 5, 1, 1)])
    edge = ProblemEdge(0, 1, 1, length, *window)
    speeds = [dice.choice([1, 2]), dice.choice([2, 4]), dice.choice([8, 24, 60])]
    rate = dice.choice([(1, 1), (2, 1), (5, 1)])
    check_least_ticks(instance([length, length], [[0] * 3, speeds], [edge], point_to_point=rate))


def of_all_sorts(seed: int) -> SlicingInstance:
    """Return an operator that reads one or two others, on up to four devices of any speeds."""
    dice = random.Random(seed)
    inputs, devices = dice.choice([1, 1, 1, 2]), dice.choice([2, 3, 3, 4])
    most = {2: 6, 3: 5, 4: 4}[devices] if inputs == 1 else 3
    lengths = [dice.randrange(2, most + 1) for _ in range(inputs + 1)]
    axes = [dice.choice([0, 1, 1]) for _ in range(inputs + 1)]
    edges = []
    for u in range(inputs):
        crosses = axes[u] != axes[-1]
        extent = dice.randrange(1, 5) if crosses else lengths[u]
        unit = dice.randrange(1, 4)
        if dice.random() < 0.15:
            edges.append(whole(u, inputs, unit, extent))
        else:
            window = (
                dice.choice([1, 1, 1, 2]), dice.randrange(-2, 2), dice.randrange(1, 5),
                dice.choice([1, 1, 2]), dice.choice([1, 1, 2]),
            )  # fmt: skip
            edges.append(ProblemEdge(u, inputs, unit, extent, *window))
    speeds = dice.choice(
        [
            [dice.choice([1, 2, 3, 4, 6, 8, 12, 24, 60]) for _ in range(devices)],
            [dice.randrange(1, 4)] * devices,
            [dice.randrange(4) for _ in range(devices)],
        ]
    )
    return instance(
        lengths,
        [*([0] * devices for _ in range(inputs)), speeds],
        edges,
        axis=axes,
        launch=[dice.choice([0, 0, 1, 5]) for _ in range(devices)],
        point_to_point=dice.choice([(1, 1), (2, 1), (3, 2), (2, 5), (7, 1)]),
        broadcast=dice.choice([(1, 1), (2, 3)]),
        delay=dice.choice([0, 0, 1, 4]),
    )


@pytest.mark.parametrize(
    "seed", [0, 1, 5, 7, 19, 22, 33, 46, 74, 81, 125, 151, 586, 666, 978, 1388]
)
def test_no_plan_takes_less_ticks_where_ticks_are_least(seed: int) -> None:
    """In each of these some plan takes just as long as is said.

    They were chosen among 1,500: each change of one operator or number in `ticks` that lets any of
    these plans take less than is said does so in one of the samples here.
    """
    check_least_ticks(of_all_sorts(seed))


@cache
def fastest(document: str) -> dict[tuple[int, ...], int]:
    """Return the least ticks of an instance's plans, by the widths of the operators' parts."""
    read_document = json.loads(document)
    devices = len(read_document["capacity"])
    roomy = SlicingInstance.from_json(read_document | {"capacity": [2**40] * devices})
    found: dict[tuple[int, ...], int] = {}
    for rows in itertools.product(*(vectors(n, devices) for n in roomy.graph.length)):
        widths = tuple(max(b - a for a, b in itertools.pairwise(row)) for row in rows)
        ticks, _ = simulate(roomy, SlicingPlan(np.array(rows)))
        found[widths] = min(found.get(widths, ticks), ticks)
    return found


def check_least_ticks(sample: SlicingInstance) -> None:
    """Compare the last operator's least ticks with those of all plans, by widths of parts."""
    graph = read(sample)
    number = len(graph.length) - 1
    devices = len(graph.capacity)
    lows = [-(-length // devices) for length in graph.length]
    fine = [[(w, w) for w in range(low, n + 1)] for low, n in zip(lows, graph.length, strict=True)]
    # All of an operator is a class of its own.
    coarse = [
        [*([(low, n - 1)] if low < n else []), (n, n)]
        for low, n in zip(lows, graph.length, strict=True)
    ]
    tables: list[tuple[list[list[tuple[int, int]]], list[tuple[tuple[int, int], list[int]]]]] = []
    for classes in (fine, coarse):
        operator = Operator(graph, number, classes)
        tables.append(
            (
                [classes[producer] for producer in operator.producers],
                [(one, operator.least(one).table()) for one in classes[number]],
            )
        )
    for widths, ticks in fastest(json.dumps(sample.to_json())).items():
        for inputs, own in tables:
            places = [
                next(i for i, (low, high) in enumerate(row) if low <= width <= high)
                for row, width in zip(inputs, widths, strict=False)
            ]
            at = 0
            for place, row in zip(places, inputs, strict=True):
                at = at * len(row) + place
            for (low, high), table in own:
                if low <= widths[-1] <= high:
                    assert table[at] <= ticks


def test_sums_by_hand() -> None:
    """Ticks of all inputs together are rounded up once; apart, each is rounded down."""
    ticks = Sum(3, 7, 5, 4, [[0, 3], [1, 2], [0, 6]])
    totals = [a + b + c for a in (0, 3) for b in (1, 2) for c in (0, 6)]
    assert ticks.table() == [3 + math.ceil((7 + 5 * total) / 4) for total in totals]
    assert ticks.apart() == (3 + 1, [[0, 3], [1, 2], [0, 7]])


@each_seed(range(60))
def test_inputs_apart_take_no_more(seed: int) -> None:
    """Of an operator that reads three tensors, classes are chosen input by input."""
    dice = random.Random(seed)
    length = dice.choice([2, 3, 4])
    edges = [
        ProblemEdge(u, 3, dice.randrange(1, 4), length, 1, dice.randrange(-1, 1), 2, 1, 1)
        for u in range(3)
    ]
    rate = dice.choice([(1, 1), (3, 2), (2, 5)])
    devices = dice.choice([2, 3, 4])
    speeds = [dice.randrange(1, 9) for _ in range(devices)]
    work = [[0] * devices] * 3 + [speeds]
    graph = read(instance([length] * 4, work, edges, point_to_point=rate))
    widths = [(w, w) for w in range(-(-length // devices), length + 1)]
    operator = Operator(graph, 3, [widths] * 4)
    for own in operator.own:
        added = [[dice.randrange(-5, 6) for _ in row] for row in operator.classes]
        least = [sum(choice) for choice in itertools.product(*added)]
        together = map(sum, zip(operator.least(own).table(), least, strict=True))
        assert operator.smallest(own, added) <= min(together)
