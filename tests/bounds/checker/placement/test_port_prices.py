import itertools
import random
from typing import Any

import pytest
from brute_force_placement import instance, optimum
from selection import FEW_SEEDS, first_now

from boundmark.bounds import checker
from boundmark.bounds.checker import budget
from boundmark.problems.placement import PlacementInstance

# Each of three producers takes 1 on the first device, its reader 1 on the second, and 9 elsewhere.
PAIRS = [(0, 3), (1, 4), (2, 5)]
THREE = instance([[1, 9]] * 3 + [[9, 1]] * 3, PAIRS, times=[[0, 4, 4, 0]])
FORK = instance([[1, 9], [9, 1], [9, 1]], [(0, 1), (0, 2)], times=[[0, 4, 4, 0]])
FORK_PER_EDGE = instance(
    [[1, 9], [9, 1], [9, 1]], [(0, 1), (0, 2)], times=[[0, 4, 4, 0]], transfers="per-edge"
)
FORK_JOIN = [(0, 1), (0, 2), (1, 3), (2, 3)]
WHOLE: dict[str, Any] = {
    "first": -1, "last": -1, "rows": [], "searches": [], "groups": [], "ports": [],
}  # fmt: skip
# A transfer from the first device to the second pays 4 (1 + 1), which the producer adds there and
# the reader gets back if it is there, too.
ROW: dict[str, Any] = {
    "devices": [0, 0], "threshold": 9, "work": [1, 1], "send": [1, 0], "receive": [0, 1],
    "near": [[8, 0]], "far": [[-8, 0]],
}  # fmt: skip


def check(payload: Any, sample: PlacementInstance = THREE) -> int:
    """Return what a payload proves."""
    return checker.check_certificate(
        sample.to_json(),
        {
            "format": "boundmark-certificate/1", "instance_sha256": sample.sha256, "bound": 0,
            "problem": "placement", "kind": "port-prices/1", "payload": payload,
            "producer": "a test",
        },
    )  # fmt: skip


def whole(*rows: dict[str, Any], groups: list[int] | None = None) -> dict[str, Any]:
    """Return a payload of one interval with prices of ports."""
    return {
        "intervals": [
            {**WHOLE, "groups": [0] * 3 if groups is None else groups, "ports": list(rows)}
        ]
    }


def test_operators_that_are_fast_apart_pay_for_transfers() -> None:
    """Apart, a pair pays 10 in prices: for three pairs, 30 is more than 9 ticks cost."""
    assert check({"intervals": [WHOLE]}) == 6
    # No device can use the 5 ticks that another operator of the pair takes with its transfer.
    assert check(whole(ROW)) == 10 <= optimum(THREE)
    with pytest.raises(checker.Rejected, match="do not refute their threshold"):
        check(whole({**ROW, "threshold": 10}))


@pytest.mark.parametrize(("name", "device"), [(n, d) for n in ("near", "far") for d in (0, 1)])
def test_no_amount_can_be_larger(name: str, device: int) -> None:
    """A tensor would hand over more than its transfers pay."""
    amounts = list(ROW[name][0])
    amounts[device] += 1
    with pytest.raises(checker.Rejected, match="hand over more than transfers pay"):
        check(whole({**ROW, name: [amounts]}))


@pytest.mark.parametrize(("name", "device"), [("near", 0), ("far", 1)])
def test_no_amount_can_be_smaller(name: str, device: int) -> None:
    """Of 30 that are paid, 26 are needed: two less for each of three pairs are too few."""
    amounts = list(ROW[name][0])
    amounts[device] -= 1
    assert check(whole({**ROW, name: [amounts]})) == 10
    amounts[device] -= 1
    with pytest.raises(checker.Rejected, match="do not refute their threshold"):
        check(whole({**ROW, name: [amounts]}))


def test_readers_on_one_device_share_a_transfer() -> None:
    """Two readings hand over what one transfer pays, or both of them what their own one pays."""
    half = {**ROW, "threshold": 5, "near": [[4, 0]], "far": [[-4, 0]]}
    assert check(whole(half, groups=[0, 0]), FORK) == 6
    more = {**ROW, "threshold": 5, "near": [[5, 0]], "far": [[-5, 0]]}
    with pytest.raises(checker.Rejected, match="hand over more than transfers pay"):
        check(whole(more, groups=[0, 0]), FORK)
    assert check(whole(more, groups=[0, 0]), FORK_PER_EDGE) >= 6
    twice = {**ROW, "threshold": 5, "near": [[9, 0]], "far": [[-9, 0]]}
    with pytest.raises(checker.Rejected, match="hand over more than transfers pay"):
        check(whole(twice, groups=[0, 0]), FORK_PER_EDGE)


def test_a_reader_elsewhere_makes_up_for_nothing() -> None:
    """What a reading takes back is of no use to a transfer to a device on which it is not."""
    row = {**ROW, "threshold": 5, "near": [[10, 0], [0, 0]], "far": [[-10, 0], [-9, -4]]}
    with pytest.raises(checker.Rejected, match="hand over more than transfers pay"):
        check(whole(row, groups=[0, 1]), FORK)


def test_a_transfer_takes_its_time_from_sender_to_receiver() -> None:
    """The way back does not matter."""
    rows = [[1, 9]] * 3 + [[9, 1]] * 3
    assert check(whole(ROW), instance(rows, PAIRS, times=[[0, 4, 2, 0]])) == 10
    with pytest.raises(checker.Rejected, match="hand over more than transfers pay"):
        check(whole(ROW), instance(rows, PAIRS, times=[[0, 2, 4, 0]]))


def test_ends_are_on_their_own_devices() -> None:
    """What the first operator writes and the last one reads is sent and received on their device.

    Three branches are fast on the other device only, with transfers of 20 there and back.
    """
    edges = [(0, v) for v in (1, 2, 3)] + [(v, 4) for v in (1, 2, 3)]
    sample = instance(
        [[1, -1], *[[90, 1]] * 3, [1, -1]], edges, times=[[0, 20, 20, 0]], transfers="per-edge"
    )
    row = {
        "devices": [0, 0], "threshold": 59, "work": [0, 0], "send": [1, 0], "receive": [1, 0],
        "near": [[20, 0], [0, 20]], "far": [[-20, 0], [0, -20]],
    }  # fmt: skip
    module = {**WHOLE, "first": 0, "last": 4, "groups": [0, 0, 0, 1, 1, 1], "ports": [row]}
    assert check({"intervals": [WHOLE]}, sample) == 43
    assert check({"intervals": [module, WHOLE]}, sample) == 62
    for wrong in ({"threshold": 60}, {"devices": [1, 0]}, {"devices": [0, 1]}):
        with pytest.raises(checker.Rejected, match="do not refute"):
            check({"intervals": [{**module, "ports": [{**row, **wrong}]}, WHOLE]}, sample)


def test_pairs_of_devices_that_are_alike() -> None:
    """What holds for both ends on one device holds on the other, if they are equal."""
    rows = [[1, 1], [5, 5], [5, 5], [1, 1]]
    sample = instance(rows, FORK_JOIN, times=[[0, 8, 8, 0]])
    nothing = {"work": [1, 0], "send": [0, 0], "receive": [0, 0], "near": [[0, 0]], "far": [[0, 0]]}
    row = {"devices": [0, 0], "threshold": 9, **nothing}
    same = {**WHOLE, "first": 0, "last": 3, "groups": [0, 0, 0, 0], "ports": [row]}
    assert check({"intervals": [same, WHOLE]}, sample) == 12 == optimum(sample)
    other = instance([*rows[:3], [2, 1]], FORK_JOIN, times=[[0, 8, 8, 0]])
    assert check({"intervals": [same, WHOLE]}, other) == 7


@pytest.mark.parametrize("seed", first_now(range(120), FEW_SEEDS))
def test_no_prices_prove_anything_false(seed: int) -> None:
    """Random prices of random intervals leave the optimum where it is."""
    dice = random.Random(seed)
    nodes, devices = dice.randrange(2, 5), dice.randrange(1, 3)
    pairs = list(itertools.combinations(range(nodes), 2))
    edges = [pair for pair in pairs if dice.random() < 0.6]
    lengths = [dice.randrange(6) for _ in range(2)]
    equal = dice.random() < 0.5
    rows = []
    for _ in range(nodes):
        ticks = [dice.randrange(6) for _ in range(devices)]
        rows.append([ticks[0]] * devices if equal else ticks)
    times = [[0, lengths[0], lengths[not equal], 0]] if devices == 2 else [[0]]
    transfers = dice.choice(["per-tensor", "per-edge"])
    sample = instance(rows, edges, times=times, transfers=transfers)
    best = int(optimum(sample))
    for _ in range(80):
        documents = []
        intervals: list[tuple[int, int]] = [(-1, -1)]
        if edges and dice.random() < 0.5:
            intervals.insert(0, dice.choice(edges))
        for first, last in intervals:
            inside = [(u, v) for u, v in sorted(edges) if _is_inside(edges, first, last, u, v)]
            groups = [dice.randrange(2) for _ in inside]
            count = 1 + max(groups, default=-1)
            amounts = [
                [[dice.randrange(-6, 7) for _ in range(devices)] for _ in range(count)]
                for _ in range(2)
            ]
            row = {
                "devices": [dice.randrange(devices) * (end >= 0) for end in (first, last)],
                "threshold": dice.randrange(max(1, best - 2), best + 2),
                "near": amounts[0], "far": amounts[1],
                **{
                    name: [dice.randrange(high) for _ in range(devices)]
                    for name, high in (("work", 3), ("send", 4), ("receive", 4))
                },
            }  # fmt: skip
            documents.append(
                {**WHOLE, "first": first, "last": last, "groups": groups, "ports": [row]}
            )
        try:
            proven = check({"intervals": documents}, sample)
        except checker.Rejected as refusal:
            reason = str(refusal)
        else:
            reason = ""
            assert proven <= best
        assert "groups" not in reason


def _is_inside(edges: list[tuple[int, int]], first: int, last: int, u: int, v: int) -> bool:
    """Whether a reading is between two operators, either of which may be missing."""
    waits = set(edges)
    for k, i, j in itertools.product(range(5), repeat=3):
        if (i, k) in waits and (k, j) in waits:
            waits.add((i, j))
    if first < 0:
        return True
    writers = {first} | {w for w in range(5) if (first, w) in waits and (w, last) in waits}
    readers = (writers - {first}) | {last}
    return u in writers and v in readers


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        ({"intervals": []}, "is not the whole schedule"),
        ({"intervals": [{k: v for k, v in WHOLE.items() if k != "ports"}]}, "lacks ports"),
        ({"intervals": [{k: v for k, v in WHOLE.items() if k != "groups"}]}, "lacks groups"),
        ({"intervals": [{**WHOLE, "ports": {}}]}, "ports of an interval is not a list"),
        ({"intervals": [{**WHOLE, "groups": [0, 0, 0]}]}, "of no use without ports"),
        (whole(ROW, groups=[0, 0]), "are not one for each reading inside"),
        (whole(ROW, groups=[0, 0, -1]), "groups of an interval"),
        (whole(ROW, groups=[0, 0, 1]), "near of a row of ports is not a list for each group"),
        (whole(3), "a row of ports is not an object"),  # type: ignore[arg-type]
        (whole({**ROW, "more": 1}), "it has 'more'"),
        (whole({**ROW, "devices": [0, 1]}), "are not two of its interval"),
        (whole({**ROW, "devices": [0]}), "are not two of its interval"),
        (whole({**ROW, "threshold": -1}), "threshold of a row of ports is not"),
        (whole({**ROW, "work": [1]}), "prices of a row of ports are not one for each device"),
        (whole({**ROW, "send": [1, -1]}), "send of a row of ports"),
        (whole({**ROW, "receive": {}}), "receive of a row of ports"),
        (whole({**ROW, "near": [[8]]}), "near of a row of ports is not one amount for each"),
        (whole({**ROW, "far": [[-8, 0], [0, 0]]}), "far of a row of ports is not a list for each"),
        (whole({**ROW, "far": [[-7, 0]]}), "hand over more than transfers pay"),
        (whole({**ROW, "far": [[-8, 1]]}), "hand over more than transfers pay"),
        (whole({**ROW, "send": [0, 0]}), "hand over more than transfers pay"),
        (whole({**ROW, "receive": [0, 0]}), "hand over more than transfers pay"),
        (whole({**ROW, "threshold": 10}), "do not refute their threshold"),
    ],
)  # fmt: skip
def test_payloads_that_prove_nothing(payload: Any, expected: str) -> None:
    """Each is refused with what is wrong."""
    with pytest.raises(checker.Rejected, match=expected):
        check(payload)


def test_work_is_counted_before_it_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many groups of readings are refused as too large."""
    edges = [(v, v + 40) for v in range(40)]
    sample = instance([[1, 9]] * 40 + [[9, 1]] * 40, edges, times=[[0, 4, 4, 0]])
    row = {**ROW, "threshold": 99, "near": [[8, 0]] * 40, "far": [[-8, 0]] * 40}
    payload = whole(*[row] * 50, groups=list(range(40)))
    assert check(payload, sample) == 100
    monkeypatch.setattr(budget, "MOST_STEPS", 2**15)
    with pytest.raises(checker.TooLarge, match="steps"):
        check(payload, sample)
