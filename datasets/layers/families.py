"""Families of transformers on Hugging Face: what their configurations leave unsaid, as a table.

Most families call the same things by the same names (`hf_config` lists them), so that an entry says
only what differs: how many normalisations a block has, whether its network is gated, which layers
have a window, what its modules are called. The next family is one entry. Facts are those of the
model classes of transformers 5.24; `nox -s torch` compares names and parameters with them. Left out
are sinks of attention in gpt_oss and mimo_v2_flash, a number for each head. Of families that
transformers has not (rwkv6, rwkv7) or has otherwise (bailing_moe, chatglm, mimo_v2_flash,
minimax_text_01), the published code and parameters say what they have.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Names:
    """Names of modules, where a family does not call them as Llama does.

    Models for images, too, have `nested` instead of ``model.``.

    Attributes
    ----------
    own
        Within a block, by what Llama and Qwen's models with experts call them: whole names, or
        beginnings that end with a point.
    older
        Parts of names, and what they were in earlier versions, which configurations still have.
    """

    blocks: str = "model.layers"
    embedding: str = "model.embed_tokens"
    scores: str = "lm_head"
    nested: str = "model.language_model."
    own: Mapping[str, str] = field(default_factory=dict)
    older: Mapping[str, str] = field(default_factory=dict)

    def of(self, name: str) -> str:
        """Return what the family calls a module of a block."""
        if name in self.own:
            return self.own[name]
        begin = next((one for one in self.own if one[-1] == "." and name.startswith(one)), "")
        return self.own[begin] + name.removeprefix(begin) if begin else name

    def all(self, name: str) -> tuple[str, ...]:
        """Return a module's whole name, and older ones."""
        return (name, *(name.replace(now, old) for now, old in self.older.items() if now in name))


# Matrices that may have a bias, by the last part of Llama's names.
QKV, OUT = ("q_proj", "k_proj", "v_proj"), ("o_proj",)
NETWORK, ROUTER = ("gate_proj", "up_proj", "down_proj"), ("gate",)
# Matrices of experts have one, too; without this, only those of networks that all tokens meet.
EXPERTS = "experts"
SCORES = "lm_head"
CONVOLUTION = "conv1d"
PROJECTIONS = ("in_proj", "out_proj")
# Not a bias, but switched on and off in the same way.
QUERY_NORM = "query_norm"

ATTENTION = QKV + OUT
_LATENT = ("q_a_proj", "kv_a_proj_with_mqa", "o_proj")

# What a layer has; a window is called by the field with its size.
ATTENDING, RECURRENT, BOTH = "attention", "recurrence", "both"
WINDOWS = SLIDING, CHUNKED = "sliding_window", "attention_chunk_size"
# Words for families whose layers have a mixer or a network, but not both.
NETWORK_ONLY, SPARSE = "network", "experts"

Switches: TypeAlias = Mapping[str, tuple[bool, tuple[str, ...]]]


@dataclass(frozen=True)
class Family:
    """Facts about a family that its configurations leave unsaid.

    Attributes
    ----------
    is_gated
        Whether networks have three matrices instead of two.
    norms, last_norms, first_norms
        Vectors as long as a token in each block, behind the last one, and behind the embedding.
    norms_by
        By field and value, `norms` and `last_norms` instead; the last field counts.
    query_norm
        ``"head"``: queries and keys are normalised with vectors as long as a head; ``"head+bias"``:
        and biases; ``"heads"``: as long as all heads together. Always, unless a switch says so.
    biases
        Matrices that have one, whatever the configuration says.
    switches
        By field: whether it holds where it is left out, and which matrices then have a bias; none
        for a field that today's classes do not read.
    activations
        Those with parameters of their own, and how many a block has.
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
    has_gated_shared
        Whether these are weighed with a product of their own.
    is_causal
        False for encoders.
    has_cache
        Whether it generates tokens one by one.
    has_pooler
        Whether a matrix follows the last block of an encoder.
    recurrence, kinds
        What a recurrence is (a name of `recurrences`), and what layers have if no list or pattern
        says so, repeated.
    is_single
        Whether a layer has a mixer or a network, but not both.
    gates_queries
        Whether a gate as wide comes with the queries.
    own_heads
        Dimensions or heads by field, of layers with a window (``swa_``) or without (``global_``).
    inner_share
        The part of the given dimensions within a network that it has.
    inner_default
        How often as wide as a token a network without a gate is within, if nobody says.
    adapters
        Fields that describe matrices of low rank beside all others of a layer, which no text meets.
    ignored
        Fields that the classes know and that cost nothing.
    names
        What modules are called.
    defaults
        Values of fields that nested configurations leave out.
    """

    is_gated: bool = True
    norms: int = 2
    last_norms: int = 1
    first_norms: int = 0
    norms_by: Mapping[str, Mapping[int, tuple[int, int]]] = field(default_factory=dict)
    query_norm: str = ""
    biases: tuple[str, ...] = ()
    switches: Switches = field(default_factory=dict)
    activations: Mapping[str, int] = field(default_factory=dict)
    is_tied: bool = False
    positions: int | None = None
    full_every: int | None = None
    window_default: bool = True
    shared_experts: int = 0
    has_gated_shared: bool = False
    is_causal: bool = True
    has_cache: bool = True
    has_pooler: bool = True
    recurrence: str = ""
    kinds: tuple[str, ...] = (ATTENDING,)
    is_single: bool = False
    gates_queries: bool = False
    own_heads: Mapping[str, int] = field(default_factory=dict)
    inner_share: float = 1
    inner_default: float = 4
    adapters: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    names: Names = Names()
    defaults: Mapping[str, int | None] = field(default_factory=dict)


def _own(q: str, o: str, up: str, down: str, k: str = "", v: str = "") -> Mapping[str, str]:
    """Return names of the matrices of a block without a gate; keys and values may be in one."""
    return {
        "self_attn.q_proj": q, "self_attn.k_proj": k or q, "self_attn.v_proj": v or q,
        "self_attn.o_proj": o, "mlp.up_proj": up, "mlp.down_proj": down,
    }  # fmt: skip


def _encoder(prefix: str, blocks: str, own: Mapping[str, str], **different: Any) -> Family:
    scores = "layernorm" if prefix == "vit" else "pooler"
    names = Names(f"{prefix}.{blocks}", f"{prefix}.embeddings", f"{prefix}.{scores}", own=own)
    usual: dict[str, Any] = {
        "is_gated": False, "norms": 4, "last_norms": 0, "first_norms": 2, "positions": 0,
        "biases": ATTENTION + NETWORK, "is_causal": False, "has_cache": False, "names": names,
    }  # fmt: skip
    return Family(**{**usual, **different})


_FUSED = {"mlp.gate_proj": "mlp.gate_up_proj", "mlp.up_proj": "mlp.gate_up_proj"}
_HEADS = {f"self_attn.{one}": "self_attn.qkv_proj" for one in QKV}
_SHARED = Names(own={"mlp.shared_expert.": "mlp.shared_experts."})
_MIXTRAL = Names(older={".mlp.": ".block_sparse_moe."})
_GPT2 = Names(
    "transformer.h", "transformer.wte",
    own=_own("attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj"),
)  # fmt: skip
_BLOOM = Names(
    "transformer.h", "transformer.word_embeddings",
    own=_own(
        "self_attention.query_key_value", "self_attention.dense", "mlp.dense_h_to_4h",
        "mlp.dense_4h_to_h",
    ),
)  # fmt: skip
_OF_BERT = _own(
    "attention.self.query", "attention.output.dense", "intermediate.dense", "output.dense",
    "attention.self.key", "attention.self.value",
)  # fmt: skip

_BIASED_ATTENTION: Switches = {"attention_bias": (False, ATTENTION)}
_BIASED: Switches = {**_BIASED_ATTENTION, "mlp_bias": (False, NETWORK)}
_BIASED_LATENT: Switches = {"attention_bias": (False, _LATENT)}

_LLAMA = Family(
    switches=_BIASED,
    defaults={
        "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
        "num_attention_heads": 32, "vocab_size": 32000,
    },
)  # fmt: skip
_MISTRAL = Family(
    full_every=0,
    defaults={
        "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 32000,
    },
)  # fmt: skip
_QWEN2 = Family(biases=QKV, full_every=0, window_default=False)
_QWEN3 = Family(query_norm="head", full_every=0, window_default=False, switches=_BIASED_ATTENTION)
_GEMMA3 = Family(
    norms=4, query_norm="head", is_tied=True, full_every=6, switches=_BIASED_ATTENTION,
    defaults={
        "hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 26,
        "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
        "vocab_size": 262208, "sliding_window": 4096,
    },
)  # fmt: skip
_DEEPSEEK = Family(names=_SHARED, switches=_BIASED_LATENT)
_GPT = Family(
    is_gated=False, norms=4, last_norms=2, biases=ATTENTION + NETWORK, is_tied=True, positions=0,
    names=_GPT2,
)  # fmt: skip
_MAMBA = Family(
    norms=1, is_tied=True, recurrence="mamba", kinds=(RECURRENT,), is_single=True,
    switches={"use_bias": (False, PROJECTIONS), "use_conv_bias": (True, (CONVOLUTION,))},
    names=Names("backbone.layers", "backbone.embeddings", own={"mamba.": "mixer."}),
    ignored=("num_heads", "head_dim"),
)  # fmt: skip
_MAMBA2_BIASES: Switches = {
    "mamba_conv_bias": (True, (CONVOLUTION,)), "mamba_proj_bias": (False, PROJECTIONS),
}  # fmt: skip
_BAMBA = Family(
    recurrence="mamba2", kinds=(RECURRENT,), switches={**_BIASED, **_MAMBA2_BIASES},
    names=Names(own={"mlp.": "feed_forward."}), ignored=("mamba_norm_before_gate",),
)  # fmt: skip
_GRANITE = Names(own={
    "mlp.gate": "block_sparse_moe.router", "mlp.": "block_sparse_moe.",
    "mlp.shared_expert.gate_proj": "shared_mlp.input_linear",
    "mlp.shared_expert.up_proj": "shared_mlp.input_linear",
    "mlp.shared_expert.down_proj": "shared_mlp.output_linear",
})  # fmt: skip
_NEXT = Family(
    query_norm="head", switches=_BIASED_ATTENTION, has_gated_shared=True, gates_queries=True,
    recurrence="delta", kinds=(RECURRENT, RECURRENT, RECURRENT, ATTENDING),
    ignored=("attn_output_gate",),
)  # fmt: skip
_LFM2_OWN = {
    "self_attn.o_proj": "self_attn.out_proj", "mlp.gate_proj": "feed_forward.w1",
    "mlp.up_proj": "feed_forward.w3", "mlp.down_proj": "feed_forward.w2", "mlp.": "feed_forward.",
}  # fmt: skip
_LFM2 = Family(
    query_norm="head", is_tied=True, recurrence="short", inner_share=2 / 3,
    switches={"conv_bias": (False, (CONVOLUTION, *PROJECTIONS))}, names=Names(own=_LFM2_OWN),
    ignored=(
        "use_expert_bias", "block_use_swiglu", "block_dim", "block_mlp_init_scale", "theta",
        "block_out_init_scale", "block_use_xavier_init", "conv_dim", "conv_dim_out",
        "conv_use_xavier_init", "use_pos_enc",
    ),
)  # fmt: skip
_MINIMAX = Family(
    recurrence="lightning", kinds=(ATTENDING, RECURRENT), names=_MIXTRAL, full_every=0,
    ignored=("postnorm",),
)  # fmt: skip
_LING = Family(
    query_norm="head",
    switches={
        "use_qk_norm": (False, (QUERY_NORM,)), "use_qkv_bias": (False, QKV),
        "use_bias": (False, OUT + NETWORK),
    },
    names=Names(
        embedding="model.word_embeddings",
        own={
            "self_attn.q_proj": "attention.query_key_value",
            "self_attn.k_proj": "attention.query_key_value",
            "self_attn.v_proj": "attention.query_key_value", "self_attn.o_proj": "attention.dense",
            **_SHARED.own,
        },
    ),
)  # fmt: skip
_OLMO2 = Family(query_norm="heads", switches=_BIASED_ATTENTION)
_BERT = _encoder("bert", "encoder.layer", _OF_BERT)
_ROBERTA = _encoder("roberta", "encoder.layer", _OF_BERT)

# Modules with parameters before and behind the blocks, beside embedding and scores, where these are
# not the usual ones. Of OPT, only some models have the projections.
USUALLY_BESIDE = ((), ("model.norm",))
BESIDE: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    **dict.fromkeys(
        ("bamba", "falcon_h1", "jamba", "phi", "zamba2"), ((), ("model.final_layernorm",))
    ),
    **dict.fromkeys(("mamba", "mamba2", "falcon_mamba"), ((), ("backbone.norm_f",))),
    **dict.fromkeys(("lfm2", "lfm2_moe"), ((), ("model.embedding_norm",))),
    **dict.fromkeys(("gpt2", "gpt_bigcode"), (("transformer.wpe",), ("transformer.ln_f",))),
    **dict.fromkeys(("falcon", "gptj"), ((), ("transformer.ln_f",))),
    "bloom": (("transformer.word_embeddings_layernorm",), ("transformer.ln_f",)),
    "gemma3n_text": (
        (
            "model.embed_tokens_per_layer", "model.per_layer_model_projection",
            "model.per_layer_projection_norm", "model.altup_projections",
        ),
        ("model.norm", "model.altup_unembed_projections"),
    ),
    "gemma4_text": (
        (
            "model.embed_tokens_per_layer", "model.per_layer_model_projection",
            "model.per_layer_projection_norm",
        ),
        ("model.norm",),
    ),
    "gpt_neox": ((), ("gpt_neox.final_layer_norm",)),
    "nemotron_h": ((), ("model.norm_f",)),
    "olmo": ((), ()),
    "opt": (
        ("model.decoder.embed_positions", "model.decoder.project_in"),
        ("model.decoder.final_layer_norm", "model.decoder.project_out"),
    ),
    "recurrent_gemma": ((), ("model.final_norm",)),
}  # fmt: skip

# Modules that read images and sound, by `model_type`, where they are not the usual ones.
USUAL_TOWERS = ("model.vision_tower", "model.multi_modal_projector")
_HEARING = ("model.vision_tower", "model.embed_vision", "model.audio_tower", "model.embed_audio")
TOWERS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(
        (
            "exaone4_5", "glm46v", "glm4v", "glm4v_moe", "qwen2_vl", "qwen2_5_vl", "qwen3_5",
            "qwen3_5_moe", "qwen3_vl", "qwen3_vl_moe",
        ),
        ("model.visual",),
    ),
    **dict.fromkeys(("qwen2_5_omni", "qwen3_omni_moe"), ("model.audio_tower", "model.visual")),
    **dict.fromkeys(
        ("llava_next", "llava_next_video", "llava_onevision"),
        ("model.image_newline", *USUAL_TOWERS),
    ),
    **dict.fromkeys(("gemma3n", "gemma4"), _HEARING),
    "kimi_k25": ("model.vision_tower", "model.mm_projector"),
    "llama4": ("vision_model", "multi_modal_projector"),
    "lighton_ocr": ("model.vision_encoder", "model.vision_projection"),
    "video_llava": ("model.video_tower", "model.image_tower", "model.multi_modal_projector"),
}  # fmt: skip

FAMILIES: Mapping[str, Family] = {
    "afmoe": Family(
        norms=4, query_norm="head", gates_queries=True, biases=ROUTER, full_every=4,
        names=Names(own={"mlp.gate": "mlp.router.gate", **_SHARED.own}),
        ignored=("global_attn_every_n_layers", "mup_enabled"),
    ),
    "apertus": Family(
        is_gated=False, query_norm="head", activations={"xielu": 2},
        switches={**_BIASED_ATTENTION, "qk_norm": (True, ())},
    ),
    "arcee": Family(is_gated=False, switches=_BIASED),
    "bamba": _BAMBA,
    "bailing_moe": _LING,
    "bailing_moe_v2": _LING,
    "bert": _BERT,
    "bloom": Family(
        is_gated=False, norms=4, last_norms=2, first_norms=2, biases=ATTENTION + NETWORK,
        is_tied=True, names=_BLOOM,
        ignored=("masked_softmax_fusion", "offset_alibi", "skip_bias_add"),
    ),
    "chatglm": Family(
        switches={"add_qkv_bias": (False, QKV), "add_bias_linear": (False, OUT + NETWORK)},
        names=Names(
            "transformer.encoder.layers", "transformer.embedding.word_embeddings",
            "transformer.output_layer",
            own={
                "self_attn.q_proj": "self_attention.query_key_value",
                "self_attn.k_proj": "self_attention.query_key_value",
                "self_attn.v_proj": "self_attention.query_key_value",
                "self_attn.o_proj": "self_attention.dense", "mlp.gate_proj": "mlp.dense_h_to_4h",
                "mlp.up_proj": "mlp.dense_h_to_4h", "mlp.down_proj": "mlp.dense_4h_to_h",
            },
        ),
        ignored=("post_layer_norm", "rmsnorm", "bias_dropout_fusion", "multi_query_attention"),
    ),
    "cohere": Family(
        norms=1, is_tied=True, query_norm="heads",
        switches={**_BIASED_ATTENTION, "use_qk_norm": (False, (QUERY_NORM,))},
    ),
    "cohere2": Family(norms=1, is_tied=True, full_every=4, switches=_BIASED_ATTENTION),
    "deci": Family(switches=_BIASED),
    "deepseek_v2": replace(_DEEPSEEK, switches={**_BIASED_LATENT, "mlp_bias": (False, NETWORK)}),
    "deepseek_v3": _DEEPSEEK,
    "deepseek_v32": _DEEPSEEK,
    "distilbert": _encoder(
        "distilbert", "transformer.layer",
        _own(
            "attention.q_lin", "attention.out_lin", "ffn.lin1", "ffn.lin2", "attention.k_lin",
            "attention.v_lin",
        ),
        has_pooler=False,
    ),
    "dots1": replace(_QWEN3, names=_SHARED),
    "electra": _encoder("electra", "encoder.layer", _OF_BERT, has_pooler=False),
    "ernie4_5": Family(is_tied=True, switches={"use_bias": (False, ATTENTION + NETWORK)}),
    "ernie4_5_moe": Family(
        is_tied=True, names=_SHARED, biases=ROUTER,
        switches={"use_bias": (False, (*ATTENTION, *NETWORK, SCORES))},
    ),
    "exaone4": Family(query_norm="head", full_every=4),
    "exaone_moe": Family(query_norm="head", full_every=4, names=_SHARED),
    "falcon": Family(
        is_gated=False, norms=2, last_norms=2, is_tied=True, names=_BLOOM,
        switches={"bias": (False, ATTENTION + NETWORK)},
        norms_by={
            "new_decoder_architecture": {True: (4, 2)},
            "num_ln_in_parallel_attn": {1: (2, 2), 2: (4, 2)},
            "parallel_attn": {False: (4, 2)},
        },
    ),
    "falcon_h1": replace(
        _BAMBA, kinds=(BOTH,),
        ignored=("mamba_norm_before_gate", "mamba_use_mlp", "mlp_expansion_factor"),
        switches={
            **_BAMBA.switches, "mamba_proj_bias": (False, ("in_proj",)),
            "projectors_bias": (False, ("out_proj",)),
        },
    ),
    "falcon_mamba": _MAMBA,
    "gemma": Family(is_tied=True, switches=_BIASED_ATTENTION),
    "gemma2": Family(norms=4, is_tied=True, full_every=2, switches=_BIASED_ATTENTION),
    "gemma3_text": _GEMMA3,
    "gemma3n_text": replace(
        _GEMMA3, full_every=5, defaults={}
    ),
    "gemma4_text": replace(
        _GEMMA3, full_every=6, defaults={}, own_heads={"global_head_dim": 512},
        norms_by={"enable_moe_block": {True: (8, 1)}},
        switches={**_BIASED_ATTENTION, "enable_moe_block": (False, ROUTER)},
        names=Names(own={
            "mlp.gate": "router.proj", "mlp.experts.": "experts.", "mlp.shared_expert.": "mlp.",
        }),
    ),
    "glm": Family(switches={"attention_bias": (True, QKV)}, names=Names(own=_FUSED)),
    "glm4": Family(norms=4, switches={"attention_bias": (True, QKV)}, names=Names(own=_FUSED)),
    "glm4_moe": Family(
        query_norm="head", names=_SHARED,
        switches={"attention_bias": (False, QKV), "use_qk_norm": (False, (QUERY_NORM,))},
    ),
    "glm4_moe_lite": _DEEPSEEK,
    "glm_moe_dsa": _DEEPSEEK,
    "gpt2": _GPT,
    "gpt_bigcode": _GPT,
    "gpt_neox": Family(
        is_gated=False, norms=4, last_norms=2, biases=NETWORK,
        switches={"attention_bias": (True, ATTENTION), "use_parallel_residual": (True, ())},
        names=Names(
            "gpt_neox.layers", "gpt_neox.embed_in", older={"lm_head": "embed_out"},
            own=_own(
                "attention.query_key_value", "attention.dense", "mlp.dense_h_to_4h",
                "mlp.dense_4h_to_h",
            ),
        ),
    ),
    "gpt_oss": Family(
        biases=(*NETWORK, *ROUTER, EXPERTS), full_every=2,
        switches={"attention_bias": (True, ATTENTION)},
        names=Names(own={"mlp.gate": "mlp.router"}),
    ),
    "gptj": Family(
        is_gated=False, last_norms=2, biases=(*NETWORK, SCORES),
        names=Names(
            "transformer.h", "transformer.wte",
            own=_own(
                "attn.q_proj", "attn.out_proj", "mlp.fc_in", "mlp.fc_out", "attn.k_proj",
                "attn.v_proj",
            ),
        ),
    ),
    "granite": Family(switches=_BIASED),
    "granitemoe": Family(
        switches=_BIASED_ATTENTION,
        names=Names(own={"mlp.gate": "block_sparse_moe.router", "mlp.": "block_sparse_moe."}),
    ),
    "granitemoehybrid": Family(
        recurrence="mamba2", kinds=(RECURRENT,), names=_GRANITE,
        switches={**_BIASED_ATTENTION, **_MAMBA2_BIASES},
    ),
    "granitemoeshared": Family(switches=_BIASED_ATTENTION, names=_GRANITE),
    "helium": Family(
        switches={"attention_bias": (False, QKV), "mlp_bias": (False, NETWORK)}
    ),
    "hunyuan_v1_dense": Family(query_norm="head", switches={
        **_BIASED_ATTENTION, "use_qk_norm": (True, ()),
    }),
    "hunyuan_v1_moe": Family(
        query_norm="head", is_tied=True, shared_experts=1,
        switches={**_BIASED_ATTENTION, "use_qk_norm": (True, ()), "use_mixed_mlp_moe": (True, ())},
        names=Names(own={"mlp.gate": "mlp.gate.wg", "mlp.shared_expert.": "mlp.shared_mlp."}),
    ),
    "internlm2": Family(switches={"bias": (True, ATTENTION)}),
    "internlm3": Family(
        switches={"qkv_bias": (False, QKV), "bias": (False, OUT + NETWORK)}
    ),
    "jamba": Family(
        names=Names(own={"mlp.gate": "feed_forward.router", "mlp.": "feed_forward."}),
        switches={
            "mamba_conv_bias": (True, (CONVOLUTION,)), "mamba_proj_bias": (False, PROJECTIONS),
        },
        recurrence="mamba",
    ),
    "kimi_k2": _DEEPSEEK,
    "kimi_linear": replace(
        _DEEPSEEK, recurrence="kimi", kinds=(RECURRENT,), switches={},
        names=Names(
            own={
                **_SHARED.own, "self_attn.f_a_proj": "self_attn.forget_gate.f_a_proj",
                "self_attn.f_b_proj": "self_attn.forget_gate.f_b_proj",
            },
            older={"forget_gate.": "", ".mlp.": ".block_sparse_moe."},
        ),
        ignored=("mla_use_nope", "use_grouped_topk"),
    ),
    "lfm2": _LFM2,
    "lfm2_moe": replace(_LFM2, inner_share=1),
    "llama": _LLAMA,
    "llama4_text": Family(
        full_every=4, shared_experts=1,
        names=Names(
            own={"mlp.gate": "feed_forward.router", "mlp.": "feed_forward."},
            nested="language_model.model.",
        ),
        # Its normalisation of queries has no parameters.
        switches={**_BIASED_ATTENTION, "use_qk_norm": (True, ())},
        defaults={
            "hidden_size": 5120, "intermediate_size": 8192, "intermediate_size_mlp": 16384,
            "num_hidden_layers": 48, "num_attention_heads": 40, "num_key_value_heads": 8,
            "head_dim": 128, "vocab_size": 202048, "num_local_experts": 16,
            "num_experts_per_tok": 1, "attention_chunk_size": 8192,
        },
    ),
    "mamba": _MAMBA,
    "mamba2": replace(_MAMBA, is_tied=False, recurrence="mamba2"),
    "minimax": _MINIMAX,
    "minimax_m2": Family(
        query_norm="heads", names=_MIXTRAL, full_every=0,
        switches={"use_qk_norm": (True, ())}, ignored=("qk_norm_type",),
    ),
    "minimax_text_01": _MINIMAX,
    "mimo_v2_flash": Family(
        switches={"attention_bias": (False, QKV)},
        ignored=(
            "swa_num_attention_heads", "swa_v_head_dim", "swa_rope_theta",
            "add_swa_attention_sink_bias", "add_full_attention_sink_bias",
        ),
    ),
    "minicpm": Family(is_tied=True, switches=_BIASED_ATTENTION),
    "minicpm3": Family(is_tied=True, switches={**_BIASED_LATENT, "mlp_bias": (False, NETWORK)}),
    "ministral": Family(full_every=None),
    "ministral3": Family(full_every=0),
    "mistral": _MISTRAL,
    "mixtral": Family(full_every=0, names=_MIXTRAL),
    "mobilellm": Family(is_tied=True, switches=_BIASED),
    "nemotron": Family(is_gated=False, norms=4, last_norms=2, switches=_BIASED),
    "nemotron_h": Family(
        is_gated=False, norms=1, is_single=True, recurrence="mamba2",
        switches={
            "mlp_bias": (False, (*NETWORK, "fc1_latent_proj", "fc2_latent_proj")),
            "use_bias": (False, PROJECTIONS),
            "use_conv_bias": (True, (CONVOLUTION,)),
        },
        names=Names(
            "model.layers", "model.embeddings", older={"model.": "backbone."},
            own={
                "mlp.shared_expert.": "mixer.shared_experts.", "mlp.": "mixer.",
                "self_attn.": "mixer.", "mamba.": "mixer.",
            },
        ),
        ignored=("mamba_hidden_act",),
    ),
    "nemotron-nas": Family(switches=_BIASED),
    "olmo": Family(norms=0, last_norms=0, switches=_BIASED_ATTENTION),
    "olmo2": _OLMO2,
    "olmo_hybrid": replace(
        _OLMO2, recurrence="delta", kinds=(RECURRENT, RECURRENT, RECURRENT, ATTENDING),
        names=Names(own={
            "linear_attn.in_proj_qkv": "linear_attn.q_proj",
            "linear_attn.in_proj_z": "linear_attn.g_proj",
            "linear_attn.in_proj_b": "linear_attn.b_proj",
            "linear_attn.in_proj_a": "linear_attn.a_proj",
            "linear_attn.out_proj": "linear_attn.o_proj",
        }),
    ),
    "olmo3": replace(_OLMO2, full_every=4),
    "olmoe": _OLMO2,
    "opt": Family(
        is_gated=False, norms=4, last_norms=2, is_tied=True, positions=2,
        switches={"enable_bias": (True, ATTENTION + NETWORK)},
        norms_by={
            "do_layer_norm_before": {False: (4, 0)},
            "_remove_final_layer_norm": {True: (4, 0)},
            "layer_norm_elementwise_affine": {False: (0, 0)},
        },
        names=Names(
            "model.decoder.layers", "model.decoder.embed_tokens",
            own=_own(
                "self_attn.q_proj", "self_attn.out_proj", "fc1", "fc2", "self_attn.k_proj",
                "self_attn.v_proj",
            ),
        ),
    ),
    "phi": Family(
        is_gated=False, norms=2, last_norms=2, biases=(*ATTENTION, *NETWORK, SCORES),
        query_norm="head+bias", switches={"qk_layernorm": (False, (QUERY_NORM,))},
        names=Names(own={
            "self_attn.o_proj": "self_attn.dense", "mlp.up_proj": "mlp.fc1",
            "mlp.down_proj": "mlp.fc2",
        }),
    ),
    "phi3": Family(full_every=0, names=Names(own={**_FUSED, **_HEADS})),
    # Matrices of low rank for images and for sound are kept beside those of each layer.
    "phi4mm": Family(
        full_every=0, names=Names(own={**_FUSED, **_HEADS}),
        adapters=("vision_lora", "speech_lora"),
    ),
    "phimoe": Family(
        norms=4, last_norms=2, full_every=0,
        switches={**_BIASED_ATTENTION, "lm_head_bias": (False, (SCORES,))},
        names=Names(own={"mlp.gate": "mlp.router"}, older={".mlp.": ".block_sparse_moe."}),
    ),
    "qwen2": _QWEN2,
    "qwen2_moe": replace(
        _QWEN2, biases=(), switches={"qkv_bias": (True, QKV)}, has_gated_shared=True
    ),
    "qwen3": _QWEN3,
    "qwen3_moe": _QWEN3,
    "qwen3_5_moe_text": _NEXT,
    "qwen3_5_text": _NEXT,
    "qwen3_next": replace(_NEXT, names=Names(own={
        "linear_attn.in_proj_qkv": "linear_attn.in_proj_qkvz",
        "linear_attn.in_proj_z": "linear_attn.in_proj_qkvz",
        "linear_attn.in_proj_a": "linear_attn.in_proj_ba",
        "linear_attn.in_proj_b": "linear_attn.in_proj_ba",
    })),
    "recurrent_gemma": Family(
        is_tied=True, full_every=0, recurrence="gated linear", inner_share=1 / 2,
        kinds=(RECURRENT, RECURRENT, ATTENDING),
        biases=(
            *OUT, *NETWORK, "linear_y", "linear_x", "linear_out", "input_gate", "recurrent_gate",
        ),
        switches={"attention_bias": (False, QKV)},
        names=Names(own={
            "self_attn.": "temporal_block.", "mlp.": "mlp_block.",
            "temporal_block.rg_lru.input_gate": "temporal_block.rg_lru",
            "temporal_block.rg_lru.recurrent_gate": "temporal_block.rg_lru",
        }),
    ),
    "roberta": _ROBERTA,
    "rwkv6": Family(
        is_gated=False, norms=4, first_norms=0, last_norms=2, recurrence="rwkv6",
        kinds=(RECURRENT,), inner_default=3.5,
        names=Names("rwkv.blocks", "rwkv.embeddings", "head", own={
            "mlp.up_proj": "feed_forward.key", "mlp.down_proj": "feed_forward.value",
        }),
    ),
    "rwkv7": Family(
        is_gated=False, norms=4, last_norms=2, recurrence="rwkv7", kinds=(RECURRENT,),
        names=Names(own={"mlp.up_proj": "ffn.key", "mlp.down_proj": "ffn.value"}),
    ),
    "seed_oss": Family(switches={
        "attention_bias": (True, QKV), "attention_out_bias": (False, OUT),
        "mlp_bias": (False, NETWORK),
    }),
    "smollm3": Family(is_tied=True, full_every=0, window_default=False, switches=_BIASED),
    "stablelm": Family(
        norms=4, last_norms=2, query_norm="heads",
        switches={"qk_layernorm": (False, (QUERY_NORM,)), "use_qkv_bias": (False, QKV)},
        norms_by={"use_parallel_residual": {True: (2, 2)}},
    ),
    "solar_open": Family(switches={"attention_bias": (False, QKV)}, names=_SHARED),
    "starcoder2": Family(
        is_gated=False, norms=4, last_norms=2, is_tied=True, full_every=0,
        switches={"use_bias": (True, ATTENTION + NETWORK)},
        names=Names(own={"mlp.up_proj": "mlp.c_fc", "mlp.down_proj": "mlp.c_proj"}),
    ),
    "vit": _encoder(
        "vit", "layers",
        _own(
            "attention.q_proj", "attention.o_proj", "mlp.fc1", "mlp.fc2", "attention.k_proj",
            "attention.v_proj",
        ),
        last_norms=2, biases=OUT + NETWORK, switches={"qkv_bias": (True, QKV)},
    ),
    "yi": _LLAMA,
    "zamba2": replace(
        _MAMBA, recurrence="mamba2", biases=(CONVOLUTION,), switches={},
        names=Names(own={
            "self_attn.": "shared_transformer.self_attn.",
            "mlp.": "shared_transformer.feed_forward.",
            "mlp.gate_proj": "shared_transformer.feed_forward.gate_up_proj",
            "mlp.up_proj": "shared_transformer.feed_forward.gate_up_proj",
        }),
        ignored=(
            "hybrid_layer_ids", "use_conv_bias", "use_shared_mlp_adapter", "kv_channels",
            "num_query_groups", "use_mem_rope", "use_mem_eff_path", "attention_hidden_size",
        ),
    ),
}  # fmt: skip

# Other names of the same, and the language models within models for images, too.
ALIASES: Mapping[str, str] = {
    "baichuan": "llama", "camembert": "roberta", "cwm": "llama", "flex_olmo": "olmo2",
    "gemma3": "gemma3_text", "gemma3n": "gemma3n_text",
    "gemma4": "gemma4_text", "glm4v": "glm4", "glm4v_moe": "glm4_moe",
    "glm4v_moe_text": "glm4_moe", "glm4v_text": "glm4", "internlm": "internlm2",
    "llama4": "llama4_text", "llava": "llama", "llava_next": "llama", "minimax_m1": "minimax",
    "mistral3": "mistral", "mistral4": "deepseek_v3", "paligemma": "gemma",
    "phi4_multimodal": "phi3", "qwen2_5_omni": "qwen2",
    "qwen2_5_omni_text": "qwen2", "qwen2_5_vl": "qwen2", "qwen2_5_vl_text": "qwen2",
    "qwen2_vl": "qwen2", "qwen2_vl_text": "qwen2", "qwen3_5": "qwen3_5_text",
    "qwen3_5_moe": "qwen3_5_moe_text", "qwen3_omni_moe": "qwen3_moe",
    "qwen3_omni_moe_text": "qwen3_moe", "qwen3_vl": "qwen3", "qwen3_vl_moe": "qwen3_moe",
    "qwen3_vl_moe_text": "qwen3_moe", "qwen3_vl_text": "qwen3", "RefinedWeb": "falcon",
    "RefinedWebModel": "falcon", "xlm-roberta": "roberta", "youtu": "deepseek_v3",
}  # fmt: skip
