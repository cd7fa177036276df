"""Chains and instances: what is refused, what memory is missing, and graphs as chains."""

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from brute_force_layers import assignments, cost, drawn
from tiny_layers import LARGER, VIRTUAL, with_goal

from boundmark.datasets.layers.hf_config import transformer
from boundmark.datasets.resolve import load_member
from boundmark.problems.arrays import frozen
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.json_documents import canonical_json
from boundmark.problems.layers import PROBLEM, LayerAssignment, LayersInstance


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"time": [[1] * 9] * 3}, "time has the shape"),
        ({"time": [[-1] * 10] * 3}, "time has a negative entry"),
        ({"weights": [0.5] * 10}, "weights of node 'layer 0' is 0.5; expected a non-negative"),
        ({"weights": [-1] * 10}, "expected a non-negative integer"),
        ({"capacity": [5, 5, 5]}, "take 25 bytes, and the 5 devices have 25|take"),
        ({"capacity": [4, 4, 4]}, "layer 'layer 0' takes 5 bytes, 1 more than the largest device"),
        ({"tied": ((0, 9, 5),)}, "layers 0 and 9 share 5 bytes; expected no more"),
        ({"tied": ((0, 9, 1), (0, 3, 1))}, "expected pairs of layers, each layer in one at most"),
        ({"joined": (0,)}, "expected layers from 1 to 9, ascending"),
        ({"link": [[9] * 3] * 3}, "link names kinds beyond the 2 of transfer"),
        ({"devices": (0, 1)}, "expected each of 0 to 2 at least once|device_names"),
        ({"outer": (9, 9)}, "expected how many layers are at both ends"),
        ({"time": [[2**52] * 10] * 3}, "expected at most 2\\^53"),
    ],
)
def test_chains_that_are_none(changed: dict[str, Any], expected: str) -> None:
    """A sentence says what was expected."""
    with pytest.raises(InvalidInputError, match=expected):
        replace(LARGER.chain, **changed)


def test_how_much_memory_is_missing() -> None:
    """In all, if every layer fits somewhere."""
    chain = replace(LARGER.chain, tied=())
    with pytest.raises(InvalidInputError, match=r"the 10 layers take 32 bytes, .* have 25: 7 are"):
        replace(chain, capacity=[5] * 3)


@pytest.mark.parametrize(
    ("devices", "expected"),
    [
        ([0] * 10, "device 'a' lacks 11 bytes: its 10 layers take 29; expected at most 18|lacks"),
        ([0, 1] * 5, "the layers of device 'a' are not contiguous"),
        ([0] * 5 + [7] * 5, "device 7 is used; expected 0 to 4"),
        ([0] * 9, "a device for 9 layers; expected one for each of 10"),
        ([0] * 4 + [1] + [2] * 5, "lacks|another device than the layer before it"),
    ],
)
def test_assignments_that_are_none(devices: list[int], expected: str) -> None:
    """With the device that lacks memory, and how much."""
    with pytest.raises(InvalidInputError, match=expected):
        LARGER.objective(LayerAssignment(frozen(devices)))


# What Llama 4 Maverick's configuration says of its language model.
MAVERICK = {
    "model_type": "llama4_text", "hidden_size": 5120, "intermediate_size": 8192,
    "intermediate_size_mlp": 16384, "num_hidden_layers": 48, "num_attention_heads": 40,
    "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 202048, "num_local_experts": 128,
    "num_experts_per_tok": 1, "interleave_moe_layer_step": 2, "attention_chunk_size": 8192,
    "torch_dtype": "bfloat16",
}  # fmt: skip


@pytest.mark.parametrize(
    ("given", "devices"),
    [
        # Two of the 24 layers with experts of 32.2 GB fit into 77.3 GB, three do not.
        ({}, 12),
        # Two groups of eight, with 618 GB each.
        ({"tensor_parallel": 8}, 16),
        # 68.7 GB: no room for the embedding beside four layers. 64.4 GB: none for two with experts.
        ({"memory_percent": 80}, 13),
        ({"memory_percent": 75}, 24),
        # A quarter of the bytes, without and with caches of a micro-batch for each stage.
        ({"weight_bits": 4}, 3),
        ({"weight_bits": 4, "batch": 4, "context": 65536}, 4),
        ({"weight_bits": 4, "batch": 4, "context": 65536, "in_flight": "1"}, 3),
    ],
)
def test_devices_that_are_not_given(given: dict[str, Any], devices: int) -> None:
    """As few as have memory enough, by the rule for those that are given."""

    def make(**more: Any) -> LayersInstance:
        found = PROBLEM.maker(transformer(MAVERICK))({**given, **more})
        assert isinstance(found, LayersInstance)
        return found

    found = make()
    assert found.parameters["devices"] == f"{devices}xH100"
    assert f"the fewest with memory enough are taken, {devices}xH100" in found.notes[-1]
    fewer = f"{devices - given.get('tensor_parallel', 1)}xH100"
    with pytest.raises(InvalidInputError, match=r"are missing|has memory enough for all stages"):
        make(devices=fewer).fewest_devices()


def test_the_fewest_devices_by_enumeration() -> None:
    """Of each rule, with layers that are tied or joined; or none has memory enough."""
    seen = set()
    for seed in range(600):
        sample = drawn(random.Random(seed), "bottleneck", "given", most=7)
        if sample is None or sample.chain.types > 1:
            continue
        many = {"devices": (0,) * 7, "device_names": tuple("abcdefg"), "link": [[0]]}
        sample = replace(sample, chain=replace(sample.chain, **many))
        fitting = [
            len(used)
            for ends, used in assignments(sample)
            if used == [*range(len(used))] and cost(sample, ends, used) is not None
        ]
        if fitting:
            assert sample.fewest_devices() == min(fitting), seed
        else:
            with pytest.raises(InvalidInputError, match="memory"):
                sample.fewest_devices()
        seen.add((str(sample.in_flight), min(fitting, default=0)))
    assert {rule for rule, _ in seen} == {"1", "2", "stages", "1f1b", "zb-h2"}
    assert {0, 1, 2, 3, 4} <= {count for _, count in seen}


def test_the_fewest_devices_with_virtual_stages() -> None:
    """Two at least, as many as divide the micro-batches, for an even split."""
    chain = replace(
        VIRTUAL.chain, devices=(0,) * 9, device_names=tuple("abcdefghi"), capacity=[4],
        time=[[5] * 12], weights=[1] * 12, held=[0] * 12, sizes=[1] * 12, transfer=[[2] * 11],
        names=tuple("abcdefghijkl"),
    )  # fmt: skip
    # Three devices would do, and do not divide four micro-batches.
    assert replace(VIRTUAL, chain=chain).fewest_devices() == 4
    assert replace(VIRTUAL, chain=chain, micro_batches=3).fewest_devices() == 3
    assert replace(VIRTUAL, chain=replace(chain, capacity=[99])).fewest_devices() == 2
    with pytest.raises(InvalidInputError, match="no number of a up to 4 has memory enough"):
        replace(VIRTUAL, chain=chain, micro_batches=2).fewest_devices()


def test_a_given_order() -> None:
    """Stages that leave it are refused."""
    sample = with_goal("bottleneck", "given")
    with pytest.raises(InvalidInputError, match="stages leave the order of the devices"):
        sample.objective(LayerAssignment(frozen([1] * 5 + [0] * 5)))


def test_what_a_stored_instance_was_made_of_cannot_change() -> None:
    """It remembers what was given, and refuses other devices."""
    made = replace(LARGER, chain=replace(LARGER.chain, made_of={"devices": "2xA10"}))
    stored = LayersInstance.from_json(json.loads(canonical_json(made.to_json())))
    assert stored.sha256 == made.sha256
    assert stored.parameters["devices"] == "2xA10"
    assert stored.with_parameters({"goal": "latency"}).goal == "latency"
    with pytest.raises(InvalidInputError, match="the instance is for '2xA10'"):
        stored.with_parameters({"devices": "2xA100"})


def test_a_graph_is_cut_where_one_tensor_passes() -> None:
    """All operators are in some layer, and their times add up to the device's."""
    source = load_member("onnx-light/squeezenet")
    found = PROBLEM.maker(source)({"devices": "2xT4"})
    assert isinstance(found, LayersInstance)
    pipeline = len(source.operators)
    assert 8 < found.nodes < pipeline
    assert int(found.chain.sizes.sum()) == int(source.param_bytes.sum())
    with pytest.raises(InvalidInputError, match="a graph has its own; expected none"):
        PROBLEM.maker(source)({"devices": "2xT4", "batch": 3})
    with pytest.raises(InvalidInputError, match="devices are not given"):
        PROBLEM.maker(source)({})


def test_layers_by_names() -> None:
    """A block of GPT-2 is a layer, as is what comes before and behind; nothing is lost."""
    source = load_member("zoo/gpt-2")
    given = {"devices": "2xA100-80GB", "layers": r"h\.\d+"}
    found = PROBLEM.maker(source)(given)
    assert isinstance(found, LayersInstance)
    assert found.chain.names == ("begin", *(f"h.{at}" for at in range(12)), "end")
    assert int(found.chain.sizes.sum()) == int(source.param_bytes.sum())
    assert found.parameters["layers"] == r"h\.\d+"
    # A token's 768 numbers in 32 bits.
    assert found.chain.transfer[0, 1] == found.chain.transfer[0, 5]
    cuts = PROBLEM.maker(source)({"devices": "2xA100-80GB"})
    assert isinstance(cuts, LayersInstance)
    assert abs(int(found.chain.time.sum()) - int(cuts.chain.time.sum())) <= cuts.nodes


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("h.(", "expected a regular expression: missing"),
        ("nothing", "is in no operator's name; expected a pattern for names such as"),
        ("Add|Gemm", "reads what a later layer computes; expected layers that run one after"),
    ],
)
def test_patterns_that_are_none(pattern: str, expected: str) -> None:
    """A sentence says what was expected."""
    with pytest.raises(InvalidInputError, match=expected):
        PROBLEM.maker(load_member("zoo/gpt-2"))({"devices": "2xA100-80GB", "layers": pattern})
    with pytest.raises(InvalidInputError, match="the model's layers are known; expected a graph"):
        PROBLEM.maker(load_member("language-models/gpt-2"))(
            {"devices": "A10", "phase": "decode", "batch": 1, "context": 9, "layers": pattern}
        )


def test_measured_times_of_operators(tmp_path: Path) -> None:
    """As `profile` stores them, for one device of a cluster or for all; of no other model."""
    source = load_member("onnx-light/squeezenet")
    times = tmp_path / "times.json"
    nanoseconds = {name: 3000 + at for at, name in enumerate(source.names)}
    stored = {
        "format": "boundmark-times/1",
        "base": "nvidia-t4",
        "source": "x",
        "operators": nanoseconds,
    }
    times.write_text(json.dumps(stored))
    found = PROBLEM.maker(source)({"devices": str(times)})
    assert isinstance(found, LayersInstance)
    assert int(found.chain.time.sum()) == sum(nanoseconds.values())
    with pytest.raises(InvalidInputError, match="is not in both; expected times that were"):
        PROBLEM.maker(load_member("onnx-light/alexnet"))({"devices": str(times)})
