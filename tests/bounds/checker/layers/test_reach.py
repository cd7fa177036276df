"""What the checker accepts of bounds, against all assignments of tiny instances."""

import random
from typing import Any

import pytest
from brute_force_layers import assignment, assignments, cost, drawn
from tiny_layers import LARGER, with_goal

from boundmark.bounds import checker
from boundmark.bounds.checker.budget import MOST_STEPS, limited
from boundmark.bounds.checker.layers.instance import Instance, read_instance
from boundmark.bounds.checker.layers.limits import MOST_PRICE
from boundmark.bounds.checker.layers.reach import NEVER, Rest, cheapest, layer_reach, reached
from boundmark.problems.layers import LayersInstance
from boundmark.problems.layers.instance import GOALS, ORDERS
from boundmark.problems.problem import solution_document


def read(sample: LayersInstance) -> Instance:
    """Return an instance as the checker has it."""
    document = sample.to_json()
    return read_instance({n: v for n, v in document.items() if n not in ("format", "problem")})


def payload(sample: LayersInstance, bound: int, largest: int, dice: random.Random) -> Any:
    """Return a payload with prices that somebody made up."""
    types = len(sample.chain.capacity)
    prices, others = ([dice.choice((0, 1, 5, 30)) for _ in range(types)] for _ in range(2))
    return {"bound": bound, "prices": prices, "largest": largest, "largest_prices": others}


def accepts(sample: LayersInstance, value: Any, proven: int) -> bool:
    """Whether the checker accepts a payload, which then proves what it should."""
    try:
        assert layer_reach(read(sample), value) == proven
    except checker.TooLarge:
        raise
    except checker.Rejected:
        return False
    return True


def samples(goal: str, order: str, seeds: range) -> list[tuple[LayersInstance, int, int]]:
    """Return instances, their optimum, and the least largest load; 10^6 where nothing fits."""
    found = []
    for seed in seeds:
        sample = drawn(random.Random(seed), goal, order, 5)
        if sample is None:
            continue
        best = largest = 10**6
        for ends, used in assignments(sample):
            if (one := cost(sample, ends, used)) is not None:
                best = min(best, one)
                alone = LayersInstance(sample.chain, "bottleneck", order, sample.micro_batches)
                largest = min(largest, cost(alone, ends, used) or 0)
        found.append((sample, best, largest))
    return found


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("goal", GOALS)
def test_the_optimum_and_no_more(goal: str, order: str) -> None:
    """Whatever the prices are, and whatever is known of the largest load."""
    for number, (sample, best, largest) in enumerate(samples(goal, order, range(45))):
        dice = random.Random(number)
        for known in {0, dice.randint(0, largest), largest}:
            if goal == "bottleneck":
                assert accepts(sample, payload(sample, 0, known, dice), known)
            else:
                assert accepts(sample, payload(sample, best, known, dice), best)
                if best < 10**6:
                    assert not accepts(sample, payload(sample, best + 1, known, dice), best + 1)
        if largest < 10**6:
            assert not accepts(sample, payload(sample, best, largest + 1, dice), best)


@pytest.mark.parametrize("order", ORDERS)
def test_what_is_found_costs_what_it_says(order: str) -> None:
    """The cheapest assignment, found up to exactly what it costs."""
    for number, (sample, best, largest) in enumerate(samples("makespan", order, range(45, 80))):
        one, prices = read(sample), [number % 7] * len(sample.chain.capacity)
        step = cheapest(one, best, prices)
        if best == 10**6:
            assert step is None
            continue
        assert step is not None
        assert step.cost + one.rounds * step.largest == best
        assert reached(one, largest, prices) is not None


@pytest.mark.parametrize("goal", GOALS)
def test_the_relaxation_is_below_every_assignment(goal: str) -> None:
    """With the prices of the devices it uses; and it is one of them where any number may be."""
    for number, (sample, _, _) in enumerate(samples(goal, "free", range(80, 110))):
        one, dice = read(sample), random.Random(number)
        prices = [dice.randint(0, 9) for _ in sample.chain.capacity]
        rest, least = Rest(one._replace(adds=1, rounds=0), prices, NEVER), NEVER
        for ends, used in assignments(sample):
            if cost(sample, ends, used) is not None:
                alone = LayersInstance(sample.chain, "latency", "free", sample.micro_batches)
                paid = sum(prices[sample.chain.devices[device]] for device in used)
                least = min(least, (cost(alone, ends, used) or 0) + paid)
        assert rest.root <= least


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("goal", GOALS)
def test_assignments_cost_what_they_cost(goal: str, order: str) -> None:
    """Or do not fit."""
    for seed in range(40):
        sample = drawn(random.Random(seed), goal, order, 4)
        for ends, used in assignments(sample) if sample else ():
            assert sample
            expected = cost(sample, ends, used)
            stated = {
                **solution_document(sample, assignment(ends, used), 0),
                "objective": expected or 0,
            }
            if expected is None:
                with pytest.raises(checker.Rejected, match="more than its capacity"):
                    checker.check_solution(sample.to_json(), stated)
            else:
                assert checker.check_solution(sample.to_json(), stated) == expected


@pytest.mark.parametrize(
    ("devices", "expected"),
    [
        ([0] * 9, "does not have one device for each layer"),
        ([0] * 11, "does not have one device for each layer"),
        ([0] * 9 + [5], "devices"),
        ([0] * 9 + [-1], "devices"),
        ([0, 1, 0, *[2] * 7], "not contiguous"),
        ([1, 0, *[2] * 8], "do not follow the order"),
        ([0, 0, 1, 1, 1, 2, 2, 2, 2, 2], "joined are on two devices"),
    ],
)
def test_assignments_that_are_none(devices: list[int], expected: str) -> None:
    """Each is refused for its own reason."""
    sample = with_goal("latency", "given")
    document = {
        "format": "boundmark-solution/1", "instance_sha256": sample.sha256, "problem": "layers",
        "objective": 1, "devices": devices,
    }  # fmt: skip
    with pytest.raises(checker.Rejected, match=expected):
        checker.check_solution(sample.to_json(), document)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"bound": -1}, "bound of the payload"),
        ({"bound": NEVER + 1}, "bound of the payload"),
        ({"largest": -1}, "largest of the payload"),
        ({"largest": NEVER + 1}, "largest of the payload"),
        ({"prices": [1, 1, -1]}, "prices of the payload"),
        ({"largest_prices": [1, 1, -1]}, "largest_prices of the payload"),
        ({"prices": [1, 1, MOST_PRICE + 1]}, "prices of the payload"),
        ({"largest_prices": [1, 1, MOST_PRICE + 1]}, "largest_prices of the payload"),
        ({"prices": [1, 1]}, "not one for each type"),
        ({"largest_prices": [1] * 4}, "not one for each type"),
        ({"more": 1}, "the payload"),
    ],
)
def test_payloads_that_are_none(changed: dict[str, Any], expected: str) -> None:
    """Each is refused for its own reason; the largest numbers that are allowed are none."""
    given = {
        "bound": 1,
        "prices": [0, 0, MOST_PRICE],
        "largest": 1,
        "largest_prices": [MOST_PRICE] * 3,
    }
    assert layer_reach(read(LARGER), given) == 1
    with pytest.raises(checker.Rejected, match=expected):
        layer_reach(read(LARGER), {**given, **changed})


# The optimum of the larger instance, and how many steps the search for less takes without prices.
STEPS = {
    ("bottleneck", "free"): (20, 3544),
    ("bottleneck", "given"): (29, 2302),
    ("latency", "free"): (68, 4306),
    ("latency", "given"): (77, 3694),
    ("makespan", "free"): (223, 8136),
    ("makespan", "given"): (284, 5203),
}


def search(goal: str, order: str, steps: int) -> None:
    """Search for less than the optimum, within a number of steps."""
    best, _ = STEPS[goal, order]
    given = {"bound": best, "prices": [0] * 3, "largest": 1, "largest_prices": [0] * 3}
    if goal == "bottleneck":
        given["largest"] = best
    with limited("a search", steps):
        layer_reach(read(with_goal(goal, order)), given)


@pytest.mark.parametrize(("goal", "order"), STEPS)
def test_searches_count_what_they_do(goal: str, order: str) -> None:
    """They end within the steps that are known, and not with a fiftieth less."""
    _, steps = STEPS[goal, order]
    search(goal, order, steps + steps // 50)
    with pytest.raises(checker.TooLarge):
        search(goal, order, steps - steps // 50)


def test_what_is_held_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the bytes of all states, also those that were left."""
    from boundmark.bounds.checker import budget

    monkeypatch.setattr(budget, "MOST_CHECK_BYTES", 20_000)
    for goal in GOALS:
        with pytest.raises(checker.TooLarge, match="memory"):
            search(goal, "free", MOST_STEPS)
