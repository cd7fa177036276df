"""Texts of tools for layers and experts on the host: round trips, and what is refused."""

import random

import pytest

from boundmark.datasets.layers.language_models import load
from boundmark.problems.arrays import frozen
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.layers import PROBLEM, LayerAssignment, LayersInstance
from boundmark.problems.layers.tools.formats import read_text, write_as
from boundmark.problems.layers.tools.launch import Launch


def hosted(tool: str, devices: str, model: str = "gpt-oss-20b") -> LayersInstance:
    """Return a decoding model with a host, as a tool has it."""
    given = {"devices": devices, "phase": "decode", "batch": 1, "context": 1024, "rules": tool}
    found = PROBLEM.maker(load(model))({**given, "goal": "latency"})
    assert isinstance(found, LayersInstance)
    return found


def placed(sample: LayersInstance, counts: list[int], split: int | None = None) -> LayerAssignment:
    """Return an assignment with so many layers on the devices in their order."""
    devices = [at for at, count in enumerate(counts) for _ in range(count)]
    return LayerAssignment(frozen(devices), () if split is None else (split,))


def round_trip(tool: str, sample: LayersInstance, solution: LayerAssignment) -> str:
    """Write a solution, read it again, and return what was written."""
    text = write_as(tool, Launch(sample, solution, "model"))
    found = read_text(text, sample)
    assert found is not None
    assert found[0].to_json() == solution.to_json()
    return text


def test_llama_cpp_on_one_card() -> None:
    """Every number of layers on the host, and of those with experts there."""
    sample = hosted("llama.cpp", "3060,cpu:64GiB")
    assert sample.chain.layers == 26
    for on_host in (0, 1, 12, 24):
        counts = [on_host + bool(on_host), 26 - on_host - bool(on_host)]
        for split in (0, 1, 9, 24):
            text = round_trip("llama.cpp", sample, placed(sample, counts, split))
            number = 999 if on_host == 0 else 25 - on_host
            assert f"-ngl {number} -sm layer -ts {25 - on_host} --n-cpu-moe {split}" in text
    # Everything on the host, for which no card is named.
    text = round_trip("llama.cpp", sample, placed(sample, [26, 0], 0))
    assert text.endswith("llama-server -m MODEL.gguf -ngl 0 --n-cpu-moe 0")


def test_llama_cpp_on_several_cards() -> None:
    """Cards are numbered without the host, in any order."""
    sample = hosted("llama.cpp", "3060,3090,cpu:64GiB")
    assert sample.chain.device_names[0].startswith("host")
    dice = random.Random(1)
    for _ in range(40):
        on_host, first = dice.randrange(20), dice.randrange(1, 5)
        devices = [0] * (on_host + bool(on_host))
        one, other = dice.sample([1, 2], 2)
        devices += [one] * (first + (not on_host))
        devices += [other] * (26 - len(devices))
        solution = LayerAssignment(frozen(devices), (dice.randrange(25),))
        text = round_trip("llama.cpp", sample, solution)
        assert f"CUDA_VISIBLE_DEVICES={one - 1},{other - 1} " in text


def test_dense_models_have_layers_on_the_host() -> None:
    """There is nothing to split, and the first layers are there."""
    sample = hosted("llama.cpp", "3060,cpu:64GiB", "llama-3-8b")
    assert sample.chain.split is None
    text = round_trip("llama.cpp", sample, placed(sample, [11, 23]))
    assert "-ngl 23 -sm layer -ts 23" in text


@pytest.mark.parametrize(
    ("text", "split", "on_host"),
    [
        ("-ngl 99 --cpu-moe", 24, 0),
        ("-ngl 99 -ncmoe 99", 24, 0),
        ("llama-server -m x.gguf -ngl 20 -ncmoe 7 -fa on", 7, 5),
        ("-ngl 99 -ot exps=CPU", 24, 0),
        (r"-ngl 99 -ot '\.ffn_.*_exps\.=CPU'", 24, 0),
        (r"-ngl all -ot 'blk\.[0-7]\.ffn_(up|down|gate)_exps=CPU'", 8, 0),
        (r"-ngl 99 -ot 'blk\.[0-3]\.ffn_.*_exps=CPU,blk\.4\.ffn_.*_exps=CPU' -ncmoe 2", 5, 0),
        (r"-ot 'blk\.0\..*_exps=CPU' -ngl 99 -ot 'blk\.1\..*_exps=CPU'", 2, 0),
        ("-ngl 99", 0, 0),
    ],
)
def test_what_people_paste(text: str, split: int, on_host: int) -> None:
    """One card needs no shares; patterns that mean the first layers are read."""
    sample = hosted("llama.cpp", "3060,cpu:64GiB")
    found = read_text(text, sample)
    assert found is not None
    assert found[0].configuration == (split,)
    assert found[0].devices.tolist().count(0) == on_host + bool(on_host)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"-ngl 99 -ot 'blk\.[4-7]\.ffn_.*_exps=CPU'", "all experts of the first layers on the"),
        (r"-ngl 99 -ot 'blk\.0\.ffn_up_exps=CPU'", "all experts of the first layers on the CPU"),
        ("-ngl 99 -ot ffn=CPU", "all experts of the first layers on the CPU and nothing else"),
        ("-ngl 99 -ot exps=CUDA1", "all experts of the first layers on the CPU"),
        ("-ngl 99 -ot '(=CPU'", "expected regular expressions"),
        ("-ngl 99 -nkvo", "--no-kv-offload puts parts of layers on the CPU or elsewhere"),
        ("-ngl 99 --n-cpu-moe many", "--n-cpu-moe is 'many'"),
    ],
)
def test_what_is_not_the_first_layers(text: str, expected: str) -> None:
    """Is refused, with what would be read."""
    with pytest.raises(InvalidInputError, match=expected):
        read_text(text, hosted("llama.cpp", "3060,cpu:64GiB"))


def test_two_cards_need_shares() -> None:
    """By default, they follow the memory that is free then, which nobody knows here."""
    with pytest.raises(InvalidInputError, match="--tensor-split is not given; expected shares"):
        read_text("-ngl 99 -ncmoe 3", hosted("llama.cpp", "3060,3090,cpu:64GiB"))


def test_vllm_s_option() -> None:
    """GiB of each device, rounded down; what is read are whole layers."""
    sample = hosted("vllm", "3060,cpu:64GiB", "llama-3-8b")
    assert sample.chain.split is not None
    for count in (0, 1, 7, 32):
        text = round_trip("vllm", sample, placed(sample, [34], count))
        assert ("--cpu-offload-gb" in text) == (count > 0)
    # Blocks of 218,112,000 parameters of 2 bytes.
    text = round_trip("vllm", sample, placed(sample, [34], 7))
    assert f"--cpu-offload-gb {7 * 218_112_000 * 2 / 2**30:.2f}" in text
    pair = hosted("vllm", "1x2x3060,cpu:64GiB", "llama-3-8b")
    text = round_trip("vllm", pair, placed(pair, [34], 8))
    assert "--tensor-parallel-size 2 --cpu-offload-gb 1.62" in text
    for given, expected in (("-3", "expected GiB"), ("much", "expected GiB")):
        with pytest.raises(InvalidInputError, match=expected):
            read_text(f"VLLM_PP_LAYER_PARTITION=32 vllm serve x --cpu-offload-gb {given}", sample)
    alone = hosted("vllm", "A100", "llama-3-8b")
    with pytest.raises(InvalidInputError, match="no host is among the devices; expected one"):
        read_text("VLLM_PP_LAYER_PARTITION=32 vllm serve x --cpu-offload-gb 4", alone)


@pytest.mark.parametrize("tool", ["accelerate", "device-map"])
def test_device_maps_with_the_cpu(tool: str) -> None:
    """The first layers, on the device of what is before them; others are refused."""
    sample = hosted(tool, "2x3060,cpu:64GiB", "llama-3-8b")
    for counts, split in (([20, 14], 0), ([20, 14], 9), ([34, 0], 32)):
        text = round_trip(tool, sample, placed(sample, counts, split))
        assert text.count('"cpu"') == split
    with pytest.raises(InvalidInputError, match="accelerate runs what is on the CPU on device 0"):
        write_as(tool, Launch(sample, LayerAssignment(frozen([1] * 34), (3,)), "model"))
    names = sample.chain.names
    for wrong in (names[5:9], names[:3], names[-3:]):
        placing = {name: "cpu" if name in wrong else 0 for name in names}
        with pytest.raises(InvalidInputError, match="'cpu' for the first layers and a host among"):
            read_text(str(placing).replace("'", '"'), sample)
