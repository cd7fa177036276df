"""Rules of tools, against splits that their sources and messages show, and against memory."""

from dataclasses import replace

import pytest
from recording import record

from boundmark.datasets.layers.language_models import load
from boundmark.heuristics.layers.defaults import (
    balanced_counts,
    balanced_limits,
    even,
    filled,
    uniform_counts,
)
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.layers import PROBLEM, LayerAssignment, LayersInstance


def instance(model: str, devices: str, **given: int | str) -> LayersInstance:
    """Return a model on devices."""
    usual = {"phase": "decode", "batch": 1, "context": 1024, "devices": devices}
    found = PROBLEM.maker(load(model))({**usual, **given})
    assert isinstance(found, LayersInstance)
    return found


def counts(method: str, sample: LayersInstance) -> list[int]:
    """Return how many layers each device gets."""
    (solution,) = record(method, sample).solutions
    assert isinstance(solution, LayerAssignment)
    return [solution.devices.tolist().count(d) for d in range(len(sample.chain.devices))]


@pytest.mark.parametrize(
    ("layers", "stages", "expected"),
    [
        (8, 4, [2, 2, 2, 2]),
        (61, 4, [15, 15, 16, 15]),
        (62, 4, [15, 16, 16, 15]),
        (63, 4, [16, 16, 16, 15]),
        (5, 2, [3, 2]),
    ],
)
def test_vllm(layers: int, stages: int, expected: list[int]) -> None:
    """What remains goes to the stages before the last one, from behind."""
    assert even(layers, stages) == expected


def test_deepspeed() -> None:
    """The first parts are larger by one; or sums of parameters differ least, as it finds them."""
    assert uniform_counts(10, 4) == [3, 3, 2, 2]
    assert balanced_counts([9, 1, 1, 1, 1, 9], 3) == [1, 4, 1]
    assert balanced_counts([1, 1], 3) == [1, 1, 0]
    # What its `partition_balanced` returns; the least largest sums would be 3, 3, 3, 1 and 3, 2, 1.
    assert balanced_counts([1] * 10, 4) == [3, 3, 2, 2]
    assert balanced_counts([5, 1, 1, 1, 1, 5], 3) == [1, 4, 1]


def test_accelerate_fills_devices() -> None:
    """The first one keeps room for the largest layer that is left; what does not fit is refused."""
    assert filled([4, 4, 4, 2], [12, 4, 99]) == [2, 1, 1]
    with pytest.raises(UnsupportedError, match="1 of 4 layers do not fit on the devices"):
        filled([4, 4, 4, 4], [12, 4])


def test_accelerate_balances() -> None:
    """Up to an equal share and a quarter more than a layer; the last device takes what is left."""
    sample = instance("llama-3-8b", "4xA100-80GB")
    limits = balanced_limits(sample, low_zero=False)
    total, block = int(sample.chain.sizes.sum()), int(sample.chain.sizes[1])
    assert limits[0] == limits[2] == total // 4 + 5 * block // 4
    assert limits[3] == int(sample.chain.capacity[0])
    assert counts("accelerate-balanced", sample) == [6, 10, 10, 8]
    # The first device keeps room for the embedding, and gets nothing where others can have it.
    assert counts("accelerate-low-0", sample)[0] == 0


@pytest.mark.parametrize(
    ("method", "model", "devices", "expected"),
    [
        ("vllm-even", "llama-3-8b", "4xA100-80GB", [9, 8, 8, 9]),
        ("megatron-uniform", "llama-3-8b", "4xA100-80GB", [9, 8, 8, 9]),
        ("megatron-outer", "llama-3-8b", "2xA100-80GB", [17, 17]),
        ("torchtitan-weighted", "llama-3-8b", "4xA100-80GB", [9, 9, 8, 8]),
        ("deepspeed-uniform", "llama-3-8b", "4xA100-80GB", [9, 9, 8, 8]),
        ("llama-cpp-memory", "llama-3-8b", "A100-80GB,A100-40GB", [23, 11]),
        ("accelerate-sequential", "llama-3-8b", "2xA100-80GB", [34, 0]),
    ],
)
def test_splits(method: str, model: str, devices: str, expected: list[int]) -> None:
    """Embedding and scores are counted here with the first and the last layer."""
    assert counts(method, instance(model, devices)) == expected


@pytest.mark.parametrize(
    ("method", "model", "devices", "expected"),
    [
        ("vllm-even", "llama-3-70b", "2xA100-80GB,4xA10", "lacks [0-9,]+ bytes"),
        ("megatron-uniform", "llama-3-8b", "3xA100-80GB", "32 layers do not divide by 3 stages"),
        ("vllm-even", "gpt-2", "13xA10", "13 stages for 12 layers"),
        ("torchtitan-weighted", "gpt-2", "15xA10", "15 stages are more than the 14 layers"),
    ],
)
def test_what_a_tool_refuses_or_does_not_fit(
    method: str, model: str, devices: str, expected: str
) -> None:
    """With the reason."""
    with pytest.raises(UnsupportedError, match=expected):
        record(method, instance(model, devices))


@pytest.mark.parametrize(
    ("method", "layers", "expected"),
    [
        # 32 layers in 8 parts on 4 devices, the embedding with the first, scores with the last.
        ("megatron-interleaved", "llama-3-8b", [5, 4, 4, 4, 4, 4, 4, 5]),
        # 34 that count in 8 parts: the first two parts have one more.
        ("torchtitan-interleaved", "llama-3-8b", [5, 5, 4, 4, 4, 4, 4, 4]),
    ],
)
def test_virtual_stages(method: str, layers: str, expected: list[int]) -> None:
    """Part j is on device j mod 4."""
    sample = replace(instance(layers, "4xA100-80GB"), virtual_stages=2)
    (solution,) = record(method, sample).solutions
    assert isinstance(solution, LayerAssignment)
    assert [stage.end - stage.first for stage in solution.stages] == expected
    assert [stage.device for stage in solution.stages] == [0, 1, 2, 3] * 2


@pytest.mark.parametrize(
    ("method", "stages", "expected"),
    [
        ("vllm-even", 2, "virtual_stages is 2, and the tool gives each device one run of layers"),
        ("accelerate-balanced", 2, "expected virtual_stages=1"),
        ("llama-cpp-memory", 2, "expected virtual_stages=1"),
        ("deepspeed-uniform", 2, "expected virtual_stages=1"),
        ("torchtitan-weighted", 2, "expected virtual_stages=1"),
        ("megatron-uniform", 2, "expected virtual_stages=1"),
        ("megatron-interleaved", 1, "virtual_stages is 1, and the rule is for several parts"),
        ("torchtitan-interleaved", 1, "virtual_stages is 1, and the rule is for several parts"),
        ("megatron-interleaved", 3, "32 layers do not divide by 12 stages"),
    ],
)
def test_rules_for_other_virtual_stages(method: str, stages: int, expected: str) -> None:
    """They are refused, with the reason."""
    sample = replace(instance("llama-3-8b", "4xA100-80GB"), virtual_stages=stages)
    with pytest.raises(UnsupportedError, match=expected):
        record(method, sample)


def test_llama_cpp_splits_by_memory_whatever_the_input_layer_takes() -> None:
    """On the CPU it takes nothing, and the layers are on the same devices."""
    free, ruled = (
        instance("gpt-2", "A100-80GB,A100-40GB", rules=rules) for rules in ("none", "llama.cpp")
    )
    assert counts("llama-cpp-memory", free) == counts("llama-cpp-memory", ruled) == [10, 4]


def test_joined_layers_that_a_rule_separates() -> None:
    """They are refused, with the layer."""
    sample = instance("llama-3-8b", "4xA100-80GB")
    sample = replace(sample, chain=replace(sample.chain, joined=(9,)))
    with pytest.raises(UnsupportedError, match=r"'model\.layers\.8' is on another device than the"):
        record("deepspeed-uniform", sample)
