"""Dimensions of published language models, as their configurations on Hugging Face have them.

Dimensions only; https://huggingface.co/NAME/blob/main/config.json, by the name in `SOURCES`.
"""

from collections.abc import Mapping
from typing import Any

from boundmark.datasets.layers.hf_config import transformer
from boundmark.problems.dataset import Dataset
from boundmark.problems.errors import find
from boundmark.problems.layers import LayerModel


def _gated(
    kind: str, layers: int, width: int, inner: int, heads: tuple[int, int], words: int, **more: Any
) -> dict[str, Any]:
    return {
        "model_type": kind, "num_hidden_layers": layers, "hidden_size": width,
        "intermediate_size": inner, "num_attention_heads": heads[0],
        "num_key_value_heads": heads[1], "vocab_size": words, "torch_dtype": "bfloat16",
        "tie_word_embeddings": False, **more,
    }  # fmt: skip


MODELS: Mapping[str, Mapping[str, Any]] = {
    "gpt-2": {
        "model_type": "gpt2", "n_layer": 12, "n_embd": 768, "n_head": 12, "vocab_size": 50257,
        "torch_dtype": "float16",
    },
    "llama-3-8b": _gated("llama", 32, 4096, 14336, (32, 8), 128256),
    "llama-2-70b": _gated("llama", 80, 8192, 28672, (64, 8), 32000, torch_dtype="float16"),
    "llama-3-70b": _gated("llama", 80, 8192, 28672, (64, 8), 128256),
    "llama-3.1-405b": _gated("llama", 126, 16384, 53248, (128, 8), 128256),
    "mistral-7b": _gated("mistral", 32, 4096, 14336, (32, 8), 32000, sliding_window=4096),
    "mixtral-8x7b": _gated(
        "mixtral", 32, 4096, 14336, (32, 8), 32000, num_local_experts=8, num_experts_per_tok=2
    ),
    "qwen2.5-72b": _gated("qwen2", 80, 8192, 29568, (64, 8), 152064),
    "gemma-7b": _gated(
        "gemma", 28, 3072, 24576, (16, 16), 256000, head_dim=256, tie_word_embeddings=True
    ),
    "deepseek-v3": _gated(
        "deepseek_v3", 61, 7168, 18432, (128, 128), 129280, n_routed_experts=256,
        num_experts_per_tok=8, n_shared_experts=1, moe_intermediate_size=2048,
        first_k_dense_replace=3, kv_lora_rank=512, q_lora_rank=1536, qk_rope_head_dim=64,
        qk_nope_head_dim=128, v_head_dim=128, quantization_config={"quant_method": "fp8"},
    ),
}  # fmt: skip

SOURCES = {
    "gpt-2": "openai-community/gpt2",
    "llama-3-8b": "meta-llama/Meta-Llama-3-8B",
    "llama-2-70b": "meta-llama/Llama-2-70b-hf",
    "llama-3-70b": "meta-llama/Meta-Llama-3-70B",
    "llama-3.1-405b": "meta-llama/Llama-3.1-405B",
    "mistral-7b": "mistralai/Mistral-7B-v0.1",
    "mixtral-8x7b": "mistralai/Mixtral-8x7B-v0.1",
    "qwen2.5-72b": "Qwen/Qwen2.5-72B",
    "gemma-7b": "google/gemma-7b",
    "deepseek-v3": "deepseek-ai/DeepSeek-V3",
}


def load(member: str) -> LayerModel:
    """Return a model; raises `UnknownNameError` for another name."""
    return transformer(find("model", member, MODELS))


DATASET = Dataset(
    name="language-models",
    source=LayerModel,
    summary="Dimensions of published language models, layer by layer.",
    members=lambda: tuple(MODELS),
    load=load,
    about=lambda member: {"source": f"https://huggingface.co/{SOURCES[member]}"},
)
