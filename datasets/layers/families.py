"""Families of transformers on Hugging Face: what their configurations leave unsaid, as a table.

Most families call the same things by the same names (`hf_config` lists them), so that an entry says
only what differs: how many normalisations a block has, whether its network is gated, which layers
have a window, what its modules are called. The next family is one entry. Facts are those of the
model classes of transformers 5.24, checked against their parameter counts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Names:
    """What modules are called: blocks, embedding, scores, and within a block attention and network.

    Models for images, too, have ``model.language_model`` instead of ``model``.
    """

    blocks: str = "model.layers"
    embedding: str = "model.embed_tokens"
    scores: str = "lm_head"
    attention: str = "self_attn"
    network: str = "mlp"


@dataclass(frozen=True)
class Family:
    """What a family's configurations leave unsaid.

    Attributes
    ----------
    is_gated
        Whether networks have three matrices instead of two.
    norms, last_norms
        Vectors as long as a token in each block, and behind the last one.
    query_norm
        ``"head"``: queries and keys are normalised with vectors as long as a head; ``"heads"``: as
        long as all heads together.
    biases
        ``"qkv"``, or ``"all"`` matrices; few are left out of others, which are some thousandths.
    is_tied
        Whether embedding and scores share parameters if nobody says.
    positions
        Rows of learnt positions beyond `max_position_embeddings`; None for no learnt positions.
    full_every
        Of a window, how many layers apart those are that see everything; 0 if none is; None if it
        is not known, so that full context is taken.
    window_default
        Whether a window counts if `use_sliding_window` is not there.
    shared_experts
        Number of experts that all tokens meet, if nobody says.
    is_causal
        False for encoders.
    has_cache
        Whether it generates tokens one by one.
    names
        What modules are called.
    defaults
        Values of fields that nested configurations leave out.
    """

    is_gated: bool = True
    norms: int = 2
    last_norms: int = 1
    query_norm: str = ""
    biases: str = ""
    is_tied: bool = False
    positions: int | None = None
    full_every: int | None = None
    window_default: bool = True
    shared_experts: int = 0
    is_causal: bool = True
    has_cache: bool = True
    names: Names = Names()
    defaults: Mapping[str, int | None] = field(default_factory=dict)


_GPT2 = Names("transformer.h", "transformer.wte", "lm_head", "attn", "mlp")
_MIXTRAL = Names(network="block_sparse_moe")
_ENCODER = Names("encoder.layer", "embeddings", "pooler", "attention", "intermediate")

_LLAMA = Family(
    defaults={
        "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
        "num_attention_heads": 32, "vocab_size": 32000,
    }
)  # fmt: skip
_MISTRAL = Family(
    full_every=0,
    defaults={
        "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 32000,
    },
)  # fmt: skip
_QWEN2 = Family(biases="qkv", full_every=0, window_default=False)
_QWEN3 = Family(query_norm="head", full_every=0, window_default=False)
_GEMMA3 = Family(
    norms=4, query_norm="head", is_tied=True, full_every=6,
    defaults={
        "hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 26,
        "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
        "vocab_size": 262208, "sliding_window": 4096,
    },
)  # fmt: skip
_ENCODERS = Family(
    is_gated=False, norms=4, biases="all", positions=0, is_causal=False, has_cache=False,
    last_norms=0, names=_ENCODER,
)  # fmt: skip

FAMILIES: Mapping[str, Family] = {
    "arcee": Family(is_gated=False),
    "bert": _ENCODERS,
    "bloom": Family(
        is_gated=False, norms=4, last_norms=4, biases="all", is_tied=True,
        names=Names("transformer.h", "transformer.word_embeddings", "lm_head", "self_attention"),
    ),
    "cohere": Family(norms=1, is_tied=True),
    "cohere2": Family(norms=1, is_tied=True, full_every=4),
    "deci": Family(),
    "deepseek_v2": Family(),
    "deepseek_v3": Family(),
    "distilbert": _ENCODERS,
    "electra": _ENCODERS,
    "ernie4_5": Family(is_tied=True),
    "ernie4_5_moe": Family(is_tied=True),
    "exaone4": Family(query_norm="head", full_every=4),
    "falcon": Family(
        is_gated=False, norms=2, last_norms=2, is_tied=True,
        names=Names("transformer.h", "transformer.word_embeddings", "lm_head", "self_attention"),
    ),
    "gemma": Family(is_tied=True),
    "gemma2": Family(norms=4, is_tied=True, full_every=2),
    "gemma3_text": _GEMMA3,
    "glm": Family(biases="qkv"),
    "glm4": Family(norms=4, biases="qkv"),
    "glm4_moe": Family(biases="qkv"),
    "gpt2": Family(
        is_gated=False, norms=4, last_norms=2, biases="all", is_tied=True, positions=0, names=_GPT2
    ),
    "gpt_bigcode": Family(
        is_gated=False, norms=4, last_norms=2, biases="all", is_tied=True, positions=0, names=_GPT2
    ),
    "gpt_neox": Family(
        is_gated=False, norms=4, last_norms=2, biases="all",
        names=Names("gpt_neox.layers", "gpt_neox.embed_in", "embed_out", "attention"),
    ),
    "gpt_oss": Family(biases="all", full_every=2),
    "gptj": Family(is_gated=False, last_norms=2, names=_GPT2),
    "granite": Family(),
    "granitemoe": Family(names=_MIXTRAL),
    "helium": Family(),
    "hunyuan_v1_dense": Family(query_norm="head"),
    "hunyuan_v1_moe": Family(query_norm="head", is_tied=True),
    "internlm2": Family(),
    "internlm3": Family(),
    "jamba": Family(names=Names(network="feed_forward")),
    "kimi_k2": Family(),
    "llama": _LLAMA,
    "llama4_text": Family(
        full_every=4, shared_experts=1, names=Names(network="feed_forward"),
        defaults={
            "hidden_size": 5120, "intermediate_size": 8192, "intermediate_size_mlp": 16384,
            "num_hidden_layers": 48, "num_attention_heads": 40, "num_key_value_heads": 8,
            "head_dim": 128, "vocab_size": 202048, "num_local_experts": 16,
            "num_experts_per_tok": 1, "attention_chunk_size": 8192,
        },
    ),
    "minicpm": Family(is_tied=True),
    "minicpm3": Family(is_tied=True),
    "ministral": Family(full_every=None),
    "ministral3": Family(full_every=0),
    "mistral": _MISTRAL,
    "mixtral": Family(full_every=0, names=_MIXTRAL),
    "mobilellm": Family(is_tied=True),
    "nemotron": Family(is_gated=False, norms=4, last_norms=2),
    "nemotron-nas": Family(),
    "olmo": Family(norms=0, last_norms=0),
    "olmo2": Family(query_norm="heads"),
    "olmo3": Family(query_norm="heads", full_every=4),
    "olmoe": Family(query_norm="heads"),
    "opt": Family(
        is_gated=False, norms=4, last_norms=2, biases="all", is_tied=True, positions=2,
        names=Names("model.decoder.layers", "model.decoder.embed_tokens", "lm_head", "self_attn"),
    ),
    "phi": Family(is_gated=False, norms=2, last_norms=2, biases="all"),
    "phi3": Family(full_every=0),
    "phimoe": Family(norms=4, last_norms=2, full_every=0, biases="qkv", names=_MIXTRAL),
    "qwen2": _QWEN2,
    "qwen2_moe": _QWEN2,
    "qwen3": _QWEN3,
    "qwen3_moe": _QWEN3,
    "roberta": _ENCODERS,
    "seed_oss": Family(biases="qkv"),
    "smollm3": Family(is_tied=True, full_every=0, window_default=False),
    "stablelm": Family(norms=4, last_norms=2),
    "starcoder2": Family(
        is_gated=False, norms=4, last_norms=2, biases="all", is_tied=True, full_every=0
    ),
    "vit": _ENCODERS,
    "yi": _LLAMA,
}  # fmt: skip

# Other names of the same, and the language models within models for images, too.
ALIASES: Mapping[str, str] = {
    "camembert": "roberta", "gemma3": "gemma3_text", "llama4": "llama4_text", "llava": "llama",
    "llava_next": "llama", "mistral3": "mistral", "paligemma": "gemma",
    "qwen2_5_vl": "qwen2", "qwen2_5_vl_text": "qwen2", "qwen2_vl": "qwen2",
    "qwen2_vl_text": "qwen2", "qwen3_vl": "qwen3", "qwen3_vl_moe": "qwen3_moe",
    "qwen3_vl_moe_text": "qwen3_moe", "qwen3_vl_text": "qwen3", "xlm-roberta": "roberta",
}  # fmt: skip
