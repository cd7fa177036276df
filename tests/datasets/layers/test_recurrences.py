"""Hybrid and recurrent models: published parameters, and what a sequence keeps, counted by hand."""

from typing import Any

import pytest

from boundmark.datasets.layers.blocks import Attention, Recurrence
from boundmark.datasets.layers.hf_config import transformer
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.layers import Workload

NEXT: dict[str, Any] = {
    "model_type": "qwen3_next", "hidden_size": 2048, "num_hidden_layers": 48,
    "num_attention_heads": 16, "num_key_value_heads": 2, "head_dim": 256,
    "full_attention_interval": 4, "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128,
    "linear_num_key_heads": 16, "linear_num_value_heads": 32, "linear_value_head_dim": 128,
    "intermediate_size": 5120, "moe_intermediate_size": 512, "num_experts": 512,
    "num_experts_per_tok": 10, "decoder_sparse_step": 1, "mlp_only_layers": [],
    "shared_expert_intermediate_size": 512, "vocab_size": 151936, "torch_dtype": "bfloat16",
}  # fmt: skip
QWEN35_27B = {
    "model_type": "qwen3_5", "vision_config": {"depth": 27, "hidden_size": 1152},
    "text_config": {
        "model_type": "qwen3_5_text", "hidden_size": 5120, "num_hidden_layers": 64,
        "num_attention_heads": 24, "num_key_value_heads": 4, "head_dim": 256,
        "attn_output_gate": True, "full_attention_interval": 4, "linear_conv_kernel_dim": 4,
        "linear_key_head_dim": 128, "linear_num_key_heads": 16, "linear_num_value_heads": 48,
        "linear_value_head_dim": 128, "intermediate_size": 17408, "vocab_size": 248320,
        "mamba_ssm_dtype": "float32", "mtp_num_hidden_layers": 1, "dtype": "bfloat16",
        "tie_word_embeddings": False,
    },
}  # fmt: skip
KIMI = {
    "model_type": "kimi_linear", "hidden_size": 2304, "num_hidden_layers": 27, "head_dim": 72,
    "num_attention_heads": 32, "num_key_value_heads": 32, "intermediate_size": 9216,
    "kv_lora_rank": 512, "q_lora_rank": None, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
    "v_head_dim": 128, "mla_use_nope": True, "first_k_dense_replace": 1, "moe_layer_freq": 1,
    "moe_intermediate_size": 1024, "num_experts": 256, "num_experts_per_token": 8,
    "num_shared_experts": 1, "num_nextn_predict_layers": 0, "vocab_size": 163840,
    "linear_attn_config": {
        "full_attn_layers": [4, 8, 12, 16, 20, 24, 27], "head_dim": 128, "num_heads": 32,
        "kda_layers": [], "short_conv_kernel_size": 4,
    },
    "torch_dtype": "bfloat16",
}  # fmt: skip
CODESTRAL = {
    "model_type": "mamba2", "hidden_size": 4096, "num_hidden_layers": 64, "num_heads": 128,
    "head_dim": 64, "n_groups": 8, "state_size": 128, "expand": 2, "conv_kernel": 4,
    "vocab_size": 32768, "use_bias": False, "use_conv_bias": True, "norm_before_gate": True,
    "tie_word_embeddings": False, "chunk_size": 256, "torch_dtype": "bfloat16",
}  # fmt: skip
MAMBA = {
    "model_type": "mamba", "hidden_size": 2560, "intermediate_size": 5120, "state_size": 16,
    "num_hidden_layers": 64, "conv_kernel": 4, "time_step_rank": 160, "vocab_size": 50280,
    "use_bias": False, "use_conv_bias": True, "expand": 2, "torch_dtype": "float16",
}  # fmt: skip
FALCON_MAMBA = {
    "model_type": "falcon_mamba", "hidden_size": 4096, "intermediate_size": 8192, "expand": 16,
    "num_hidden_layers": 64, "state_size": 16, "conv_kernel": 4, "time_step_rank": 256,
    "vocab_size": 65024, "tie_word_embeddings": False, "torch_dtype": "bfloat16",
}  # fmt: skip
GRANITE = {
    "model_type": "granitemoehybrid", "hidden_size": 4096, "intermediate_size": 768,
    "layer_types": ["attention" if at in (5, 15, 25, 35) else "mamba" for at in range(40)],
    "mamba_d_conv": 4, "mamba_d_head": 64, "mamba_d_state": 128, "mamba_expand": 2,
    "mamba_n_groups": 1, "mamba_n_heads": 128, "mamba_conv_bias": True, "mamba_proj_bias": False,
    "num_attention_heads": 32, "num_key_value_heads": 8, "num_hidden_layers": 40,
    "num_experts_per_tok": 10, "num_local_experts": 72, "shared_intermediate_size": 1536,
    "tie_word_embeddings": True, "vocab_size": 100352, "torch_dtype": "bfloat16",
}  # fmt: skip
GRANITE_MICRO = {
    **GRANITE, "hidden_size": 2048, "intermediate_size": 8192, "num_local_experts": 0,
    "num_experts_per_tok": 0, "shared_intermediate_size": 8192, "mamba_n_heads": 64,
}  # fmt: skip
NEMOTRON = {
    "model_type": "nemotron_h", "hidden_size": 4480, "intermediate_size": 15680,
    "num_hidden_layers": 56, "num_attention_heads": 40, "num_key_value_heads": 8, "head_dim": 128,
    "hybrid_override_pattern": "M-M-M-MM-M-M-M*-M-M-M*-M-M-M-M*-M-M-M-M*-M-MM-M-M-M-M-M-",
    "ssm_state_size": 128, "conv_kernel": 4, "n_groups": 8, "mamba_num_heads": 128,
    "mamba_head_dim": 80, "expand": 2, "mlp_hidden_act": "relu2", "use_conv_bias": True,
    "use_bias": False, "vocab_size": 131072, "torch_dtype": "bfloat16",
}  # fmt: skip
NANO_30B = {
    "model_type": "nemotron_h", "hidden_size": 2688, "intermediate_size": 1856,
    "num_hidden_layers": 52, "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 128,
    "hybrid_override_pattern": "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME",
    "ssm_state_size": 128, "conv_kernel": 4, "n_groups": 8, "mamba_num_heads": 64,
    "mamba_head_dim": 64, "expand": 2, "mlp_hidden_act": "relu2", "use_conv_bias": True,
    "n_routed_experts": 128, "n_shared_experts": 1, "num_experts_per_tok": 6,
    "moe_intermediate_size": 1856, "moe_shared_expert_intermediate_size": 3712,
    "vocab_size": 131072, "torch_dtype": "bfloat16",
}  # fmt: skip
FALCON_H1 = {
    "model_type": "falcon_h1", "num_hidden_layers": 44, "num_attention_heads": 12,
    "num_key_value_heads": 2, "head_dim": 128, "hidden_size": 3072, "intermediate_size": 12288,
    "attn_layer_indices": None, "mamba_d_conv": 4, "mamba_d_head": 128, "mamba_d_ssm": 3072,
    "mamba_d_state": 256, "mamba_expand": 2, "mamba_n_groups": 1, "mamba_n_heads": 24,
    "mamba_rms_norm": False, "mamba_conv_bias": True, "vocab_size": 130049,
    "torch_dtype": "bfloat16",
}  # fmt: skip
BAMBA = {
    "model_type": "bamba", "hidden_size": 4096, "intermediate_size": 14336,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
    "attn_layer_indices": [9, 18, 27], "mamba_n_heads": 128, "mamba_d_head": 64,
    "mamba_n_groups": 1, "mamba_d_state": 128, "mamba_d_conv": 4, "mamba_expand": 2,
    "vocab_size": 128256, "torch_dtype": "bfloat16",
}  # fmt: skip
LFM2 = {
    "model_type": "lfm2", "hidden_size": 2048, "block_ff_dim": 12288, "num_hidden_layers": 16,
    "num_attention_heads": 32, "num_key_value_heads": 8, "full_attn_idxs": [2, 5, 8, 10, 12, 14],
    "conv_L_cache": 3, "conv_bias": False, "block_auto_adjust_ff_dim": True,
    "block_ffn_dim_multiplier": 1.0, "block_multiple_of": 256, "vocab_size": 65536,
    "torch_dtype": "bfloat16",
}  # fmt: skip
LFM2_MOE = {
    "model_type": "lfm2_moe", "hidden_size": 2048, "intermediate_size": 7168,
    "num_hidden_layers": 24, "num_attention_heads": 32, "num_key_value_heads": 8,
    "layer_types": [
        "full_attention" if at in (2, 6, 10, 14, 18, 21) else "conv" for at in range(24)
    ],
    "conv_L_cache": 3, "moe_intermediate_size": 1792, "num_dense_layers": 2, "num_experts": 32,
    "num_experts_per_tok": 4, "use_expert_bias": True, "vocab_size": 65536,
    "torch_dtype": "bfloat16",
}  # fmt: skip
MINIMAX = {
    "model_type": "minimax_text_01", "attn_type_list": [*([0] * 7), 1] * 10, "hidden_size": 6144,
    "num_hidden_layers": 80, "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 128,
    "intermediate_size": 9216, "shared_intermediate_size": 0, "num_local_experts": 32,
    "num_experts_per_tok": 2, "postnorm": True, "vocab_size": 200064, "torch_dtype": "bfloat16",
}  # fmt: skip
RWKV6 = {
    "model_type": "rwkv6", "hidden_size": 4096, "attention_hidden_size": 4096, "head_size": 64,
    "intermediate_size": None, "num_hidden_layers": 32, "vocab_size": 65536,
    "tie_word_embeddings": False, "torch_dtype": "bfloat16",
}  # fmt: skip
RWKV7 = {
    "model_type": "rwkv7", "hidden_size": 2560, "num_hidden_layers": 32, "head_dim": 64,
    "hidden_ratio": 4, "intermediate_size": 10240, "decay_low_rank_dim": 96,
    "gate_low_rank_dim": 320, "a_low_rank_dim": 96, "v_low_rank_dim": 64, "vocab_size": 65536,
    "norm_bias": True, "norm_first": True, "hidden_act": "sqrelu", "torch_dtype": "bfloat16",
}  # fmt: skip
GRIFFIN = {
    "model_type": "recurrent_gemma", "hidden_size": 2560, "intermediate_size": 15360,
    "num_hidden_layers": 26, "num_attention_heads": 10, "num_key_value_heads": 1, "head_dim": 256,
    "lru_width": 2560, "attention_window_size": 2048, "conv1d_width": 4, "vocab_size": 256000,
    "block_types": ["recurrent", "recurrent", "attention"], "torch_dtype": "bfloat16",
    "hidden_activation": "gelu_pytorch_tanh", "logits_soft_cap": 30.0,
}  # fmt: skip


# By hand: of each layer with a recurrence, memory in 32 bits, and the convolution's tokens but one
# in 16 bits, in all channels; a cache of keys and values in 16 bits for each layer with attention.
@pytest.mark.parametrize(
    ("config", "billions", "cache", "state"),
    [
        (NEXT, 79.67, 12 * 2 * 2 * 2 * 256, 36 * (32 * 128 * 128 * 4 + 8192 * 3 * 2)),
        (KIMI, 49.1, 7 * (512 + 64) * 2, 20 * (32 * 128 * 128 * 4 + 3 * 4096 * 3 * 2)),
        (CODESTRAL, 7.285, 0, 64 * (8192 * 128 * 4 + (8192 + 2 * 8 * 128) * 3 * 2)),
        (MAMBA, 2.768, 0, 64 * (5120 * 16 * 4 + 5120 * 3 * 2)),
        (FALCON_MAMBA, 7.273, 0, 64 * (8192 * 16 * 4 + 8192 * 3 * 2)),
        (GRANITE, 32.2, 4 * 2 * 2 * 1024, 36 * (8192 * 128 * 4 + (8192 + 256) * 3 * 2)),
        (GRANITE_MICRO, 3.19, 4 * 2 * 2 * 512, 36 * (4096 * 128 * 4 + (4096 + 256) * 3 * 2)),
        (NEMOTRON, 8.89, 4 * 2 * 2 * 1024, 27 * (10240 * 128 * 4 + (10240 + 2048) * 3 * 2)),
        (NANO_30B, 31.58, 6 * 2 * 2 * 256, 23 * (4096 * 128 * 4 + (4096 + 2048) * 3 * 2)),
        (FALCON_H1, 7.586, 44 * 2 * 2 * 256, 44 * (3072 * 256 * 4 + (3072 + 512) * 3 * 2)),
        (BAMBA, 9.78, 3 * 2 * 2 * 1024, 29 * (8192 * 128 * 4 + (8192 + 256) * 3 * 2)),
        (LFM2, 1.17, 6 * 2 * 2 * 512, 10 * 2048 * 2 * 2),
        (LFM2_MOE, 8.34, 6 * 2 * 2 * 512, 18 * 2048 * 2 * 2),
        (MINIMAX, 456.1, 10 * 2 * 2 * 1024, 70 * 64 * 128 * 128 * 4),
        (RWKV6, 7.64, 0, 32 * (64 * 64 * 64 * 4 + 2 * 4096 * 2)),
        ({**RWKV6, "intermediate_size": 14336}, 7.64, 0, 32 * (64**3 * 4 + 2 * 4096 * 2)),
        (RWKV7, 2.95, 0, 32 * (40 * 64 * 64 * 4 + 2 * 2560 * 2)),
        (GRIFFIN, 2.68, 0, 18 * (2560 * 4 + 2560 * 3 * 2) + 8 * 2048 * 2 * 2 * 256),
    ],
)  # fmt: skip
def test_published_models(config: dict[str, Any], billions: float, cache: int, state: int) -> None:
    """Parameters within half a percent of what is published; bytes for a sequence exactly."""
    totals = transformer(config).totals
    assert totals.parameters / 1e9 == pytest.approx(billions, rel=0.005)
    assert (totals.cache, totals.state) == (cache, state)


# Zamba2-7B: 13 layers have one of two blocks of attention and a network, with matrices of low rank.
ZAMBA = {
    "model_type": "zamba2", "hidden_size": 3584, "num_hidden_layers": 81, "mamba_d_state": 64,
    "layers_block_type": [
        "hybrid" if at in (6, 11, *range(17, 78, 6)) else "mamba" for at in range(81)
    ],
    "mamba_d_conv": 4, "mamba_expand": 2, "mamba_ngroups": 2, "n_mamba_heads": 112,
    "mamba_headdim": 64, "intermediate_size": 14336, "num_attention_heads": 32,
    "num_key_value_heads": 32, "attention_head_dim": 224, "num_mem_blocks": 2, "adapter_rank": 128,
    "hidden_act": "gelu", "use_shared_attention_adapter": False, "vocab_size": 32000,
    "torch_dtype": "bfloat16",
}  # fmt: skip


def test_blocks_that_several_layers_have() -> None:
    """Their parameters count once on each device, and once in the model."""
    model = transformer(ZAMBA)
    totals = model.totals
    assert totals.parameters / 1e9 == pytest.approx(7.357, rel=0.0005)
    assert totals.cache == 13 * 2 * 2 * 32 * 224
    assert totals.state == 81 * (7168 * 64 * 4 + (7168 + 256) * 3 * 2)
    shared = 2 * (4 * 7168 * 7168 - 3584 * 7168 + 3 * 3584 * 14336 + 3 * 3584)
    blocks = [pair for pair in model.tied(Workload("decode", 1, 10)) if pair[0]]
    assert [pair[:2] for pair in blocks[:3]] == [(7, 18), (12, 24), (18, 30)]
    assert len(blocks) == 13 - 2
    assert {size for *_, size in blocks} == {shared}
    layers = model.layers(Workload("decode", 1, 10))
    assert sum(layer.weights for layer in layers) - 11 * shared == totals.size + 2 * 32000 * 3584
    halved = model.totals_in(Workload(weight_bits=8))
    assert halved.size == pytest.approx(totals.size / 2, abs=100)


def test_states_are_for_each_sequence() -> None:
    """Whatever the context, in a type of their own: bits of the cache are those of attention."""
    model = transformer(NEXT)
    near, far, coarse = (
        model.layers(Workload("decode", batch, context, cache_bits=bits))[1:5]
        for batch, context, bits in ((1, 10, 0), (3, 10**6, 0), (1, 10, 8))
    )
    assert [layer.held for layer in near] == [2146304] * 3 + [10 * 2048]
    assert [layer.held for layer in far] == [3 * 2146304] * 3 + [3 * 10**6 * 2048]
    assert [layer.held for layer in coarse] == [2146304] * 3 + [10 * 1024]
    said = transformer({**NEXT, "mamba_ssm_dtype": "bfloat16"}).layers(Workload("decode", 1, 10))
    assert said[1].held == 32 * 128 * 128 * 2 + 8192 * 3 * 2


def test_attention_beside_a_recurrence() -> None:
    """Falcon-H1 has both in each layer, which keeps and reads what both keep."""
    model = transformer(FALCON_H1)
    mixer = model.blocks[0].mixer
    assert isinstance(mixer, Attention)
    assert mixer.beside == Recurrence(3072 * 256, 3584, 4)
    layer = model.layers(Workload("decode", 2, 1000))[1]
    state = 3072 * 256 * 4 + 3584 * 3 * 2
    assert layer.held == 2 * (1000 * 2 * 2 * 256 + state)
    through = 2 * 2 * 2 * 12 * 128
    assert layer.operations[1].moved == 2 * (1000 * 2 * 2 * 256 + 2 * state) + through


def test_a_language_model_within_one_for_images() -> None:
    """Qwen3.5: kinds and types of the inner configuration; what is left out is said."""
    model = transformer(QWEN35_27B)
    tower = 27 * (4 * 1152**2 + 2 * 1152 * 4608) + 1152 * 5120 + 5120**2
    assert (model.totals.parameters - tower) / 1e9 == pytest.approx(26.9, rel=0.005)
    assert model.totals.cache == 16 * 2 * 2 * 4 * 256
    assert model.totals.state == 48 * (48 * 128 * 128 * 4 + 10240 * 3 * 2)
    assert "multi-token prediction, mtp_num_hidden_layers, is left out" in model.notes


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({**NEMOTRON, "hybrid_override_pattern": "M-*"}, "hybrid_override_pattern has 3 entries"),
        ({**NEMOTRON, "hybrid_override_pattern": "X" * 56}, "pattern has 'X'; expected full_att"),
        ({**NEXT, "layer_types": ["mlp"] * 48}, "layer_types has 'mlp'; expected full_attention"),
        ({**MINIMAX, "attn_type_list": [0, 1]}, "attn_type_list has 2 entries; expected one for"),
        ({**MINIMAX, "attn_type_list": [2] * 80}, "attn_type_list is .* integers from 0 to 1"),
        ({**MINIMAX, "model_type": "minimax_m2"}, "has layers without attention, which 'minimax_"),
        ({**LFM2, "full_attn_idxs": [99]}, "full_attn_idxs is .* integers from 0 to 15"),
        ({**NEXT, "full_attention_interval": 0}, "full_attention_interval is 0; expected an int"),
        ({**NEXT, "mamba_ssm_dtype": "int8"}, "mamba_ssm_dtype is 'int8'; expected one of float16"),
        ({**KIMI, "linear_attn_config": {"full_attn_layers": [4]}}, "config.num_heads is missing"),
        ({**KIMI, "linear_attn_config": 4}, "linear_attn_config is 4; expected an object"),
        ({**CODESTRAL, "state_size": -1}, "state_size is -1; expected an integer from 1"),
        ({**GRIFFIN, "block_types": ["loop"]}, "block_types has 'loop'; expected full_attention"),
        ({**GRANITE, "layer_types": "mamba"}, "layer_types has 'm'; expected full_attention"),
    ],
)  # fmt: skip
def test_kinds_that_are_none(config: dict[str, Any], expected: str) -> None:
    """The field, and what was expected."""
    with pytest.raises(InvalidInputError, match=expected):
        transformer(config)
