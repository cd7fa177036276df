import itertools
import random
from typing import Any

import pytest
from brute_force_placement import instance, optimum
from selection import FEW_SEEDS, first_now

from boundmark.bounds import checker
from boundmark.bounds.checker import budget
from boundmark.bounds.checker.placement.time_prices import TimePrices, pairs_like
from boundmark.problems.placement import PlacementInstance

FORK_JOIN = [(0, 1), (0, 2), (1, 3), (2, 3)]
# Three operators of 5 for two devices: one of these has two of them.
THREE = instance([[5, 5]] * 3, [])
WHOLE: dict[str, Any] = {"first": -1, "last": -1, "rows": [], "searches": [], "prices": []}


def row(
    threshold: int, ends: list[int], *prices: list[int], devices: tuple[int, int] = (0, 0)
) -> dict[str, Any]:
    """Return a row of prices."""
    return {
        "devices": list(devices), "threshold": threshold, "ends": ends, "prices": list(prices),
    }  # fmt: skip


def check(payload: Any, sample: PlacementInstance = THREE) -> int:
    """Return what a payload proves."""
    return checker.check_certificate(
        sample.to_json(),
        {
            "format": "boundmark-certificate/1", "instance_sha256": sample.sha256, "bound": 0,
            "problem": "placement", "kind": "time-prices/1", "payload": payload,
            "producer": "a test",
        },
    )  # fmt: skip


def whole(*rows: dict[str, Any]) -> dict[str, Any]:
    """Return a payload of one interval with prices."""
    return {"intervals": [{**WHOLE, "prices": list(rows)}]}


def test_operators_that_cannot_be_divided() -> None:
    """In 9 ticks, each of three operators of 5 is on a device in its middle, tick 4 to 5."""
    assert check(whole()) == 5
    # By loads, 15 ticks are half of both devices' 8 at most.
    assert (
        check(
            whole(
                row(
                    7,
                    [7],
                    [
                        1,
                    ],
                    [1],
                )
            )
        )
        == 8
    )
    with pytest.raises(checker.Rejected, match="do not refute their threshold"):
        check(whole(row(8, [8], [1], [1])))
    middle = [0, 1, 0], [0, 1, 0]
    assert check(whole(row(9, [4, 5, 9], *middle))) == 10 == optimum(THREE)
    with pytest.raises(checker.Rejected, match="do not refute their threshold"):
        check(whole(row(10, [4, 5, 10], *middle)))


def test_heads_and_tails_leave_devices_idle() -> None:
    """Two branches that both end with an operator on the one device that supports it."""
    rows = [[4, 4], [4, 4], [3, -1], [3, -1]]
    sample = instance(rows, [(0, 2), (1, 3)], times=[[0, 0, 0, 0]])
    # Behind tick 4, the first device has 6 to do.
    assert check(whole(row(9, [4, 9], [0, 1], [0, 0])), sample) == 10 == optimum(sample)
    with pytest.raises(checker.Rejected, match="do not refute"):
        check(whole(row(9, [3, 9], [0, 1], [0, 0])), sample)


def test_pairs_of_devices_that_are_alike() -> None:
    """What holds for both ends on one device holds on the other, if they are equal."""
    rows = [[1, 1], [5, 5], [5, 5], [1, 1]]
    sample = instance(rows, FORK_JOIN, times=[[0, 8, 8, 0]])
    same = {**WHOLE, "first": 0, "last": 3, "prices": [row(9, [9], [1], [0])]}
    assert check({"intervals": [same, WHOLE]}, sample) == 12 == optimum(sample)
    other = instance([*rows[:3], [2, 1]], FORK_JOIN, times=[[0, 8, 8, 0]])
    assert check({"intervals": [same, WHOLE]}, other) == 7


@pytest.mark.parametrize("has_first", [False, True])
@pytest.mark.parametrize("has_last", [False, True])
def test_pairs_are_those_that_permutations_make(has_first: bool, has_last: bool) -> None:
    """All permutations of devices within their classes are tried."""
    for alike in ([0, 0, 0], [0, 1, 0], [0, 1, 2], [0, 1, 1, 0, 4]):
        span = range(len(alike))
        orders = [
            order
            for order in itertools.permutations(span)
            if all(alike[d] == alike[order[d]] for d in span)
        ]
        for d in span if has_first else [0]:
            for e in span if has_last else [0]:
                expected = {(order[d] * has_first, order[e] * has_last) for order in orders}
                found = pairs_like(alike, (d, e), has_first, has_last)
                assert len(found) == len(set(found))
                assert set(found) == expected


@pytest.mark.parametrize("seed", first_now(range(100), FEW_SEEDS))
def test_the_cheapest_start(seed: int) -> None:
    """No start of all is cheaper than what is found."""
    dice = random.Random(seed)
    ends = sorted(dice.sample(range(1, 20), dice.randrange(5)))
    price = [dice.randrange(4) for _ in ends]
    ticks_of = [0] * 40
    for amount, (a, b) in zip(price, itertools.pairwise([0, *ends]), strict=True):
        ticks_of[a:b] = [amount] * (b - a)
    tables = TimePrices.of([0, *ends], price)
    for tick in range(40):
        assert tables.up_to(tick) == sum(ticks_of[:tick])
    for _ in range(20):
        begin, ticks = dice.randrange(15), dice.randrange(8)
        end = begin + ticks + dice.randrange(12)
        expected = min(sum(ticks_of[s : s + ticks]) for s in range(begin, end - ticks + 1))
        assert tables.least(begin, end, ticks) == expected


@pytest.mark.parametrize("seed", first_now(range(60), FEW_SEEDS))
def test_no_prices_prove_anything_false(seed: int) -> None:
    """Random prices of random intervals leave the optimum where it is."""
    dice = random.Random(seed)
    nodes, devices = dice.randrange(2, 5), dice.randrange(1, 3)
    pairs = list(itertools.combinations(range(nodes), 2))
    edges = [pair for pair in pairs if dice.random() < 0.5]
    lengths = [dice.randrange(4) for _ in range(2)]
    equal = dice.random() < 0.5
    rows = []
    for _ in range(nodes):
        ticks = [dice.randrange(6) for _ in range(devices)]
        rows.append([ticks[0]] * devices if equal else ticks)
    times = [[0, lengths[0], lengths[not equal], 0]] if devices == 2 else [[0]]
    sample = instance(rows, edges, times=times)
    best = int(optimum(sample))
    proven = 0
    for _ in range(60):
        intervals = []
        for _ in range(dice.randrange(2)):
            first, last = dice.choice(edges or [(0, 0)])
            pair = (dice.randrange(devices), dice.randrange(devices))
            intervals.append((first, last, pair))
        intervals.append((-1, -1, (0, 0)))
        documents = []
        for first, last, pair in intervals:
            threshold = dice.randrange(best + 3)
            count = dice.randrange(min(4, threshold + 1))
            ends = sorted(dice.sample(range(1, threshold + 1), count))
            prices = [[dice.randrange(3) for _ in ends] for _ in range(devices)]
            found = [row(threshold, ends, *prices, devices=pair)] * dice.randrange(2)
            documents.append({**WHOLE, "first": first, "last": last, "prices": found})
        try:
            proven = max(proven, check({"intervals": documents}, sample))
        except checker.Rejected:
            continue
        assert proven <= best
    with pytest.raises(checker.Rejected):
        check(whole(row(best, [best], *[[1]] * devices) if best else row(0, [1], [1])), sample)


GOOD = row(9, [4, 5, 9], [0, 1, 0], [0, 1, 0])


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        ({}, "it lacks intervals"),
        ({"intervals": []}, "is not the whole schedule"),
        ({"intervals": [{"first": -1, "last": -1, "rows": [], "searches": []}]}, "lacks prices"),
        ({"intervals": [{**WHOLE, "prices": {}}]}, "prices of an interval is not a list"),
        (whole(3), "a row of prices is not an object"),  # type: ignore[arg-type]
        (whole({**GOOD, "more": 1}), "it has 'more'"),
        (whole({**GOOD, "devices": [0]}), "are not two of its interval"),
        (whole({**GOOD, "devices": [0, 1]}), "are not two of its interval"),
        (whole({**GOOD, "devices": [1, 0]}), "are not two of its interval"),
        (whole({**GOOD, "devices": [0, -1]}), "from 0 to"),
        (whole({**GOOD, "threshold": -1}), "threshold of a row of prices is not"),
        (whole({**GOOD, "threshold": 2**60}), "threshold of a row of prices is not"),
        (whole({**GOOD, "threshold": 8}), "from 1 to 8"),
        (whole({**GOOD, "ends": [4, 4, 9]}), "are not ascending"),
        (whole({**GOOD, "ends": [5, 4, 9]}), "are not ascending"),
        (whole({**GOOD, "ends": [0, 5, 9]}), "from 1 to 9"),
        (whole({**GOOD, "ends": [5, 9]}), "are not one for each end"),
        (whole({**GOOD, "prices": {}}), "are not a list for each device"),
        (whole({**GOOD, "prices": [[0, 1, 0]]}), "are not a list for each device"),
        (whole({**GOOD, "prices": [[0, 1, 0], [0, -1, 0]]}), "from 0 to"),
        (whole({**GOOD, "prices": [[0, 1, 0], [0, 1, 1]]}), "do not refute their threshold"),
        (whole({**GOOD, "prices": [[0, 0, 0], [0, 0, 0]]}), "do not refute their threshold"),
        (whole(row(5, [], [], [])), "do not refute their threshold"),
    ],
)
def test_payloads_that_prove_nothing(payload: Any, expected: str) -> None:
    """Each is refused with what is wrong."""
    with pytest.raises(checker.Rejected, match=expected):
        check(payload)


def test_what_can_be_nowhere_needs_no_prices() -> None:
    """Below the longest path, some operator has no device that is in time."""
    assert check(whole(row(4, [], [], []))) == 5
    assert check(whole(row(0, [], [], []))) == 5


def test_a_row_is_about_its_own_devices() -> None:
    """An operator on the second device: there from the first one in 3 ticks, back in 7."""
    sample = instance([[0, 0], [-1, 4], [0, 0]], [(0, 1), (1, 2)], times=[[0, 3, 7, 0]])
    least = {(0, 0): 14, (0, 1): 7, (1, 0): 11, (1, 1): 4}
    for devices, ticks in least.items():
        interval = {**WHOLE, "first": 0, "last": 2}
        refuted = row(ticks - 1, [], [], [], devices=devices)
        assert check({"intervals": [{**interval, "prices": [refuted]}, WHOLE]}, sample) == 4
        as_long = row(ticks, [], [], [], devices=devices)
        with pytest.raises(checker.Rejected, match="do not refute"):
            check({"intervals": [{**interval, "prices": [as_long]}, WHOLE]}, sample)


def test_a_row_says_nothing_of_other_devices() -> None:
    """What is refuted with both ends on the first device is possible on the second."""
    rows = [[0, 0], [5, 2], [5, 2], [0, 0]]
    sample = instance(rows, FORK_JOIN, times=[[0, 9, 9, 0]])
    first = row(9, [9], [1], [0], devices=(0, 0))
    second = row(3, [3], [0], [1], devices=(1, 1))
    module = {**WHOLE, "first": 0, "last": 3}
    assert check({"intervals": [{**module, "prices": [first]}, WHOLE]}, sample) == 2
    assert check({"intervals": [{**module, "prices": [first, second]}, WHOLE]}, sample) == 4
    assert optimum(sample) == 4


def test_work_is_counted_before_it_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many pieces of time for many operators are refused as too large."""
    sample = instance([[v + 1] for v in range(60)], [])
    ends = list(range(1, 801))
    payload = whole(row(800, ends, [1] * 800))
    assert check(payload, sample) == 801
    monkeypatch.setattr(budget, "MOST_STEPS", 2**17)
    with pytest.raises(checker.TooLarge, match="steps"):
        check(payload, sample)
