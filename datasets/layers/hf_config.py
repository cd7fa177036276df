"""`config.json` of Hugging Face: the dimensions of a transformer."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from boundmark.datasets.file_format import FileFormat
from boundmark.datasets.json_fields import fields_of, read_object
from boundmark.datasets.layers.transformer import Block, Latent, Transformer
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.files import naming

# Decoders with gated networks, and fields of the same names.
GATED = frozenset(
    {"llama", "mistral", "mixtral", "qwen2", "qwen3", "qwen2_moe", "qwen3_moe", "gemma", "gemma2"}
    | {"phi3", "deepseek_v2", "deepseek_v3", "olmo", "olmo2", "yi", "internlm2", "stablelm"}
)
KNOWN = (*sorted(GATED), "bert", "gpt2", "t5", "vit")

# Where files leave it out, embedding and scores share parameters in these.
TIED = frozenset({"gpt2", "gemma", "gemma2", "t5"})

_BITS = {"float16": 16, "bfloat16": 16, "float32": 32}
MOST = 2**31


def is_one(content: bytes) -> bool:
    """Whether a JSON file is such a configuration."""
    return "model_type" in fields_of(content)


def load(path: str | Path) -> Transformer:
    """Read a configuration.

    Raises
    ------
    InvalidInputError
        If the architecture is unknown, or a field is missing or is no number that makes sense.
    """
    path = Path(path)
    document = read_object(path)
    with naming(path):
        return transformer(document)


FORMAT = FileFormat("Hugging Face configuration", (".json",), load, is_one)


def transformer(document: Mapping[str, Any]) -> Transformer:
    """Return the model that a configuration describes; raises as `load` does."""
    kind = document.get("model_type")
    notes: tuple[str, ...] = ()
    if kind not in KNOWN and isinstance(document.get("text_config"), dict):
        inner = document["text_config"]
        notes = (f"of {quoted(kind)}, only the layers of text_config are read",)
        document, kind = inner, inner.get("model_type")
    if kind in GATED:
        found = _gated(document)
    elif kind == "gpt2":
        found = _gpt2(document)
    elif kind == "t5":
        found = _t5(document)
    elif kind in ("bert", "vit"):
        found = _encoder(document, kind == "vit")
    else:
        read = ", ".join(sorted(name for name in document if name.startswith(("num_", "hidden_"))))
        raise InvalidInputError(
            f"model_type is {quoted(kind)}, with the fields {read or 'none that are known'}; "
            "expected "
            f"one of {', '.join(KNOWN)}, or a table of layers (.csv)."
        )
    return found if not notes else _with_notes(found, notes)


def _with_notes(model: Transformer, notes: tuple[str, ...]) -> Transformer:
    from dataclasses import replace

    return replace(model, notes=(*model.notes, *notes))


def _number(document: Mapping[str, Any], *names: str, default: int | None = None) -> int:
    """Return the first of some fields that is there: a positive integer."""
    for name in names:
        value = document.get(name)
        if value is None:
            continue
        if type(value) is not int or not 0 < value < MOST:
            raise InvalidInputError(f"{name} is {quoted(value)}; expected a positive integer.")
        return value
    if default is None:
        raise InvalidInputError(
            f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'} missing; expected an "
            "integer."
        )
    return default


def _dtype(document: Mapping[str, Any]) -> tuple[str, float, tuple[str, ...]]:
    """Return in what a model computes, bits of a parameter, and what was taken for granted."""
    dtype = document.get("torch_dtype", document.get("dtype"))
    notes: tuple[str, ...] = ()
    if dtype is None:
        dtype = "float16"
        notes = ("the configuration has no torch_dtype; float16 is taken, or --weight-bits",)
    if dtype not in _BITS:
        raise InvalidInputError(
            f"torch_dtype is {quoted(dtype)}; expected one of {', '.join(_BITS)}."
        )
    bits = float(_BITS[dtype])
    quantised = document.get("quantization_config")
    if isinstance(quantised, dict):
        method = quantised.get("quant_method")
        if method == "fp8" or quantised.get("load_in_8bit"):
            bits = 8.0
        elif quantised.get("load_in_4bit"):
            bits = 4.0
        elif type(quantised.get("bits")) is int and 1 <= quantised["bits"] <= 32:
            bits = float(quantised["bits"])
        else:
            raise InvalidInputError(
                f"quantization_config has the method {quoted(method)} and no bits; expected "
                "bits, or "
                "--weight-bits and a configuration without it."
            )
    return dtype, bits, notes


def _gated(document: Mapping[str, Any]) -> Transformer:
    width, heads = _number(document, "hidden_size"), _number(document, "num_attention_heads")
    count = _number(document, "num_hidden_layers")
    words = _number(document, "vocab_size")
    experts = _number(
        document, "num_local_experts", "num_experts", "n_routed_experts", default=MOST
    )
    inner = _number(document, "intermediate_size")
    dense_first = document.get("first_k_dense_replace") or 0
    window = document.get("sliding_window") or 0
    if document.get("use_sliding_window") is False:
        window = 0
    latent = None
    if "kv_lora_rank" in document:
        latent = Latent(
            _number(document, "kv_lora_rank"),
            _number(document, "qk_rope_head_dim"),
            _number(document, "q_lora_rank", default=0) if document.get("q_lora_rank") else 0,
            _number(document, "qk_nope_head_dim"),
            _number(document, "v_head_dim"),
        )
    blocks = []
    for at in range(count):
        has_experts = experts != MOST and at >= dense_first
        common = 0
        if has_experts:
            each = _number(document, "moe_intermediate_size", "intermediate_size")
            common = _number(document, "shared_expert_intermediate_size", default=0)
            if document.get("n_shared_experts"):
                common = each * _number(document, "n_shared_experts")
        blocks.append(
            Block(
                name=f"model.layers.{at}",
                width=width,
                heads=heads,
                shared=_number(document, "num_key_value_heads", default=heads),
                head=_number(document, "head_dim", default=width // heads),
                inner=each if has_experts else inner,
                experts=experts if has_experts else 0,
                active=_number(document, "num_experts_per_tok") if has_experts else 0,
                common=common,
                window=window,
                latent=latent,
            )
        )
    kind = document.get("model_type")
    tied = document.get("tie_word_embeddings", kind in TIED)
    return _language(document, blocks, words, bool(tied), "model.embed_tokens", "lm_head")


def _language(
    document: Mapping[str, Any], blocks: list[Block], words: int, tied: bool, first: str, last: str
) -> Transformer:
    dtype, bits, notes = _dtype(document)
    size = words * blocks[0].width
    return Transformer(tuple(blocks), first, last, size, size, tied, bits, dtype, notes=notes)


def _gpt2(document: Mapping[str, Any]) -> Transformer:
    width, heads = _number(document, "n_embd"), _number(document, "n_head")
    inner = _number(document, "n_inner", default=4 * width)
    blocks = [
        Block(f"transformer.h.{at}", width, heads, heads, width // heads, inner, is_gated=False)
        for at in range(_number(document, "n_layer"))
    ]
    tied = bool(document.get("tie_word_embeddings", True))
    return _language(
        document, blocks, _number(document, "vocab_size"), tied, "transformer.wte", "lm_head"
    )


def _t5(document: Mapping[str, Any]) -> Transformer:
    width, heads = _number(document, "d_model"), _number(document, "num_heads")
    gated = "gated" in str(document.get("feed_forward_proj", "relu"))
    head, inner = _number(document, "d_kv"), _number(document, "d_ff")
    count = _number(document, "num_layers")

    def block(name: str, is_decoder: bool) -> Block:
        return Block(
            name, width, heads, heads, head, inner, gated,
            is_causal=is_decoder, is_crossed=is_decoder,
        )  # fmt: skip

    blocks = [block(f"encoder.block.{at}", False) for at in range(count)]
    after = _number(document, "num_decoder_layers", default=count)
    blocks += [block(f"decoder.block.{at}", True) for at in range(after)]
    tied = bool(document.get("tie_word_embeddings", True))
    model = _language(document, blocks, _number(document, "vocab_size"), tied, "shared", "lm_head")
    note = "encoder and decoder are one chain; both see `context` tokens"
    return _with_notes(model, (note,))


def _encoder(document: Mapping[str, Any], is_vision: bool) -> Transformer:
    width, heads = _number(document, "hidden_size"), _number(document, "num_attention_heads")
    inner = _number(document, "intermediate_size")
    prefix = "vit.encoder.layer" if is_vision else "bert.encoder.layer"
    blocks = tuple(
        Block(
            f"{prefix}.{at}",
            width,
            heads,
            heads,
            width // heads,
            inner,
            is_gated=False,
            is_causal=False,
        )
        for at in range(_number(document, "num_hidden_layers"))
    )
    dtype, bits, notes = _dtype(document)
    if is_vision:
        patch = _number(document, "patch_size", default=16)
        image = _number(document, "image_size", default=224)
        parameters = patch * patch * _number(document, "num_channels", default=3) * width
        return Transformer(
            blocks, "vit.embeddings", "classifier", parameters, 0, False, bits, dtype,
            context=(image // patch) ** 2 + 1, has_cache=False, notes=notes,
        )  # fmt: skip
    words = _number(document, "vocab_size") + _number(
        document, "max_position_embeddings", default=512
    )
    return Transformer(
        blocks, "bert.embeddings", "bert.pooler", words * width, width * width, False, bits, dtype,
        has_cache=False, notes=notes,
    )  # fmt: skip
