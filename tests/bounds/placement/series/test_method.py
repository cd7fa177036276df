import itertools
import math
import random
from dataclasses import replace
from typing import Any

import pytest
from brute_force_placement import instance, optimum
from recording import Recorder

from boundmark.benchmarks.solving.model import named_instance
from boundmark.bounds import checker
from boundmark.bounds.best import Best
from boundmark.bounds.checker.placement import limits
from boundmark.bounds.checker.placement.paths import OUTSIDE
from boundmark.bounds.placement.series import certificate, method
from boundmark.bounds.placement.series.certificate import (
    least_ends,
    least_rests,
    shortest_way,
)
from boundmark.bounds.placement.series.method import ClosingIn, SeriesSettings
from boundmark.problems.method import Budget
from boundmark.problems.placement import PlacementInstance

FORK_JOIN = [(0, 1), (0, 2), (1, 3), (2, 3)]
TWO_MODULES = [*FORK_JOIN, (3, 4), (3, 5)]
ROWS = [[2, 3], [3, 4], [4, 4], [1, 2], [6, 3], [5, 4]]
TWO = instance(ROWS, TWO_MODULES, times=[[0, 3, 2, 0]])
DEFAULT = SeriesSettings()


def closed(
    sample: PlacementInstance,
    known_cost: float = math.inf,
    settings: SeriesSettings = DEFAULT,
) -> tuple[ClosingIn, Recorder]:
    """Return a chain of which all is proven, and what was reported."""
    recorder = Recorder()
    best = Best(sample, recorder)
    best.objective = known_cost
    closing = ClosingIn.of(sample, Budget(600), best, settings)
    closing.run()
    return closing, recorder


def steps_of(payload: dict[str, Any]) -> int:
    """Return the steps of all searches of a certificate."""
    return sum(row[3] for interval in payload["intervals"] for row in interval["searches"])


def test_modules_add_up_to_the_optimum() -> None:
    """For chains of small modules without memory limits, bound and schedule are the optimum."""
    dice = random.Random(5)
    for _ in range(25):
        rows = [[dice.choice([1, 2, 3, 5, 8]) for _ in range(2)] for _ in range(6)]
        times = [[0, dice.randint(0, 5), dice.randint(0, 5), 0]]
        transfers = dice.choice(["per-edge", "per-tensor"])
        sample = instance(rows[:5], [*FORK_JOIN, (3, 4)], times=times, transfers=transfers)
        closing, recorder = closed(sample)
        assert closing.bound == recorder.bounds[-1].bound == optimum(sample)
        assert sample.objective(recorder.solutions[-1]) == optimum(sample)


def test_two_modules_by_hand() -> None:
    """The second one begins where the first one ends, on the same device."""
    closing, recorder = closed(TWO)
    assert [(part.first, part.last) for part in closing.parts] == [
        (OUTSIDE, 0), (0, 3), (3, OUTSIDE)
    ]  # fmt: skip
    assert recorder.bounds[-1].bound == 16 == TWO.objective(recorder.solutions[-1])


def test_a_known_cost_is_all_there_is_to_prove() -> None:
    """Nothing is searched beyond it."""
    closing, recorder = closed(TWO, known_cost=16)
    assert recorder.bounds[-1].bound == 16
    assert closing.bound == 16
    _, recorder = closed(TWO, known_cost=13)
    # What is claimed to be known is not what bounds rest on.
    assert recorder.bounds[-1].bound <= 16


def test_memory_that_modules_do_not_see() -> None:
    """Each module fits, all together do not: the bound holds, and no schedule is reported.

    Of few operators, all are one module: it sees the memory, and bound and schedule are optimal.
    """
    rows = [[1, 9], [1, 9], [1, 9], [1, 9]]
    edges = list(itertools.pairwise(range(4)))
    sample = instance(rows, edges, memory=[1] * 4, capacity=[2, 2])
    _, recorder = closed(sample)
    assert recorder.bounds[-1].bound == optimum(sample)
    assert sample.objective(recorder.solutions[-1]) == optimum(sample)
    settings = SeriesSettings(well_searched=3)
    _, recorder = closed(sample, settings=settings)
    assert recorder.solutions == []
    assert recorder.bounds[-1].bound == 4 <= optimum(sample)


def test_what_is_beside_the_chain_is_scheduled_too() -> None:
    """Operators in no module, tensors past several of them, and ends that lead nowhere."""
    edges = [*TWO_MODULES, (6, 1), (6, 5), (0, 5), (1, 7)]
    rows = [*ROWS, [2, 2], [3, -1]]
    for transfers in ("per-edge", "per-tensor"):
        sample = instance(rows, edges, times=[[0, 3, 2, 0]], transfers=transfers)
        _, recorder = closed(sample)
        best = sample.objective(recorder.solutions[-1])
        assert recorder.bounds[-1].bound <= best
        document = recorder.bounds[-1].to_json()
        assert checker.check_certificate(sample.to_json(), document) >= document["bound"]


def test_ends_and_rests_meet() -> None:
    """On the shortest way, what is before a pair, the pair, and what is behind make the bound."""
    closing, _ = closed(TWO)
    duration = closing.network.duration
    ends, rests = least_ends(closing.parts, duration), least_rests(closing.parts, duration)
    way = shortest_way(closing.parts, duration)
    for part, pair, end, rest in zip(closing.parts, way, ends, rests, strict=True):
        assert end[pair[0]] + part.least[pair] + rest[pair[1]] == closing.bound
    assert all(a[1] == b[0] for a, b in itertools.pairwise(way))


@pytest.mark.parametrize("is_long", [False, True])
def test_a_certificate_searches_no_more_than_its_bound_needs(
    monkeypatch: pytest.MonkeyPatch, is_long: bool
) -> None:
    """For a lower bound there is less to search, and for what paths prove there is nothing.

    What long chains need is lowered in one go.
    """
    closing, _ = closed(TWO)
    if is_long:
        monkeypatch.setattr(certificate, "MOST_SUMS", -1)
    duration = closing.network.duration
    steps = []
    for bound in (16, 15, 14, 0):
        proven, payload = certificate.payload(closing.read, closing.parts, duration, bound)
        assert proven >= bound
        searches = [row for interval in payload["intervals"] for row in interval["searches"]]
        steps.append(sum(row[3] for row in searches))
    assert steps == sorted(steps, reverse=True)
    assert steps[0] > steps[-1] == 0
    # What was proven stays.
    assert closing.bound == 16


def test_a_certificate_that_would_take_too_long_proves_less(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The bound is lowered until the checker has the steps for it."""
    closing, _ = closed(TWO)
    duration = closing.network.duration
    full, payload = certificate.payload(closing.read, closing.parts, duration, 16)
    needed = sum(row[3] for interval in payload["intervals"] for row in interval["searches"])
    monkeypatch.setattr(limits, "MOST_SEARCH_STEPS", needed - 1)
    less, payload = certificate.payload(closing.read, closing.parts, duration, 16)
    taken = sum(row[3] for interval in payload["intervals"] for row in interval["searches"])
    assert less < full
    assert taken < needed


def test_too_large_for_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loads prove something of modules that have too many operators."""
    monkeypatch.setattr(limits, "MOST_MODULE_OPERATORS", 3)
    sample = instance([[1, 1], [5, 5], [5, 5], [1, 1]], FORK_JOIN, times=[[0, 8, 8, 0]])
    closing, recorder = closed(sample)
    assert all(part.module is None for part in closing.parts if part.body)
    assert recorder.bounds[-1].bound == 12 == optimum(sample)
    assert any(interval["rows"] for interval in recorder.bounds[-1].payload["intervals"])


def test_coarse_chains_prove_no_more_than_the_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no module may be searched, loads of large ones add up, and the checker agrees."""
    monkeypatch.setattr(method, "MOST_MODULE_OPERATORS", 1)
    monkeypatch.setattr(limits, "MOST_MODULE_OPERATORS", 1)
    dice = random.Random(7)
    gained = 0
    for _ in range(25):
        rows = [[dice.choice([1, 2, 3, 5, 8]) for _ in range(2)] for _ in range(6)]
        times = [[0, dice.randint(0, 5), dice.randint(0, 5), 0]]
        sample = instance(rows, TWO_MODULES, times=times)
        closing, recorder = closed(sample)
        best = recorder.bounds[-1]
        assert all(part.module is None for part in closing.parts if part.body)
        assert recorder.bounds[0].bound <= best.bound <= optimum(sample)
        gained += best.bound > recorder.bounds[0].bound
        instance_json, document = sample.to_json(), best.to_json()
        assert checker.check_certificate(instance_json, document) == best.bound
        document["bound"] += 1
        with pytest.raises(checker.Rejected):
            checker.check_certificate(instance_json, document)
    assert gained


def test_certificates_fit_into_what_is_left_for_their_check() -> None:
    """With little time left, less is certified than is proven, and its check has fewer steps."""
    closing, recorder = closed(TWO)
    assert recorder.bounds[-1].bound == closing.bound == 16
    full = steps_of(recorder.bounds[-1].payload)
    settings = SeriesSettings(least_steps=full - 1)
    for seconds, is_cut in ((600, False), (0, True)):
        recorder = Recorder()
        short = replace(
            closing,
            best=Best(TWO, recorder),
            checked_by=Budget(seconds),
            settings=settings,
            settled=set(),
        )
        short._report()
        bound = recorder.bounds[-1]
        assert (bound.bound < 16) == is_cut
        assert (steps_of(bound.payload) < full) == is_cut
        assert checker.check_certificate(TWO.to_json(), bound.to_json()) == bound.bound


def layers(count: int, transfers: str = "per-tensor") -> PlacementInstance:
    """Return equal layers of three branches each, on three devices that are alike."""
    layer = [*((0, v) for v in (1, 2, 3)), *((v, 4) for v in (1, 2, 3))]
    edges = [(u + 4 * at, v + 4 * at) for at in range(count) for u, v in layer]
    rows = [[1] * 3, *[[5] * 3, [4] * 3, [5] * 3, [1] * 3] * count]
    times = [[0, 1, 1, 1, 0, 1, 1, 1, 0]]
    return instance(rows, edges, times=times, transfers=transfers)


@pytest.mark.parametrize("transfers", ["per-edge", "per-tensor"])
def test_equal_layers_are_searched_once(transfers: str) -> None:
    """Four layers take no more steps than one, in the certificate as in the search."""
    steps = []
    for count in (1, 4):
        closing, recorder = closed(layers(count, transfers))
        document = recorder.bounds[-1].to_json()
        assert checker.check_certificate(closing.instance.to_json(), document) == document["bound"]
        assert document["bound"] == closing.best.objective
        assert document["bound"] == 1 + 8 * count
        # Of pairs on one device and on two; alike ones, and further layers, are not searched.
        assert len({id(part.known) for part in closing.parts if part.body}) == 1
        steps.append(sum(row[0] for row in certificate._names(closing.parts).values()))
    assert steps[0] == steps[1]


def test_the_optimum_of_a_real_model_fits_into_a_certificate() -> None:
    """Without lowering what its equal modules share, the steps would not: see HSDAG's Table 2."""
    given = {"features": "operators"}
    sample: Any = named_instance("zoo/inception-v3", given, "placement", "hsdag-two-devices")
    closing, recorder = closed(sample.instance)
    assert (
        closing.bound
        == recorder.bounds[-1].bound
        == sample.instance.objective(recorder.solutions[-1])
    )


def test_longer_modules_hold_what_is_beside_short_ones() -> None:
    """Branches that are joined one by one: a chain of joins leaves out all of them but one."""
    edges = [(0, 1), (0, 2), (0, 3), (1, 4), (4, 5), (2, 5), (5, 6), (3, 6)]
    sample = instance([[1, 1], *[[6, 6]] * 3, *[[1, 1]] * 3], edges, times=[[0, 2, 2, 0]])
    short = replace(DEFAULT, well_searched=1)
    bounds = []
    for settings in (replace(short, larger=()), short):
        recorder = Recorder()
        method.run(sample, Budget(600), 1, recorder, settings=settings)
        document = recorder.bounds[-1].to_json()
        bounds.append(document["bound"])
        assert checker.check_certificate(sample.to_json(), document) == bounds[-1]
    assert bounds[0] < bounds[1] == optimum(sample)
