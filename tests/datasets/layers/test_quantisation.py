"""Bytes of quantised weights: by hand for each scheme, and what stays at 16 bits."""

from typing import Any

import pytest

from boundmark.datasets.layers.hf_config import transformer
from boundmark.datasets.layers.quantisation import Modules, read_quantisation
from boundmark.datasets.layers.transformer import Transformer
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.layers import Workload

# One layer of 256 dimensions with 4 heads, and a network of 512.
BASE: dict[str, Any] = {
    "model_type": "llama", "hidden_size": 256, "num_attention_heads": 4, "num_hidden_layers": 1,
    "intermediate_size": 512, "vocab_size": 1000, "torch_dtype": "bfloat16",
    "tie_word_embeddings": False,
}  # fmt: skip
SQUARE, WIDE = 256 * 256, 256 * 512
MATRICES = 4 * SQUARE + 3 * WIDE
# Groups of 128 inputs, and outputs of all matrices.
GROUPS = 4 * 256 * 2 + 2 * 512 * 2 + 256 * 4
OUTPUTS = 4 * 256 + 2 * 512 + 256
INPUTS = 4 * 256 + 2 * 256 + 512


def quantised(**config: Any) -> Transformer:
    """Return the model with this quantisation."""
    return transformer({**BASE, "quantization_config": config})


def compressed(weights: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a configuration of compressed-tensors."""
    group = {"targets": ["Linear"], "weights": weights}
    return {
        "quant_method": "compressed-tensors", "config_groups": {"group_0": group},
        "ignore": ["lm_head"], **more,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True},
         MATRICES / 2 + GROUPS * (16 + 4) / 8),
        ({"quant_method": "gptq", "bits": 4, "group_size": 128},
         MATRICES / 2 + GROUPS * (16 + 4) / 8 + INPUTS * 4),
        ({"quant_method": "gptq", "bits": 8, "group_size": -1},
         MATRICES + OUTPUTS * (16 + 8) / 8 + INPUTS * 4),
        ({"quant_method": "fp8", "weight_block_size": [128, 128]},
         MATRICES + 4 * MATRICES / 128**2),
        ({"quant_method": "fp8"}, MATRICES + 7 * 4),
        ({"quant_method": "fbgemm_fp8"}, MATRICES + 4 * OUTPUTS),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True},
         MATRICES / 2 + MATRICES / 64 * 4),
        ({"load_in_4bit": True, "bnb_4bit_use_double_quant": True},
         MATRICES / 2 + MATRICES / 64 * (8 + 32 / 256) / 8),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, MATRICES + 4 * OUTPUTS),
        (compressed({"num_bits": 4, "group_size": 128, "strategy": "group", "type": "int"}),
         MATRICES / 2 + GROUPS * 16 / 8),
        (compressed({"num_bits": 4, "group_size": 128, "strategy": "group", "symmetric": False}),
         MATRICES / 2 + GROUPS * (16 + 4) / 8),
        (compressed({"num_bits": 8, "strategy": "channel", "type": "float"}),
         MATRICES + OUTPUTS * 2),
        (compressed({"num_bits": 8, "strategy": "tensor", "type": "float"}), MATRICES + 7 * 4),
        (compressed({"num_bits": 4, "group_size": 16, "strategy": "tensor_group", "type": "float"}),
         MATRICES / 2 + MATRICES / 16),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4", "exclude_modules": ["lm_head"]},
         MATRICES / 2 + MATRICES / 16),
        ({"quant_method": "exl2", "bits": 4.5, "head_bits": 16}, MATRICES * 4.5 / 8),
        ({"quant_method": "mxfp4"}, 2 * MATRICES),
    ],
)  # fmt: skip
def test_bytes_of_a_scheme(config: dict[str, Any], expected: float) -> None:
    """Elements, scales and zero points; embedding and scores have 16 bits."""
    model = quantised(**config)
    norms = 2 * 2 * 256
    # Rounded up once for each matrix.
    assert model.blocks[0].size == pytest.approx(expected + norms, abs=7)
    assert model.first.size == 2 * 1000 * 256
    assert model.last.size == 2 * (1000 * 256 + 256)


def test_experts_alone_are_mxfp4() -> None:
    """32 elements of 4 bits share 8 bits; all else has 16."""
    config = {
        **BASE, "model_type": "gpt_oss", "num_local_experts": 8, "num_experts_per_tok": 2,
        "quantization_config": {"quant_method": "mxfp4"},
    }  # fmt: skip
    block = transformer(config).blocks[0]
    sizes = {one.name: one.size for one in block.matrices}
    assert sizes["mlp.experts.0.up_proj"] == 8 * WIDE * (4 + 8 / 32) / 8
    assert sizes["self_attn.q_proj"] == 2 * SQUARE
    assert sizes["mlp.router"] == 2 * 8 * 256


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        (["model.layers.0.self_attn"], 4 * SQUARE),
        (["self_attn.q_proj", "down_proj"], SQUARE + WIDE),
        (["re:.*self_attn.*"], 4 * SQUARE),
        (["model.layers.*.mlp"], 3 * WIDE),
        (["model.layers.1", "lm_head"], 0),
        (["self_attn.q"], 0),
        (["re:.*self_attn.(q|k)_proj$", r"re:model\.layers\.\d+\.mlp\.up"], 2 * SQUARE + WIDE),
        (["re:self_attn"], 0),
        (["re:^(([a-z._0-9])+)+$X"], 0),
    ],
)
def test_modules_that_are_kept(kept: list[str], expected: int) -> None:
    """By their whole name, a part of it, a wildcard, or a pattern; not by half a word."""
    less = quantised(quant_method="fp8", modules_to_not_convert=kept).blocks[0].size
    more = quantised(quant_method="fp8").blocks[0].size
    assert less - more == pytest.approx(expected, abs=7 * 4)


def test_names_of_modules_within_others() -> None:
    """A model for images has another name in front."""
    assert Modules.of(["language_model.lm_head"], "ignore").mean("lm_head")
    assert not Modules.of(["vision.lm_heads"], "ignore").mean("lm_head")


def test_patterns_for_many_layers_are_bounded() -> None:
    """Each pattern is compared with each matrix."""
    config = {"quant_method": "fp8", "modules_to_not_convert": ["*.a", "re:b"] * 100}
    many = {**BASE, "num_hidden_layers": 2000, "quantization_config": config}
    with pytest.raises(InvalidInputError, match="200 patterns for modules of 2,000 layers; exp"):
        transformer(many)


@pytest.mark.parametrize(
    ("kind", "kept"),
    [
        ("deepseek_v3", "re:.*shared_experts.*"), ("qwen2_moe", "re:.*shared_expert\\..*"),
        ("hunyuan_v1_moe", "shared_mlp"), ("ernie4_5_moe", "*.shared_experts.*"),
    ],
)  # fmt: skip
def test_experts_that_all_tokens_meet_may_be_kept(kind: str, kept: str) -> None:
    """They are known by the name that the family's class has for them."""
    config = {
        **BASE, "model_type": kind, "num_experts": 8, "num_experts_per_tok": 2,
        "n_shared_experts": 1, "moe_intermediate_size": 128,
    }  # fmt: skip
    quantisation = {"quant_method": "fp8", "modules_to_not_convert": [kept]}
    sizes = [
        transformer({**config, "quantization_config": {**quantisation, **more}}).blocks[0].size
        for more in ({}, {"modules_to_not_convert": []})
    ]
    assert sizes[0] - sizes[1] == 3 * 256 * 128 - 3 * 4


def test_targets_and_the_cache() -> None:
    """Groups may be for some modules, and say how the cache is stored."""
    config = compressed(
        {"num_bits": 8, "strategy": "tensor", "type": "float"}, kv_cache_scheme={"num_bits": 8}
    )
    config["config_groups"]["group_0"]["targets"] = ["re:.*mlp.*"]
    model = quantised(**config)
    assert model.blocks[0].size == pytest.approx(8 * SQUARE + 3 * WIDE + 1024, abs=12)
    plain = transformer(BASE).layers(Workload("decode", 1, 100))[1]
    assert 2 * model.layers(Workload("decode", 1, 100))[1].held == plain.held


def test_the_scores_may_be_quantised() -> None:
    """GPTQ says so; compressed-tensors does unless they are left out."""
    assert quantised(quant_method="gptq", bits=4, lm_head=True).last.size < 256_000
    config = compressed({"num_bits": 8, "strategy": "tensor", "type": "float"})
    assert quantised(**{**config, "ignore": []}).last.size == pytest.approx(256_000 + 512, abs=8)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("phase", ["decode", "training"])
@pytest.mark.parametrize("bits", [0, 4, 8])
def test_bytes_that_are_shown_are_those_of_the_layers(tied: bool, phase: str, bits: int) -> None:
    """`--weight-bits` is what the user says of every parameter, `--cache-bits` of the cache."""
    model = transformer({**BASE, "tie_word_embeddings": tied})
    workload = Workload(phase, 1, 10, weight_bits=bits, cache_bits=8)
    layers = model.layers(workload)
    shown = model.totals_in(workload)
    shared = 1000 * 256 * tied
    width = bits / 8 if bits and phase == "decode" else 2
    assert sum(layer.parameters for layer in layers) - shared * width == shown.size
    assert shown.size == model.totals.parameters * width
    assert shown.cache == sum(layer.held for layer in layers) / 10 or phase == "training"
    assert f"{shown.size / 1e9:,.2f} GB" in model.describe(workload)["weights"]


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, "has the method ''; expected one of awq, gptq"),
        ({"quant_method": "awq", "bits": "4"}, "quantization_config.bits is '4'; expected an int"),
        ({"quant_method": "awq", "bits": 99}, "quantization_config.bits is 99"),
        ({"quant_method": "fp8", "weight_block_size": [0, 4]}, "weight_block_size is .0, 4."),
        ({"quant_method": "fp8", "modules_to_not_convert": [1]}, "expected a list of texts"),
        (
            {"quant_method": "fp8", "modules_to_not_convert": ["re:("]},
            "quantization_config.modules_to_not_convert lists 're:.'; expected a name.*missing",
        ),
        (
            compressed({"num_bits": 4}, ignore=["re:(?!x)"]),
            r"quantization_config.ignore lists 're:\(.!x\)'; expected .* an automaton can do",
        ),
        (
            {"quant_method": "awq", "bits": 4, "modules_to_not_convert": ["*a"] * 2001},
            "modules_to_not_convert has 2,001 patterns; expected at most 2,000",
        ),
        ({"quant_method": "compressed-tensors"}, "has no config_groups with weights"),
        ({"quant_method": "compressed-tensors", "config_groups": {"a": 3}}, "config_groups.a is 3"),
        ({"quant_method": "modelopt", "quant_algo": "W2"}, "quant_algo is 'W2'; expected one of"),
    ],
)
def test_configurations_that_are_none(config: dict[str, Any], expected: str) -> None:
    """The field, and what was expected."""
    with pytest.raises(InvalidInputError, match=expected):
        transformer({**BASE, "quantization_config": config})


def test_unused_fields_are_named() -> None:
    """Of the quantisation, too."""
    _, unused = read_quantisation({"quant_method": "fp8", "extra_scales": 3})
    assert unused == ("quantization_config.extra_scales",)
    assert (
        "not used: quantization_config.extra_scales"
        in quantised(quant_method="fp8", extra_scales=3).notes
    )
