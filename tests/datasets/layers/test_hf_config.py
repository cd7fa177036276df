"""Configurations of Hugging Face: sizes of published models, caches, and what is asked for."""

import json
from pathlib import Path
from typing import Any

import pytest

from boundmark.datasets.layers.hf_config import transformer
from boundmark.datasets.layers.language_models import MODELS, load
from boundmark.datasets.resolve import load_file
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.layers import Workload

DECODE = Workload("decode", 1, 1024)
LLAMA = Path(__file__).parent / "configs" / "llama-3-70b.json"

# Billions of parameters, as their authors state them.
STATED = {
    "gpt-2": 0.124, "llama-3-8b": 8.03, "llama-2-70b": 69.0, "llama-3-70b": 70.6,
    "llama-3.1-405b": 405.9, "mistral-7b": 7.24, "mixtral-8x7b": 46.7, "qwen2.5-72b": 72.7,
    "gemma-7b": 8.54, "deepseek-v3": 671.0,
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_parameters_are_those_of_the_model(name: str) -> None:
    """Within 1 %: normalisations and biases are left out, and GPT-2's positions."""
    model = load(name)
    facts = model.layers(Workload("decode", 1, 1024, weight_bits=8))
    shared = sum(size for _, _, size in model.tied(Workload("decode", 1, 1024, weight_bits=8)))
    total = sum(layer.parameters for layer in facts) - shared
    assert total / 1e9 == pytest.approx(STATED[name], rel=0.01)


@pytest.mark.parametrize(
    ("name", "entries"),
    [
        ("llama-3-8b", 2 * 8 * 128),
        ("gpt-2", 2 * 768),
        ("deepseek-v3", 512 + 64),
    ],
)
def test_caches(name: str, entries: int) -> None:
    """Keys and values of shared heads, of all heads, or of the latent space, in 16 bits."""
    layer = load(name).layers(DECODE)[1]
    assert layer.weights - layer.parameters == 1024 * 2 * entries
    assert load(name).layers(Workload("decode", 1, 1024, cache_bits=8))[1].weights == (
        layer.parameters + 1024 * entries
    )


def test_a_window_bounds_the_cache() -> None:
    """Mistral 7B attends to 4,096 tokens at most."""
    long, short = (load("mistral-7b").layers(Workload("decode", 1, c))[1] for c in (9000, 4096))
    assert long.weights == short.weights


def test_phases() -> None:
    """A prompt takes 2 operations per parameter and token; training three times that, and more."""
    facts = load("llama-3-8b").layers(Workload("prefill", 2, 512))
    block = facts[1]
    linear = block.operations[0].flops + block.operations[2].flops
    assert linear == 2 * 2 * 512 * block.parameters / 2
    trained = load("llama-3-8b").layers(Workload("training", 2, 512))[1]
    assert trained.operations[0].flops == 3 * block.operations[0].flops
    assert trained.weights == 16 * block.parameters / 2
    assert trained.output == 2 * block.output
    assert trained.held == 34 * 2 * 512 * 4096


def test_experts() -> None:
    """All are kept; few tokens meet few of them, many meet all."""
    few, many = (
        load("mixtral-8x7b").layers(Workload("decode", batch, 16))[1].operations[2].moved
        for batch in (1, 512)
    )
    one = 3 * 4096 * 14336 * 2
    assert few == pytest.approx(2 * one, rel=0.01)
    assert many == pytest.approx(8 * one, rel=0.08)


def test_t5_bert_and_vit() -> None:
    """Encoder and decoder in a row; images have as many tokens as they have."""
    t5 = transformer(
        {"model_type": "t5", "d_model": 512, "num_heads": 8, "d_kv": 64, "d_ff": 2048,
         "num_layers": 6, "vocab_size": 32128, "torch_dtype": "float32"}
    )  # fmt: skip
    names = [layer.name for layer in t5.layers(DECODE)]
    assert names[1] == "encoder.block.0"
    assert names[-2] == "decoder.block.5"
    assert sum(layer.parameters for layer in t5.layers(DECODE)) / 4 / 1e6 == pytest.approx(
        60.5 + 16.4, rel=0.02
    )
    sizes = {
        "hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072,
        "num_hidden_layers": 12, "torch_dtype": "float32",
    }  # fmt: skip
    vit = transformer({"model_type": "vit", **sizes})
    assert vit.layers(Workload("prefill", 1))[1].output == 197 * 768 * 2
    bert = transformer({"model_type": "bert", "vocab_size": 30522, **sizes})
    with pytest.raises(InvalidInputError, match="generates no tokens; expected prefill"):
        bert.layers(DECODE)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (
            {"model_type": "rwkv"},
            "model_type is 'rwkv', with the fields hidden_size.*expected one of",
        ),
        ({"hidden_size": None}, "hidden_size is missing; expected an integer"),
        ({"hidden_size": -4}, "hidden_size is -4; expected a positive integer"),
        ({"num_hidden_layers": float("nan")}, "num_hidden_layers is nan; expected a positive"),
        ({"torch_dtype": "float8"}, "torch_dtype is 'float8'; expected one of"),
        ({"quantization_config": {"quant_method": "exl2"}}, "has the method 'exl2' and no bits"),
    ],
)
def test_configurations_that_are_none(
    changed: dict[str, Any], expected: str, tmp_path: Path
) -> None:
    """The file, the field, and what was expected."""
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**json.loads(LLAMA.read_text()), **changed}))
    with pytest.raises(InvalidInputError, match=f"config.json: .*{expected}"):
        load_file(path)


@pytest.mark.parametrize(
    ("workload", "expected"),
    [
        (Workload(), "phase is not given; expected prefill, decode or training"),
        (Workload("decode"), "batch is not given"),
        (Workload("decode", 1), "context is not given"),
    ],
)
def test_what_is_unknown_is_asked_for(workload: Workload, expected: str) -> None:
    """Nothing is guessed."""
    with pytest.raises(InvalidInputError, match=expected):
        load_file(LLAMA).layers(workload)


def test_quantised_weights() -> None:
    """By bits, as the configuration or the user says; a missing type is a note."""
    base = json.loads(LLAMA.read_text())
    four = transformer({**base, "quantization_config": {"quant_method": "awq", "bits": 4}})
    whole = transformer(base)
    assert four.layers(DECODE)[1].parameters * 4 == whole.layers(DECODE)[1].parameters
    del base["torch_dtype"]
    assert "float16 is taken" in transformer(base).notes[0]
