"""What the checker accepts of bounds, against all assignments of tiny instances."""

import itertools
import random
from dataclasses import replace
from typing import Any

import pytest
from brute_force_layers import assignments, cost, drawn, optimum
from checking import cost_or_reason
from tiny_layers import LARGER, with_goal

from boundmark.bounds import checker
from boundmark.bounds.checker.budget import MOST_STEPS, limited
from boundmark.bounds.checker.layers.instance import Instance, read_instance
from boundmark.bounds.checker.layers.limits import MOST_PRICE
from boundmark.bounds.checker.layers.reach import NEVER, Rest, cheapest, layer_reach, reached
from boundmark.problems.layers import LayersInstance
from boundmark.problems.layers.instance import GOALS, ORDERS


def read(sample: LayersInstance) -> Instance:
    """Return an instance as the checker has it; its steps count where they are limited."""
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
        alone = one._replace(adds=1, rounds=0)
        root = min(Rest(alone, case, prices, NEVER).root for case in one.cases)
        least = NEVER
        for ends, used in assignments(sample):
            if cost(sample, ends, used) is not None:
                latency = replace(sample, goal="latency")
                paid = sum(prices[sample.chain.devices[device]] for device in used)
                least = min(least, (cost(latency, ends, used) or 0) + paid)
        assert root <= least


@pytest.mark.parametrize(
    ("devices", "expected"),
    [
        ([0] * 9, "does not have one device for each layer"),
        ([0] * 11, "does not have one device for each layer"),
        ([0] * 9 + [5], "an integer from 0 to 4"),
        ([0] * 9 + [-1], "an integer from 0 to 4"),
        ([0, 1, 0, *[2] * 7], "not contiguous"),
        ([1, 0, *[2] * 8], "do not follow the order"),
        ([0, 0, 1, 1, 1, 2, 2, 2, 2, 2], "joined are on two devices"),
    ],
)
def test_assignments_that_are_none(devices: list[int], expected: str) -> None:
    """Each is refused for its own reason."""
    sample = with_goal("latency", "given")
    assert expected in str(cost_or_reason(sample, {"devices": devices}))


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
    ("round", "free"): (160, 5752),
    ("round", "given"): (232, 3544),
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


def chain_of(layers: int, **changed: Any) -> LayersInstance:
    """Return layers that take nothing and hold nothing but what is said, on three equal devices."""
    fields: dict[str, Any] = {
        "time": [[1] * layers], "weights": [0] * layers, "held": [0] * layers, "tied": (),
        "joined": (), "transfer": [[0] * (layers - 1)], "link": [[0]], "devices": (0, 0, 0),
        "capacity": [99], "sizes": [0] * layers, "outer": (0, 0),
        "names": tuple(map(str, range(layers))), "device_names": ("a", "b", "c"),
    }  # fmt: skip
    return LayersInstance(replace(LARGER.chain, **fields | changed), in_flight="1f1b")


@pytest.mark.parametrize(
    "changed",
    [
        # The stage in the middle has room for two micro-batches, and not for three.
        {"held": [1, 2, 1], "capacity": [4]},
        {"held": [2, 2, 5], "capacity": [6]},
        # Two stages cannot hold it all; what layers share counts once in one stage only.
        {"weights": [3, 1, 3], "tied": ((0, 2, 3),), "capacity": [4]},
        {"weights": [2, 2, 2], "tied": ((1, 2, 2),), "capacity": [2]},
        {"weights": [3, 2, 3], "tied": ((0, 2, 3),), "capacity": [4], "transfer": [[5, 0]]},
        {"weights": [3, 3, 3], "tied": ((0, 1, 2),), "capacity": [4]},
        {"weights": [3, 3, 3], "tied": ((1, 2, 2),), "capacity": [4]},
        # The last layer takes long, and hands on nothing.
        {"time": [[1, 1, 3]], "transfer": [[2, 2]]},
        {"time": [[3, 1, 1]], "transfer": [[0, 5]]},
        # Two stages that hold two each fit, three that hold three do not.
        {"held": [1, 1, 1], "capacity": [4]},
        {"held": [1, 1, 1], "weights": [1, 1, 1], "capacity": [4]},
    ],
)
def test_what_just_fits(changed: dict[str, Any]) -> None:
    """Of three layers on three devices, for each goal and rule, against all assignments."""
    chain = chain_of(3, **changed)
    for goal, rule, price in itertools.product(GOALS, ("1f1b", "zb-h2", "stages", 1, 2), (0, 7)):
        sample = replace(chain, goal=goal, in_flight=rule)
        costs = (cost(sample, ends, used) for ends, used in assignments(sample))
        best = min((one for one in costs if one is not None), default=10**6)
        given = {
            "bound": best, "prices": [price], "largest": best if goal == "bottleneck" else 0,
            "largest_prices": [price],
        }  # fmt: skip
        assert accepts(sample, given, best), (goal, rule)
        more = {**given, "bound": best + 1, "largest": given["largest"] and best + 1}
        assert best == 10**6 or not accepts(sample, more, best + 1), (goal, rule)


@pytest.mark.parametrize(
    ("seed", "n", "micro_batches"),
    [(22, 8, 3), (26, 8, 3), (1499, 9, 4)],
)
def test_ways_of_which_neither_is_better(seed: int, n: int, micro_batches: int) -> None:
    """For a makespan, a way that costs less so far is kept beside one with smaller loads."""
    dice = random.Random(seed)
    time = [[dice.randint(1, 9) for _ in range(n)] for _ in range(3)]
    transfer = [[dice.randint(0, 9) for _ in range(n - 1)] for _ in range(2)]
    chain = replace(
        LARGER.chain, time=time, transfer=transfer, weights=[1] * n, held=[0] * n, tied=(),
        joined=(), capacity=[99] * 3, sizes=[1] * n, names=tuple(map(str, range(n))),
    )  # fmt: skip
    sample = replace(LARGER, chain=chain, micro_batches=micro_batches)
    best = int(optimum(sample))
    for known in (0, 5):
        given = {"bound": best, "prices": [0] * 3, "largest": known, "largest_prices": [0] * 3}
        assert accepts(sample, given, best)
        assert not accepts(sample, {**given, "bound": best + 1}, best + 1)


# How many steps the search takes with prices that the method finds: for the bottleneck, and for the
# sum or the makespan.
FOR_LARGEST, FOR_SUM = [485925, 1048576, 664098], [0, 10, 3]
PRICED = {
    ("bottleneck", "free"): (0, 18, 751),
    ("bottleneck", "given"): (0, 21, 1306),
    ("latency", "free"): (103, 18, 2717),
    ("latency", "given"): (104, 21, 2905),
    ("makespan", "free"): (250, 18, 22628),
    ("makespan", "given"): (258, 21, 3572),
}


@pytest.mark.parametrize(("goal", "order"), PRICED)
def test_prices_shorten_the_search(goal: str, order: str) -> None:
    """To as many steps as are known, and not with a fiftieth less."""
    bound, largest, steps = PRICED[goal, order]
    chain, layers = LARGER.chain, 20
    doubled = replace(
        chain, time=[[*row, *row] for row in chain.time.tolist()], held=[0] * layers,
        weights=chain.weights.tolist() * 2, sizes=[0] * layers, tied=((0, 19, 3),),
        transfer=[[*row, 3, *row] for row in chain.transfer.tolist()], capacity=[20, 12, 14],
        devices=(0, 0, 0, 1, 1, 1, 2, 2), device_names=tuple("abcdefgh"),
        names=tuple(map(str, range(layers))),
    )  # fmt: skip
    sample = read(replace(LARGER, chain=doubled, goal=goal, device_order=order))
    given = {
        "bound": bound, "prices": FOR_SUM, "largest": largest, "largest_prices": FOR_LARGEST,
    }  # fmt: skip
    with limited("a search", steps + steps // 50):
        assert layer_reach(sample, given) == (bound or largest)
    with pytest.raises(checker.TooLarge), limited("a search", steps - steps // 50):
        layer_reach(sample, given)


def test_a_short_pipeline_whose_largest_load_is_larger() -> None:
    """All on one device fits with one micro-batch only, and is cheaper than two stages.

    Their sum leaves less to the largest load than the single stage takes, and with that limit the
    memory would refuse nothing.
    """
    sample = replace(
        chain_of(
            2, time=[[0, 1]], weights=[1, 1], held=[2, 2], transfer=[[1]], capacity=[9],
            devices=(0, 0), device_names=("a", "b"),
        ),
        goal="makespan", micro_batches=3, in_flight="stages",
    )  # fmt: skip
    assert optimum(sample) == cost(sample, [2], [0]) == 3
    assert cost(sample, [1, 2], [0, 1]) == 4
    given = {"bound": 3, "prices": [0], "largest": 0, "largest_prices": [0]}
    assert accepts(sample, given, 3)
    assert not accepts(sample, {**given, "bound": 4}, 4)


def test_the_largest_bound_where_nothing_fits() -> None:
    """Three stages hold three micro-batches each; with room for one, there may be one stage."""
    sample = chain_of(3, weights=[2, 2, 2], held=[1, 1, 1], capacity=[3])
    sample = replace(sample, goal="latency", in_flight="stages")
    assert optimum(sample) == float("inf")
    given = {"bound": NEVER, "prices": [MOST_PRICE], "largest": 0, "largest_prices": [0]}
    assert accepts(sample, given, NEVER)
