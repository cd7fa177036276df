"""Families against the classes of transformers on PyTorch's meta device: names and parameters."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from boundmark.datasets.layers.families import ALIASES, FAMILIES
from boundmark.datasets.layers.hf_config import transformer
from boundmark.problems.layers import Workload

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

# By any family's names; each takes those that it has.
SMALL: dict[str, Any] = {
    "hidden_size": 64, "n_embd": 64, "dim": 64, "word_embed_proj_dim": 64, "embedding_size": 64,
    "num_hidden_layers": 4, "n_layer": 4, "n_layers": 4,
    "num_attention_heads": 8, "n_head": 8, "n_heads": 8, "num_key_value_heads": 2,
    "num_kv_heads": 2, "head_dim": 8,
    "intermediate_size": 96, "intermediate_size_mlp": 112, "ffn_dim": 96, "n_inner": 96,
    "ffn_hidden_size": 96, "hidden_dim": 96, "moe_intermediate_size": 32,
    "shared_expert_intermediate_size": 40, "vocab_size": 512, "max_position_embeddings": 128,
    "n_positions": 128, "num_experts": 8, "num_local_experts": 8, "n_routed_experts": 8,
    "moe_num_experts": 8, "num_experts_per_tok": 2, "moe_k": 2, "moe_topk": 2, "n_group": 1,
    "topk_group": 1, "first_k_dense_replace": 1, "q_lora_rank": 24, "kv_lora_rank": 16,
    "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 12, "sliding_window": 32,
    "state_size": 16, "num_heads": 16, "mamba_n_heads": 16, "mamba_d_head": 8, "mamba_d_ssm": 128,
    "mamba_num_heads": 16, "mamba_head_dim": 8, "ssm_state_size": 16, "mamba_d_state": 16,
    "n_groups": 2, "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_num_heads": 4,
    "linear_key_head_dim": 8, "linear_value_head_dim": 12, "linear_head_dim": 8, "lru_width": 64,
    "index_topk": 8, "index_head_dim": 16, "index_n_heads": 4, "shared_intermediate_size": 40,
    "num_dense_layers": 1, "moe_shared_expert_intermediate_size": 40, "num_experts_per_token": 2,
    "num_shared_experts": 1, "attention_window_size": 32, "block_multiple_of": 16,
    "laurel_rank": 8, "hidden_size_per_layer_input": 24, "vocab_size_per_layer_input": 512,
    "num_kv_shared_layers": 1, "image_size": 32, "patch_size": 8, "pad_token_id": 0,
    "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip

# Which layers have what, where a small model's usual list has not all kinds.
KINDS: dict[str, dict[str, Any]] = {
    **{
        kind: {"layer_types": ["linear_attention"] * 3 + ["full_attention"]}
        for kind in ("granitemoehybrid", "kimi_linear", "minimax")
    },
    **{
        kind: {"layer_types": ["conv", "conv", "full_attention", "conv"]}
        for kind in ("lfm2", "lfm2_moe")
    },
    "zamba2": {
        "layers_block_type": ["linear_attention", "hybrid", "linear_attention", "hybrid", "hybrid"],
        "num_hidden_layers": 5,
        "num_mem_blocks": 2,
        "num_key_value_heads": 8,
        "attention_head_dim": 16,
        "n_mamba_heads": 16,
        "mamba_headdim": 8,
        "adapter_rank": 4,
    },
    "gemma4_text": {
        "layer_types": ["sliding_attention", "full_attention"] * 2,
        "num_kv_shared_layers": 2,
        "enable_moe_block": True,
        "use_double_wide_mlp": True,
        "attention_k_eq_v": True,
        "global_head_dim": 16,
        "num_global_key_value_heads": 4,
        "top_k_experts": 2,
    },
    "dots1": {"layer_types": ["full_attention"] * 4, "n_shared_experts": 1},
    "bamba": {"attn_layer_indices": [3]},
    "nemotron_h": {
        "moe_latent_size": 24,
        "layers_block_type": ["linear_attention", "moe", "full_attention", "mlp"],
    },
}

# Sinks of attention, a number for each head, are left out.
LEFT_OUT = {"gpt_oss": 4 * 8}

# Whose class writes another configuration than the published one.
ELSEWHERE = {"mimo_v2_flash"}


def known(kind: str) -> bool:
    """Whether transformers has a class that writes what is published."""
    return kind not in ELSEWHERE and kind in transformers.CONFIG_MAPPING


def small(kind: str, device: str = "meta", **changed: Any) -> tuple[dict[str, Any], Any]:
    """Return a small configuration of a family as its class writes it, and a model of it."""
    made = transformers.CONFIG_MAPPING[kind]
    usual = made().to_dict()
    given = {k: v for k, v in SMALL.items() if k in usual or k in made.attribute_map}
    config = made(
        **{
            **given,
            **({"layer_types": None} if "layer_types" in usual else {}),
            **KINDS.get(kind, {}),
            **changed,
        }
    )
    family = FAMILIES[ALIASES.get(kind, kind)]
    with torch.device(device):
        if family.has_cache:
            model = transformers.AutoModelForCausalLM.from_config(config)
        elif kind == "vit":
            model = transformers.ViTModel(config, add_pooling_layer=False)
        else:
            model = transformers.AutoModel.from_config(config)
    document = json.loads(config.to_json_string(use_diff=False))
    return {**document, "torch_dtype": "float16", "dtype": None}, model


def missing(names: Iterator[str], model: Any) -> list[str]:
    """Return names that no module has; matrices of all experts are one module today."""
    has = {name for name, _ in model.named_modules()}
    stems = {
        name.partition(".experts.0.")[0] + ".experts" * (".experts.0." in name) for name in names
    }
    return sorted(stems - has)


def matrices(document: dict[str, Any]) -> Iterator[str]:
    """Yield the names of all matrices that are read."""
    model = transformer(document)
    if model.first.parameters:
        yield model.first.name
    if model.last.parameters:
        yield model.last.name
    for block in model.blocks:
        yield from (f"{block.name}.{one.name}" for one in block.matrices)


@pytest.mark.parametrize("kind", sorted(filter(known, FAMILIES)))
def test_modules_are_called_as_in_the_classes(kind: str) -> None:
    """Every matrix's name is a module's; classes of encoders alone leave out their own prefix."""
    document, model = small(kind)
    prefix = "" if FAMILIES[kind].has_cache else f"{FAMILIES[kind].names.embedding.split('.')[0]}."
    names = (name.removeprefix(prefix) for name in matrices(document))
    assert missing(names, model) == []


@pytest.mark.parametrize("kind", sorted(kind for kind in filter(known, FAMILIES)))
def test_a_device_map_has_all_tensors(kind: str) -> None:
    """Each parameter is in a layer, or in a module that is named beside them."""
    document, model = small(kind)
    read = transformer(document)
    if not FAMILIES[kind].has_cache:
        return
    first, last = read.beside
    names = {read.first.name, read.last.name, *(one.name for one in read.blocks), *first, *last}
    left = [
        name for name in model.state_dict() if not any(name.startswith(f"{one}.") for one in names)
    ]
    assert left == []
    has = {name for name, _ in model.named_modules()}
    assert {*first, *last} - has <= {"model.decoder.project_in", "model.decoder.project_out"}


@pytest.mark.parametrize(
    ("kind", "changed"),
    [
        (kind, changed)
        for kind in sorted(filter(known, FAMILIES))
        for changed in (
            {},
            *({field: not usual} for field, (usual, _) in FAMILIES[kind].switches.items()),
            *(
                {field: value}
                for field, values in FAMILIES[kind].norms_by.items()
                for value in values
            ),
        )
        # internlm3 is Llama's class today, whose names these are not; a switch of remote code.
        if kind != "internlm3" or not changed
    ],
)
def test_parameters_are_those_of_the_classes(kind: str, changed: dict[str, Any]) -> None:
    """They are counted to the last one, also where a field adds or removes biases and norms."""
    document, model = small(kind, **changed)
    counted = sum(one.numel() for one in model.parameters())
    assert transformer(document).totals.parameters == counted - LEFT_OUT.get(kind, 0)


KEPT = {"conv_states", "recurrent_states", "keys", "values"}


def kept(layer: Any) -> int:
    """Return the bytes that a layer's cache keeps after a pass."""
    total = 0
    for name, value in vars(layer).items():
        found = value if isinstance(value, (list, dict)) else [value]
        for one in found.values() if isinstance(found, dict) else found:
            if name in KEPT and isinstance(one, torch.Tensor) and one.numel():
                size = one.numel() * one.element_size()
                # A convolution's newest token is overwritten before it is read again.
                total += size * (one.shape[-1] - (name == "conv_states")) // one.shape[-1]
    return total


@pytest.mark.parametrize(
    "kind",
    ["bamba", "falcon_h1", "falcon_mamba", "gemma3n_text", "granitemoehybrid", "lfm2", "lfm2_moe",
     "mamba", "mamba2", "nemotron_h", "olmo_hybrid", "qwen3_5_text", "qwen3_next", "zamba2"],
)  # fmt: skip
def test_bytes_of_a_sequence_are_those_that_a_run_keeps(kind: str) -> None:
    """Of each layer after 16 tokens in bfloat16: keys, values and states, in their own types."""
    document, model = small(kind, device="cpu")
    tokens = torch.ones(1, 16, dtype=torch.long)
    with torch.no_grad():
        found = model.to(torch.bfloat16).eval()(tokens, use_cache=True)
    cache = getattr(found, "past_key_values", None) or found.cache_params
    layers = transformer({**document, "torch_dtype": "bfloat16"}).layers(Workload("decode", 1, 16))
    held = [layer.held for layer in layers[1:-1]]
    # Layers behind the last that keep something have no entry.
    assert [*map(kept, cache.layers)] == held[: len(cache.layers)]
    assert not any(held[len(cache.layers) :])


@pytest.mark.parametrize("kind", sorted(filter(known, ALIASES)))
def test_language_models_within_others(kind: str) -> None:
    """The language model within a model for images has the same names."""
    if kind == "gemma3n":
        pytest.importorskip("timm", reason="its tower is one of timm's")
    config = transformers.CONFIG_MAPPING[kind]()
    text = config.get_text_config()
    if text is config or kind.endswith("_text"):
        pytest.skip("no model of its own")
    if type(config) not in transformers.AutoModelForImageTextToText._model_mapping:
        pytest.skip("a model that speaks has no class for all of it")
    with torch.device("meta"):
        model = transformers.AutoModelForImageTextToText.from_config(config)
    document = json.loads(config.to_json_string(use_diff=False))
    assert missing(matrices({**document, "torch_dtype": "float16"}), model) == []
