"""Recurrent mixers of Hugging Face configurations: their matrices, vectors, and what they keep.

A mixer's memory of a sequence is kept in 32 bits, whatever a model computes in, and the tokens that
its convolution still needs in the model's own type: so do transformers and SGLang; vLLM keeps
memories of Mamba in the model's type unless the configuration says otherwise, which counts here.
Sources: [MAMBA24] for the first Mamba, and the model classes; RWKV-6 and 7, which transformers does
not have, are those of https://github.com/fla-org/flash-linear-attention.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from boundmark.datasets.json_fields import Fields
from boundmark.datasets.layers.blocks import Recurrence
from boundmark.datasets.layers.families import CONVOLUTION, Family

MOST = 2**31


class Model(Protocol):
    """The configuration around a recurrence, as `hf_blocks.BlockReader` reads it."""

    fields: Fields
    family: Family
    kind: str
    biased: set[str]
    width: int
    heads: int
    head: int

    def size(self, *names: str, low: int = 1, high: int = MOST, default: int | None = None) -> int:
        """Return a dimension by one of its names."""
        ...


@dataclass(frozen=True)
class Mixer:
    """A recurrence, inputs and outputs of its matrices by name, the last one last, and vectors."""

    kept: Recurrence
    matrices: Mapping[str, tuple[int, int]]
    vectors: int


def _mamba(one: Model, at: int) -> Mixer:
    """Read Mamba-1; Jamba normalises what decides on a state, too."""
    width = one.width
    inner = one.size("mamba_expand", "expand", high=64, default=2) * width
    if one.family.is_single:
        inner = one.size("intermediate_size", "d_inner", default=inner)
    state = one.size("mamba_d_state", "state_size", default=16)
    taps = one.size("mamba_d_conv", "conv_kernel", default=4)
    rank = one.fields.value("mamba_dt_rank", "time_step_rank")
    if type(rank) is not int or not 0 < rank < MOST:
        rank = -(-width // 16)
    deciding = rank + 2 * state
    return Mixer(
        Recurrence(inner * state, inner, taps),
        {
            "mamba.in_proj": (width, 2 * inner), "mamba.x_proj": (inner, deciding),
            "mamba.dt_proj": (rank, inner), "mamba.out_proj": (inner, width),
        },
        inner * (taps + state + 2 + (CONVOLUTION in one.biased))
        + (0 if one.family.is_single else deciding),
    )  # fmt: skip


def _mamba2(one: Model, at: int) -> Mixer:
    """Read Mamba-2, whose heads share what decides on a state in groups."""
    width = one.width
    heads = one.size("mamba_n_heads", "mamba_num_heads", "n_mamba_heads", "num_heads", default=128)
    expanded = one.size("mamba_expand", "expand", high=64, default=2) * width
    head = one.fields.value("mamba_d_head", "mamba_head_dim", "mamba_headdim", "head_dim")
    inner = one.size("mamba_d_ssm", default=expanded)
    if type(head) is int and 0 < head < MOST and not one.fields.has("mamba_d_ssm"):
        inner = heads * head
    state = one.size("mamba_d_state", "ssm_state_size", "state_size", default=128)
    groups = one.size("mamba_n_groups", "n_groups", "mamba_ngroups", default=1)
    taps = one.size("mamba_d_conv", "conv_kernel", default=4)
    channels = inner + 2 * groups * state
    has_norm = one.fields.flag("mamba_rms_norm", default=one.kind != "falcon_h1")
    return Mixer(
        Recurrence(inner * state, channels, taps),
        {"mamba.in_proj": (width, inner + channels + heads), "mamba.out_proj": (inner, width)},
        3 * heads + channels * (taps + (CONVOLUTION in one.biased)) + inner * has_norm,
    )


def _delta(one: Model, at: int) -> Mixer:
    """Read a gated delta net."""
    width, heads = one.width, one.size("linear_num_value_heads", default=32)
    deep = one.size("linear_key_head_dim", default=128)
    value = one.size("linear_value_head_dim", default=128)
    taps = one.size("linear_conv_kernel_dim", default=4)
    channels = 2 * one.size("linear_num_key_heads", default=16) * deep + heads * value
    return Mixer(
        Recurrence(heads * deep * value, channels, taps),
        {
            "linear_attn.in_proj_qkv": (width, channels),
            "linear_attn.in_proj_z": (width, heads * value),
            "linear_attn.in_proj_b": (width, heads), "linear_attn.in_proj_a": (width, heads),
            "linear_attn.out_proj": (heads * value, width),
        },
        2 * heads + channels * taps + value,
    )  # fmt: skip


def _kimi(one: Model, at: int) -> Mixer:
    """Read Kimi's delta attention, whose gates have a rank as small as a head."""
    width = one.width
    inside = one.fields.object("linear_attn_config")
    if inside:
        own = Fields(inside, "linear_attn_config.")
        names = ("num_heads", "head_dim", "short_conv_kernel_size")
        heads, head, taps = (own.integer(name, low=1, high=MOST) for name in names)
    else:
        heads = one.size("linear_num_heads", default=one.heads)
        head = one.size("linear_head_dim", default=128)
        taps = one.size("linear_conv_kernel_dim", default=4)
    deep = heads * head
    return Mixer(
        Recurrence(deep * head, 3 * deep, taps),
        {
            **{f"self_attn.{name}_proj": (width, deep) for name in "qkv"},
            "self_attn.f_a_proj": (width, head), "self_attn.f_b_proj": (head, deep),
            "self_attn.g_a_proj": (width, head), "self_attn.g_b_proj": (head, deep),
            "self_attn.b_proj": (width, heads), "self_attn.o_proj": (deep, width),
        },
        heads + deep + 3 * deep * taps + head,
    )  # fmt: skip


def _short(one: Model, at: int) -> Mixer:
    """Read a convolution of few tokens between two products, as LFM2 has it."""
    width, taps = one.width, one.size("conv_L_cache", high=1024, default=3)
    return Mixer(
        Recurrence(0, width, taps),
        {"conv.in_proj": (width, 3 * width), "conv.out_proj": (width, width)},
        width * (taps + (CONVOLUTION in one.biased)),
    )


def _lightning(one: Model, at: int) -> Mixer:
    """Read linear attention with a decay for each head."""
    width, deep = one.width, one.heads * one.head
    return Mixer(
        Recurrence(deep * one.head),
        {
            "self_attn.qkv_proj": (width, 3 * deep), "self_attn.output_gate": (width, deep),
            "self_attn.out_proj": (deep, width),
        },
        deep,
    )  # fmt: skip


def _gated_linear(one: Model, at: int) -> Mixer:
    """Read RecurrentGemma's real-gated unit, with a block of each gate's matrix for each head."""
    width = one.width
    inner, taps = one.size("lru_width", default=width), one.size("conv1d_width", default=4)
    each = inner // one.heads
    return Mixer(
        Recurrence(inner, inner, taps),
        {
            "temporal_block.linear_y": (width, inner), "temporal_block.linear_x": (width, inner),
            "temporal_block.rg_lru.input_gate": (each, inner),
            "temporal_block.rg_lru.recurrent_gate": (each, inner),
            "temporal_block.linear_out": (inner, width),
        },
        inner * (taps + 2),
    )  # fmt: skip


def _rwkv6(one: Model, at: int) -> Mixer:
    """Read RWKV-6; the network, too, sees the token before."""
    width, head = one.width, one.size("head_size", "head_dim", default=64)
    # As the model's code has it, which knows one width that is large.
    mixing, decaying = (64, 128) if width == 4096 else (32, 64)
    own = "attention."
    return Mixer(
        Recurrence(width * head, 2 * width, 2),
        {
            **{f"{own}{name}": (width, width) for name in ("receptance", "key", "value", "gate")},
            f"{own}time_maa_w1": (width, 5 * mixing), f"{own}time_maa_w2": (mixing, 5 * width),
            f"{own}time_decay_w1": (width, decaying), f"{own}time_decay_w2": (decaying, width),
            "feed_forward.receptance": (width, width), f"{own}output": (width, width),
        },
        # Mixing, decay, bonus, and the normalisation of heads; the first layer has one before it.
        12 * width + 2 * width * (at == 0),
    )  # fmt: skip


def _rwkv7(one: Model, at: int) -> Mixer:
    """Read RWKV-7; the first layer has no values to mix with, and one normalisation more."""
    width, head = one.width, one.size("head_dim", default=64)
    usual = {"decay": 64, "a": 64, "gate": 128, "v": 32}
    ranks = {key: one.size(f"{key}_low_rank_dim", default=rank) for key, rank in usual.items()}
    if at == 0:
        del ranks["v"]
    own = "attn."
    return Mixer(
        Recurrence(width * head, 2 * width, 2),
        {
            **{f"{own}{name}_proj": (width, width) for name in "rkv"},
            **{f"{own}{key}_lora.0": (width, rank) for key, rank in ranks.items()},
            **{f"{own}{key}_lora.2": (rank, width) for key, rank in ranks.items()},
            f"{own}o_proj": (width, width),
        },
        # Mixing, keys and bonus, biases of three or two ranks, and a normalisation.
        width * (6 + 3 + len(ranks) - 1 + 2 + 1) + 2 * width * (at == 0),
    )  # fmt: skip


MIXERS: Mapping[str, Callable[[Model, int], Mixer]] = {
    "mamba": _mamba, "mamba2": _mamba2, "delta": _delta, "kimi": _kimi, "short": _short,
    "lightning": _lightning, "gated linear": _gated_linear, "rwkv6": _rwkv6, "rwkv7": _rwkv7,
}  # fmt: skip
