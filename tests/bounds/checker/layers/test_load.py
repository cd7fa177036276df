"""`layer-load/1`: no forged bound passes, and what is accepted by hand."""

import random
from dataclasses import replace
from typing import Any

import pytest
from brute_force_layers import drawn, optimum, rounds
from tiny_layers import LARGER, VIRTUAL

from boundmark.bounds import checker
from boundmark.bounds.checker.layers.load import is_refuted, layer_load
from boundmark.problems.certificate import Certificate
from boundmark.problems.layers import LayersInstance


def best_of(sample: LayersInstance) -> float:
    """Return the optimum, by trying all assignments."""
    if sample.virtual_stages == 1:
        return optimum(sample)
    return min((one for _, one in rounds(sample) if one is not None), default=float("inf"))


def tiny(seed: int) -> LayersInstance | None:
    """Return a tiny instance, with virtual stages or without."""
    dice = random.Random(seed)
    sample = drawn(dice, "bottleneck", "free", 6)
    if sample is None or seed % 2:
        return sample
    return replace(sample, virtual_stages=2, in_flight=dice.choice((1, "interleaved")))


def test_no_bound_above_the_optimum_is_accepted() -> None:
    """Whatever prices and steps are claimed."""
    for seed in range(120):
        sample = tiny(seed)
        if sample is None or (best := best_of(sample)) == float("inf"):
            continue
        dice = random.Random(seed)
        one = checker.check_instance(sample.to_json())
        for _ in range(40):
            prices = [dice.choice((0, 1, 5, 2**20)) for _ in sample.chain.capacity]
            payload = {"bound": int(best) + 1, "steps": dice.choice((0, 1, 2, 7)), "prices": prices}
            with pytest.raises(checker.Rejected, match="the layers may fit"):
                layer_load(one, payload)


def test_layers_that_are_alike() -> None:
    """Seven equal layers on two devices: four on one of them, which their sum does not say."""
    chain = replace(
        LARGER.chain, time=[[10] * 7], weights=[0] * 7, held=[0] * 7, sizes=[0] * 7, tied=(),
        joined=(), transfer=[[0] * 6], link=[[0]], devices=(0, 0), capacity=[9],
        names=tuple("abcdefg"), device_names=("x", "y"),
    )  # fmt: skip
    sample = LayersInstance(chain)
    one = checker.check_instance(sample.to_json())
    assert layer_load(one, {"bound": 40, "steps": 3, "prices": [1]}) == 40
    assert layer_load(one, {"bound": 35, "steps": 0, "prices": [1]}) == 35
    with pytest.raises(checker.Rejected):
        layer_load(one, {"bound": 36, "steps": 0, "prices": [1]})


def test_devices_send_between_virtual_stages() -> None:
    """With three stages each, twice at least: 15 for layers and 4 for two of the tensors."""
    one = checker.check_instance(VIRTUAL.to_json())
    assert layer_load(one, {"bound": 19, "steps": 0, "prices": [1]}) == 19
    with pytest.raises(checker.Rejected):
        layer_load(one, {"bound": 20, "steps": 0, "prices": [1]})


def few(time: list[int], **changed: Any) -> Any:
    """Return layers with these times on two equal devices, as the checker reads them."""
    n = len(time)
    chain = replace(
        LARGER.chain, time=[time], weights=[0] * n, held=[0] * n, sizes=[0] * n, tied=(),
        joined=(), transfer=[[0] * (n - 1)], link=[[0]], devices=(0, 0), capacity=[9],
        outer=(0, 0), names=tuple(map(str, range(n))), device_names=("x", "y"), **changed,
    )  # fmt: skip
    return checker.check_instance(LayersInstance(chain).to_json())


def test_bounds_that_are_just_proven() -> None:
    """By one tick, by one layer, and by the least of all transfers."""
    assert layer_load(few([1, 1, 1]), {"bound": 2, "steps": 0, "prices": [1]}) == 2
    assert layer_load(few([1, 1, 1]), {"bound": 2, "steps": 2, "prices": [1]}) == 2
    assert layer_load(few([10, 0]), {"bound": 10, "steps": 0, "prices": [1]}) == 10
    with pytest.raises(checker.Rejected):
        layer_load(few([10, 0]), {"bound": 11, "steps": 0, "prices": [1]})
    kinds = replace(
        VIRTUAL.chain, transfer=[[4, 5, 3, 6, 7], [9, 2, 9, 9, 9]], link=[[0, 1], [1, 0]],
        time=[[0] * 6] * 2, devices=(0, 1), capacity=[99, 99],
    )  # fmt: skip
    one = checker.check_instance(replace(VIRTUAL, chain=kinds).to_json())
    # Each device sends twice at least, and nothing is less than 2.
    assert layer_load(one, {"bound": 4, "steps": 0, "prices": [1, 1]}) == 4
    with pytest.raises(checker.Rejected):
        layer_load(one, {"bound": 5, "steps": 0, "prices": [1, 1]})


def test_nothing_is_less_than_nothing() -> None:
    """Layers without work fit into no time."""
    sample = replace(VIRTUAL, chain=replace(VIRTUAL.chain, time=[[0] * 6], transfer=[[0] * 5]))
    one = checker.check_instance(sample.to_json())
    assert not is_refuted(one, 0, 0, [1])
    assert not is_refuted(one, 0, 5, [1])
    assert not is_refuted(one, 0, 1, [1])
    assert not is_refuted(one, 0, 1, [0])
    assert layer_load(one, {"bound": 0, "steps": 0, "prices": [0]}) == 0


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"bound": -1}, "bound of the payload"),
        ({"steps": -1}, "steps of the payload"),
        ({"steps": 2**20 + 1}, "steps of the payload"),
        ({"prices": [-1]}, "prices of the payload"),
        ({"prices": [1, 1]}, "not one for each type"),
        ({"more": 1}, "the payload"),
    ],
)
def test_payloads_that_are_none(changed: dict[str, Any], expected: str) -> None:
    """Each is refused for its own reason."""
    one = checker.check_instance(VIRTUAL.to_json())
    with pytest.raises(checker.Rejected, match=expected):
        layer_load(one, {"bound": 1, "steps": 0, "prices": [1], **changed})


def test_virtual_stages_are_not_searched() -> None:
    """The other kind proves nothing of them."""
    payload = {"bound": 1, "prices": [1], "largest": 1, "largest_prices": [1]}
    certificate = Certificate.of(VIRTUAL, "layer-reach/1", 1, payload, "test").to_json()
    with pytest.raises(checker.Rejected, match="virtual stages"):
        checker.check_certificate(VIRTUAL.to_json(), certificate)


@pytest.mark.parametrize("goal", ["latency", "makespan"])
def test_other_goals(goal: str) -> None:
    """The kind bounds the largest load only."""
    one = checker.check_instance(replace(LARGER, goal=goal).to_json())
    with pytest.raises(checker.Rejected, match="another goal"):
        layer_load(one, {"bound": 1, "steps": 0, "prices": [1, 1, 1]})
