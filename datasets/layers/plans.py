"""Questions of `boundmark plan`: models on the devices on which people run them.

Layouts for most of them are published, see the table in docs/plan.md. The GPT models are those of
[KORTHIKANTI23], Table 3.
"""

from typing import Any

from boundmark.datasets.layers.hf_config import transformer
from boundmark.datasets.layers.language_models import published
from boundmark.problems.dataset import Dataset
from boundmark.problems.errors import find
from boundmark.problems.layers import Question
from boundmark.problems.layers.fleet import read_hosts
from boundmark.problems.layers.parallel import Wish, ask

# Layers, width and heads.
GPT = {
    "gpt-22b": (48, 6144, 64),
    "gpt-175b": (96, 12288, 96),
    "gpt-530b": (105, 20480, 128),
    "gpt-1t": (128, 25600, 160),
}


def _gpt(layers: int, width: int, heads: int) -> dict[str, Any]:
    return {
        "model_type": "gpt2", "n_layer": layers, "n_embd": width, "n_head": heads,
        "n_positions": 2048, "vocab_size": 51200, "torch_dtype": "float16",
    }  # fmt: skip


def _decode(sequences: int, context: int = 4096, **more: Any) -> dict[str, Any]:
    """Return a wish for as many sequences at a time; 0 for as many as is best."""
    return {"sequences": sequences, "context": context, "rules": "vllm", **more}


def _prefill(context: int = 4096) -> dict[str, Any]:
    return {"goal": "prefill", "context": context, "rules": "vllm"}


def _training(sequences: int, context: int, **more: Any) -> dict[str, Any]:
    return {"goal": "training", "sequences": sequences, "context": context, "rules": "megatron",
            "overlaps": True, **more}  # fmt: skip


# Model, devices and what is wished, by name.
ASKED: dict[str, tuple[str, str, dict[str, Any]]] = {
    "llama-2-70b-4xa6000": ("llama-2-70b", "4xA6000", _decode(16, 2048)),
    "llama-3-70b-4xh100-30ms": ("llama-3-70b", "4xH100", _decode(0, limit_seconds=0.03)),
    "llama-3-70b-2x8xh100": ("llama-3-70b", "2x8xH100@50", _decode(64)),
    "llama-3-70b-8xrtx-pro-6000": ("llama-3-70b", "8xRTX-PRO-6000",
                                   _decode(0, 1500, weight_bits=4)),
    "llama-3.1-405b-8xh100": ("llama-3.1-405b", "8xH100",
                              _decode(0, 1500, weight_bits=8, cache_bits=8)),
    "llama-3.1-405b-2x8xh100": ("llama-3.1-405b", "2x8xH100@50", _decode(64)),
    "deepseek-v3-8xh200": ("deepseek-v3", "8xH200", _decode(0, 1500, cache_bits=8)),
    "deepseek-v3-2x8xh100": ("deepseek-v3", "2x8xH100@50", _decode(64)),
    "deepseek-v3-8x8xh100": ("deepseek-v3", "8x8xH100@50", _decode(1024)),
    "mixtral-8x7b-4xa100": ("mixtral-8x7b", "4xA100-80GB", _decode(64)),
    "gpt-oss-120b-2xh100": ("gpt-oss-120b", "2xH100", _decode(32)),
    "qwen3-235b-a22b-8xh200": ("qwen3-235b-a22b", "8xH200", _decode(128)),
    "qwen3-30b-a3b-4xrtx-pro-6000": ("qwen3-30b-a3b", "4xRTX-PRO-6000", _decode(64)),
    "llama-3-70b-8xh100-prefill": ("llama-3-70b", "8xH100", _prefill()),
    "mixtral-8x7b-8xa100-prefill": ("mixtral-8x7b", "8xA100-80GB", _prefill()),
    "qwen3-235b-a22b-8xh200-prefill": ("qwen3-235b-a22b", "8xH200", _prefill()),
    "deepseek-v3-4x8xh100-prefill": ("deepseek-v3", "4x8xH100@50", _prefill()),
    "gpt-22b-8xa100-training": ("gpt-22b", "8xA100-80GB", _training(4, 2048)),
    "gpt-175b-8x8xa100-training": ("gpt-175b", "8x8xA100-80GB@25", _training(64, 2048)),
    "gpt-530b-35x8xa100-training": ("gpt-530b", "35x8xA100-80GB@25", _training(280, 2048)),
    "gpt-1t-64x8xa100-training": ("gpt-1t", "64x8xA100-80GB@25", _training(512, 2048)),
    "llama-3-70b-8x8xh100-training": ("llama-3-70b", "8x8xH100@50",
                                      _training(128, 8192, shards=True)),
    "llama-3.1-405b-64x8xh100-training": ("llama-3.1-405b", "64x8xH100@50",
                                          _training(256, 8192, shards=True)),
    "mixtral-8x7b-8x8xh100-training": ("mixtral-8x7b", "8x8xH100@50",
                                       _training(256, 4096, shards=True)),
}  # fmt: skip


def load(member: str) -> Question:
    """Return a question; raises `UnknownNameError` for another name."""
    model, devices, wish = find("question", member, ASKED)
    config = _gpt(*GPT[model]) if model in GPT else published()[model]["config"]
    return ask(transformer(config), read_hosts(devices), Wish(**wish))


DATASET = Dataset(
    name="plans",
    source=Question,
    summary="Questions for `plan`: language models, on the devices on which people run them.",
    members=lambda: tuple(ASKED),
    load=load,
)
