"""`config.json` of Hugging Face: a transformer's layers, its weights as stored, and its cache.

`families` says what a family's configurations leave unsaid. One that is not there is refused unless
the user says as which other one it is read. Fields that change what a block has, and are not
understood, are refused; others that are not used and not known to be harmless are named in a note.

Of a model for images or sound, too, the language model is read; a vision tower counts as memory
beside the embedding, by its dimensions.

Headers of safetensors files beside a configuration say the true bytes of the model's tensors. Their
format is that of https://github.com/huggingface/safetensors: eight bytes with the length of a JSON
header, which has type, shape and place of each tensor. Nothing behind it is read.
"""

import difflib
import re
import struct
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from boundmark.datasets.file_format import FileFormat
from boundmark.datasets.json_fields import Fields, fields_of, read_object
from boundmark.datasets.layers.blocks import Attention, Block, Matrix, Outer
from boundmark.datasets.layers.families import ALIASES, FAMILIES, Family
from boundmark.datasets.layers.families import SCORES as OF_SCORES
from boundmark.datasets.layers.hf_blocks import (
    ACTIVATIONS,
    ELEMENT_BYTES,
    MOST,
    TABLE_HINT,
    BlockReader,
)
from boundmark.datasets.layers.quantisation import SCORES
from boundmark.datasets.layers.transformer import USUAL_CONTEXT, Transformer
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.files import naming, opened
from boundmark.problems.json_documents import json_object
from boundmark.problems.layers import LayerFacts, LayerModel, Workload
from boundmark.problems.layers.chain import MOST_LAYERS
from boundmark.problems.layers.model import USUAL

# Where the language model of a model for more is described, and what else may be beside it.
_INNER = ("text_config", "llm_config", "language_config", "thinker_config")
_TOWER = "vision_config"

# Fields that change neither work nor memory, as whole names.
_HARMLESS = re.compile(
    r"_.*|architectures|attn_implementation|auto_map|torchscript|transformers_version|model_type"
    r"|.*_token(_id|_ids|_index|s_per_image)?|(eos|bos|pad|sep|mask|cls)_.*|.*vocab_size_.*"
    r"|.*dropout.*|.*drop_prob|.*_pdrop|.*eps(ilon)?|initializer_.*|init_.*|.*_range|.*_std"
    r"|use_(cache|return_dict|mamba_kernels|associative_scan|mambapy|routing_bias)"
    r"|rope.*|rotary.*|.*rope_(theta|scaling|freq|dim|type|interleave|parameters)|partial_rotary.*"
    r"|original_max_position_embeddings|max_position_embeddings|max_seq(uence)?_len(gth)?|seq_length"
    r"|n_positions|n_ctx|no_rope_layer.*|.*softcap.*|.*_multipliers?|.*scal(e|ar|ing|e_.*)|logits_.*|linear_(a_log|allow|dt).*"
    r"|norm_.*|topk_.*|indexer_rope.*|n_group|num_expert_group|model_max_length|router_.*|scoring_func|aux_loss_alpha|seq_aux|ep_size|moe_norm_min"
    r"|moe_(renormalize|use_aux_free|capacity|aux.*|z_loss.*|gate.*|router.*|group.*|device.*)"
    r"|attn_(temperature_tuning|config|logit.*|scale)|floor_scale|for_llm_compressor|swiglu_.*"
    r"|layer_norm.*|layernorm.*|norm_type|rms_norm.*|add_(cross_attention|swish.*)|is_(enc|dec).*"
    r"|chunk_size_feed_forward|cross_attention_hidden_size|decoder_start.*|do_sample|early_stopping"
    r"|exponential_.*|finetuning_task|forced_.*|id2label|label2id|length_penalty|max_length"
    r"|min_length|no_repeat.*|num_(beam.*|labels|return.*|logits.*)|output_.*|prefix|problem_type"
    r"|pruned_heads|remove_invalid.*|repetition_.*|return_.*|suppress_.*|task_specific.*"
    r"|temperature|tf_legacy.*|top_[kp]|typical_p|use_bfloat16|summary_.*|gradient_checkpointing"
    r"|position_embedding_type|type_vocab_size|classifier_.*|query_pre_attn_scalar|pretraining_tp"
    r"|image_.*|video_.*|vision_.*|multimodal_.*|mm_.*|projector_.*|spatial_merge_size"
    r"|alibi|apply_res.*|layerdrop|scale_.*|reorder_.*|attention_softmax.*|clip_qkv"
    r"|mup_.*|dim_model_base|cache_implementation|routed_scaling_factor"
    r"|tokenizer_class|head_dim_total|qk_head_dim|zero_.*|log.*_interval"
    r"|(mamba_)?chunk_size|altup_.*|activation_sparsity.*|normalization_function|time_step_.*|residual_in_fp32|rescale_.*"
    r"|mtp_.*|use_mtp|final_.*|pooler_.*|encoder_stride|num_key_value_groups|tie_.*"
)  # fmt: skip

# Fields that change what a block has, beside its matrices; each family has those of its own.
_OF_BLOCKS = re.compile(
    r"(.*_)?bias(es)?|.*bias_(term|enabled)|(use|add|with|enable|has)_.*bias.*|.*gated.*|.*glu"
    r"|.*q_?k_?(v_)?(layer_?)?norm.*|(pre|post|sandwich).*_?norm.*|.*affine.*|.*_act(ivation)?(_fn)?"
    r"|(use_)?parallel_(attn|residual).*|num_ln_.*|.*activation_(fn|function)|act_.*|ffn_act.*"
)

# Fields that cost something wherever they are; a family that the user names may have none of these.
_COSTLY = re.compile(
    r".*(expert|moe|mamba|ssm|lora|conv|linear_|state|window|chunk|layer_types|block_config|nextn"
    r"|mtp|altup|laurel|per_layer|cross|encoder|codebook|rnn|lru|hybrid|index_|sparse|ngram|loop"
    r"|depth|num_.*layers|rank|compress|kernel).*"
)


def is_one(content: bytes) -> bool:
    """Whether a JSON file is such a configuration."""
    return "model_type" in fields_of(content)


def load(path: str | Path) -> LayerModel:
    """Read a configuration, and the bytes of weights in safetensors files beside it.

    Raises
    ------
    InvalidInputError
        If a part is not understood, or a field is missing or makes no sense. A model whose family
        is not known raises it when it is used, unless the user names one.
    """
    path = Path(path)
    document = read_object(path)

    def read(family: str) -> Transformer:
        with naming(path):
            model = transformer(document, family)
            if path.name != "config.json":
                return model
            return with_stored_sizes(model, path.parent)

    with naming(path):
        kind = _inner(document)[1]
    return read("") if _family(kind) or kind == T5 else UnknownFamily(kind, read)


T5 = "t5"


@dataclass(frozen=True, eq=False)
class UnknownFamily(LayerModel):
    """A model of a family that is not known, which can be read as another one.

    Attributes
    ----------
    kind
        What it is called.
    read
        Returns the model, read as of a known family.
    """

    kind: str
    read: Callable[[str], Transformer]

    def read_as(self, family: str) -> LayerModel:
        """Return the model, read as of a family, which the user has to name."""
        return self.read(family)

    def describe(self, workload: Workload = USUAL) -> dict[str, str]:
        """Return its family."""
        return {"family": f"{quoted(self.kind)}, which is not known"}

    def layers(self, workload: Workload) -> tuple[LayerFacts, ...]:
        """Refuse the model."""
        return self.read("").layers(workload)


FORMAT = FileFormat(
    "Hugging Face configuration", (".json",), load, is_one,
    families={
        name: tuple(sorted(one for one, own in ALIASES.items() if own == name)) for name in FAMILIES
    },
)  # fmt: skip


def _inner(document: Mapping[str, Any]) -> tuple[Fields, str, str]:
    """Return the fields of a language model, its family, and that of the whole."""
    outer = Fields(document)
    kind = outer.text("model_type")
    inner = next((document[name] for name in _INNER if isinstance(document.get(name), dict)), None)
    if inner is None or kind == T5:
        return outer, kind, kind
    around = [document]
    if isinstance(inner.get("text_config"), dict):
        around, inner = [document, inner], inner["text_config"]
    # What both may say is said outside.
    shared = ("quantization_config", "torch_dtype", "dtype", "tie_word_embeddings", _TOWER)
    said = {k: one[k] for one in around for k in shared if one.get(k) is not None}
    merged = {**said, **inner}
    fields = Fields(merged)
    # Some write the family with the language model, some leave it to the whole.
    text_kind = fields.text("model_type", default=kind)
    if not _family(text_kind):
        text_kind = text_kind if text_kind != kind else f"{kind}_text"
    return fields, text_kind, kind


def transformer(document: Mapping[str, Any], family: str = "") -> Transformer:
    """Return the model that a configuration describes, read as of a family if one is given.

    Raises as `load` does, and if its own family is not known and none is given.
    """
    fields, kind, whole = _inner(document)
    if family and not _family(family):
        near = difflib.get_close_matches(family, _KNOWN, n=1, cutoff=0)[0]
        raise InvalidInputError(
            f"family is {quoted(family)}; expected one that `boundmark datasets families` lists, "
            f"such as {near}."
        )
    is_nested = fields.document is not document
    try:
        model = _read(fields, family or kind, whole, is_nested, is_guess=bool(family))
    except InvalidInputError as error:
        message = str(error.args[0])
        if TABLE_HINT not in message:
            raise
        raise InvalidInputError(message + _table(fields)) from error
    if not is_nested:
        return model
    # An omni model's thinker may hear, too.
    inner = (document[one] for one in _INNER if isinstance(document.get(one), dict))
    within: Mapping[str, Any] = next(inner, {})
    others = [one for one in (*document, *within) if one.endswith("_config") and one not in _INNER]
    others = [name for name in others if name not in (_TOWER, "quantization_config")]
    notes = [f"of {quoted(whole)}, the language model is read"]
    if others:
        notes.append(f"what {', '.join(others)} describe is not counted")
    return replace(model, notes=(*model.notes, *notes))


_KNOWN = {*FAMILIES, *ALIASES}


def _family(kind: str) -> Family | None:
    return FAMILIES.get(ALIASES.get(kind, kind))


def _read(
    fields: Fields, kind: str, whole: str, is_nested: bool = False, is_guess: bool = False
) -> Transformer:
    """Return the model of a configuration, or of the part of one that is a language model."""
    found = _family(kind)
    if kind == T5:
        model, notes = _t5(fields), ["encoder and decoder are one chain; both see `context` tokens"]
    elif found is None:
        raise InvalidInputError(
            f"model_type is {quoted(kind)}, and what its layers have is not known here; "
            f"{_nearest(fields, kind, whole, is_nested)} Otherwise expected {TABLE_HINT}."
        )
    else:
        reader = _ModelReader(
            fields, found, ALIASES.get(kind, kind) if is_guess else kind, is_nested, whole
        )
        model, notes = reader.model(), reader.notes
    unused = [name for name in fields.unused() if not _is_nothing(fields.document[name])]
    unused = [name for name in unused if not _HARMLESS.fullmatch(name)]
    for name in unused:
        if _OF_BLOCKS.fullmatch(name) or (is_guess and _COSTLY.fullmatch(name)):
            raise InvalidInputError(
                f"{name} is {quoted(fields.document[name])}, which changes what a layer has; "
                f"families such as {quoted(kind)} are read without it. Expected {TABLE_HINT}."
            )
    if unused:
        notes.append(f"not used, and not known to be harmless: {', '.join(sorted(unused))}")
    if is_guess:
        notes.append(f"model_type {quoted(fields.document.get('model_type', whole))} is not known")
    return replace(model, kind=whole, notes=(*notes, *model.notes))


# Families whose reading of an unknown configuration is tried, by how alike the names are.
_TRIED = 8


def _nearest(fields: Fields, kind: str, whole: str, is_nested: bool) -> str:
    """Return what to do if an unknown family is one that is known: the nearest that can be read."""
    near = difflib.get_close_matches(kind, FAMILIES, n=_TRIED, cutoff=0.7)
    for name in dict.fromkeys((*near, "llama", "qwen3_moe", "deepseek_v3")):
        try:
            _read(Fields(fields.document), name, whole, is_nested, is_guess=True)
        except InvalidInputError:
            continue
        return f"if it is the same as in {name}, the nearest that has its fields: --family {name}."
    return "no family that `boundmark datasets families` lists has its fields."


def _table(fields: Fields) -> str:
    """Return a table of layers to begin with: a dense Llama of this model's size, in ten lines."""
    given = {}
    for name, others in _SIZES.items():
        value = next((fields.document[one] for one in (name, *others) if fields.has(one)), 0)
        given[name] = value if type(value) is int and 0 < value < MOST else 0
    width, count, words = (
        given[name] for name in ("hidden_size", "num_hidden_layers", "vocab_size")
    )
    if not width or not 0 < count <= MOST_LAYERS - 2:
        return ""
    heads = given["num_attention_heads"] or max(1, width // 128)
    keys = (given["num_key_value_heads"] or heads) * (given["head_dim"] or max(1, width // heads))
    parameters = 2 * width * (width + keys) + 3 * width * (given["intermediate_size"] or 4 * width)
    groups = min(count, _GROUPS)
    rows = ["layer,weights,held,output,flops,bytes", _row("embed", words * width, 0, width, 0)]
    for at in range(groups):
        first, last = count * at // groups, count * (at + 1) // groups - 1
        each = last - first + 1
        name = f"block{first}" if each == 1 else f"block{first}-{last}"
        rows.append(_row(name, each * parameters, each * 2 * keys, width, each * parameters))
    rows.append(_row("head", words * width, 0, 0, words * width))
    return (
        f"\nBegin with this one, of a dense Llama of its {count:,} layers in 16 bits, for "
        f"{USUAL_CONTEXT:,} tokens, and put in what it really has:\n" + "\n".join(rows)
    )


# Rows of an example between the header with the embedding, and the scores.
_GROUPS = 7

_SIZES: Mapping[str, tuple[str, ...]] = {
    "hidden_size": ("n_embd", "n_embed", "d_model", "dim"), "vocab_size": (), "head_dim": (),
    "num_hidden_layers": ("n_layer", "num_layers", "n_layers"),
    "num_attention_heads": ("n_head", "num_heads", "n_heads"), "num_key_value_heads": (),
    "intermediate_size": ("ffn_dim", "n_inner", "ffn_hidden_size", "hidden_dim"),
}  # fmt: skip


def _row(name: str, parameters: int, cached: int, width: int, met: int) -> str:
    """Return a row of a table of layers: numbers in 16 bits."""
    weights, held = 2 * parameters, 2 * USUAL_CONTEXT * cached
    moved = (weights if met else 2 * width) + held
    return f"{name},{weights},{held},{2 * width},{2 * met},{moved}"


def _is_nothing(value: Any) -> bool:
    """Whether a field that is not used says that there is nothing."""
    return value is None or value is False or value in (0, "", [], {})


class _ModelReader(BlockReader):
    """Reads what is around the blocks, too."""

    def model(self) -> Transformer:
        """Return the model."""
        fields = self.fields
        words = self.size(
            "padded_vocab_size", "vocab_size", low=0 if self.kind == "vit" else 1, default=0
        )
        if not words and self.kind != "vit":
            raise InvalidInputError("vocab_size is missing; expected an integer from 1.")
        tied = fields.flag("tie_word_embeddings", default=self.family.is_tied)
        blocks = tuple(self.block(at) for at in range(self.layers))
        coming = fields.integer("num_nextn_predict_layers", low=0, high=64, default=0)
        predicting = tuple(self.predicting(at) for at in range(coming))
        if coming:
            self.notes.append(
                f"{coming} layer{'s' * (coming > 1)} of multi-token prediction "
                f"{'are' if coming > 1 else 'is'} part of training only"
            )
        for name in ("num_mtp_modules", "mtp_num_hidden_layers", "num_mtp_layers"):
            if more := fields.integer(name, low=0, high=64, default=0):
                coming += more
                self.notes.append(f"multi-token prediction, {name}, is left out")
        first, last, context = self._outer(words, tied)
        bits = self.quantised.cache_bits if self.quantised else 0
        return Transformer(
            blocks, first, last, tied and self.family.has_cache, self.dtype, predicting, bits,
            context, self.family.has_cache, coming=coming,
            beside=self.beside(),
        )  # fmt: skip

    def _outer(self, words: int, tied: bool) -> tuple[Outer, Outer, int]:
        """Return embedding and scores, and the tokens of an image."""
        family, width = self.family, self.width
        last_vectors = self.last_norms * width + (words if OF_SCORES in self.biased else 0)
        first_vectors = family.first_norms * width
        context, rows, scores = 0, words, words
        if self.kind == "vit":
            patch = self.size("patch_size", default=16)
            image = self.size("image_size", default=224)
            channels = self.size("num_channels", default=3)
            context = (image // patch) ** 2 + 1
            # With biases, a position for each patch and the class, and the class itself.
            first = patch * patch * channels * width + (context + 2) * width
            end = Outer(self.names.scores, 0, last_vectors, last_vectors * self.element)
            return Outer(self.names.embedding, 0, first, first * self.element), end, context
        if family.positions is not None:
            rows += family.positions + self.size(
                "max_position_embeddings", "n_positions", "n_ctx", default=512
            )
            rows += self.size("type_vocab_size", low=0, default=0)
        embed = self.size("word_embed_proj_dim", "embedding_size", default=width)
        if embed == width:
            first = rows * width + first_vectors
        else:
            first = rows * embed + family.first_norms * embed + (embed + 1) * width
        if not family.has_cache:
            pooled = width * width if family.has_pooler else 0
            total = pooled + width * family.has_pooler + last_vectors
            end = Outer(self.names.scores, pooled, total, total * self.element)
            return Outer(self.names.embedding, 0, first, first * self.element), end, context
        if embed != width:
            raise InvalidInputError(
                f"word_embed_proj_dim is {embed}; expected hidden_size, {width}, or {TABLE_HINT}."
            )
        size = self.stored(self.names.scores, SCORES, width, scores)
        tower = self._tower(width)
        if self.inputs:
            # Each layer's own input has rows of words, a matrix, and a normalisation of each.
            words = self.size("vocab_size_per_layer_input", default=words)
            first += (words + width) * self.inputs + self.inputs // self.layers
        # One stream becomes several, and they one again.
        first += (self.streams - 1) * width * width
        last_vectors += (self.streams - 1) * width * width
        start = Outer(self.names.embedding, 0, first + tower, (first + tower) * self.element)
        if tied:
            size = scores * width * self.element
        return start, Outer(
            self.names.scores, scores * width, scores * width + last_vectors,
            size + last_vectors * self.element, size,
        ), context  # fmt: skip

    def _tower(self, width: int) -> int:
        """Return the parameters of a vision tower and its projector, by its dimensions."""
        document = self.fields.document.get(_TOWER)
        self.fields.skip(_TOWER)
        if not isinstance(document, dict):
            return 0
        one = Fields(document, f"{_TOWER}.")
        wide = one.integer("hidden_size", "embed_dim", low=0, high=MOST, default=0)
        count = one.integer("num_hidden_layers", "depth", low=0, high=MOST_LAYERS, default=0)
        if not wide or not count:
            self.notes.append("the vision tower has no dimensions here and is not counted")
            return 0
        deep = one.integer("intermediate_size", low=0, high=MOST, default=0) or 4 * wide
        is_gated = one.text("model_type", default="") in ("pixtral", "qwen2_5_vl") or (
            self.whole.startswith("qwen2_5")
        )
        block = 4 * wide * wide + (3 if is_gated else 2) * wide * deep
        total = count * block + wide * width + width * width
        self.notes.append(
            f"the vision tower, {total / 1e9:.2f} billion parameters by its dimensions, is with "
            "the embedding; images cost memory and no time here"
        )
        return total


def _t5(fields: Fields) -> Transformer:
    """Return T5: an encoder and a decoder, in a row."""
    width = fields.integer("d_model", low=1, high=MOST)
    heads = fields.integer("num_heads", low=1, high=MOST)
    head, inner = (fields.integer(name, low=1, high=MOST) for name in ("d_kv", "d_ff"))
    count = fields.integer("num_layers", low=1, high=MOST_LAYERS // 4)
    after = fields.integer("num_decoder_layers", low=1, high=MOST_LAYERS // 4, default=count)
    words = fields.integer("vocab_size", low=1, high=MOST)
    form = fields.text("feed_forward_proj", default="relu")
    gated, activation = form.startswith("gated-"), form.removeprefix("gated-")
    if activation not in ACTIVATIONS:
        raise InvalidInputError(
            f"feed_forward_proj is {quoted(form)}; expected one of "
            f"{', '.join(sorted(ACTIVATIONS))}, with or without gated- before it."
        )
    fields.skip(
        "is_gated_act",
        "dense_act_fn",
        "relative_attention_num_buckets",
        "relative_attention_max_distance",
    )
    dtype = fields.text("torch_dtype", "dtype", default="float32")
    if dtype not in ELEMENT_BYTES:
        raise InvalidInputError(
            f"torch_dtype is {quoted(dtype)}; expected one of {', '.join(ELEMENT_BYTES)}."
        )
    element, deep = ELEMENT_BYTES[dtype], heads * head

    def block(name: str, is_decoder: bool) -> Block:
        def matrix(own: str, inputs: int, outputs: int) -> Matrix:
            return Matrix(own, inputs, outputs, inputs * outputs * element)

        attentions = ("SelfAttention", "EncDecAttention")[: 1 + is_decoder]
        projections = [
            matrix(f"{own}.{letter}", *((deep, width) if letter == "o" else (width, deep)))
            for own in attentions
            for letter in "qkvo"
        ]
        ends = ("wi_0", "wi_1") if gated else ("wi",)
        network = [matrix(own, width, inner) for own in ends] + [matrix("wo", inner, width)]
        mixer = Attention(heads, heads, head, head, is_causal=is_decoder, is_crossed=is_decoder)
        norms = (3 if is_decoder else 2) * width
        return Block(
            name, width, mixer, tuple(projections), tuple(network), inner, norms, norms * element
        )

    blocks = [block(f"encoder.block.{at}", False) for at in range(count)]
    blocks += [block(f"decoder.block.{at}", True) for at in range(after)]
    tied = fields.flag("tie_word_embeddings", default=True)
    size = words * width
    return Transformer(
        tuple(blocks), Outer("shared", 0, size, size * element),
        Outer("lm_head", size, size, size * element, size * element), tied, dtype,
    )  # fmt: skip


INDEX = "model.safetensors.index.json"

LONGEST_HEADER = 2**28
MOST_FILES = 10_000

_LAYER = re.compile(r"(?:^|.*?\.)(?:layers|layer|h|block|blocks)\.(\d{1,6})\.(.*)")
_OF_EMBEDDING = re.compile(
    r"(^|.*\.)(embed_tokens(_per_layer)?|embed_in|wte|wpe|embed_positions|shared|.*embeddings)\b.*"
)
_OF_TOWER = re.compile(r"(^|.*\.)(vis(ion|ual)|multi_modal_projector|mm_projector|image_).*")

# Parts of a layer whose bytes are known apart.
_EXPERTS, _NETWORK, _PROJECTIONS, _VECTORS = "experts", "network", "projections", "vectors"


def with_stored_sizes(model: Transformer, folder: Path) -> Transformer:
    """Return the model with the bytes that the folder's files have, if it has any."""
    files, missing = _files(folder)
    if missing and files:
        raise InvalidInputError(
            f"{INDEX} lists {', '.join(missing[:3])}, which {'is' if len(missing) == 1 else 'are'} "
            "not there; expected all files of the model, or none."
        )
    if not files:
        return model
    sizes: dict[int, Counter[str]] = {at: Counter() for at in range(len(model.blocks))}
    first = tower = last = 0
    for path in files:
        with naming(path):
            for name, (shape, size) in _header(path).items():
                match = None if _OF_TOWER.fullmatch(name) else _LAYER.fullmatch(name)
                if match is not None:
                    if int(match[1]) in sizes:
                        sizes[int(match[1])][_part(match[2], shape)] += size
                elif _OF_TOWER.fullmatch(name):
                    tower += size
                elif _OF_EMBEDDING.fullmatch(name):
                    first += size
                else:
                    last += size
    for at, found in sizes.items():
        if not found:
            raise InvalidInputError(
                f"the files have no tensor of layer {at}; expected tensors of all "
                f"{len(model.blocks)} layers, in files that {INDEX} lists."
            )
    blocks = tuple(_with_sizes(block, sizes[at]) for at, block in enumerate(model.blocks))
    matrix = min(first, last)
    if model.is_tied and last < model.last.multiplied:
        last, matrix = last + first, first
    return replace(
        model,
        blocks=blocks,
        first=replace(model.first, size=first + tower),
        last=replace(model.last, size=last, matrix_size=matrix),
        notes=(*model.notes, f"bytes of weights are those of {len(files)} safetensors files"),
    )


def _files(folder: Path) -> tuple[list[Path], list[str]]:
    """Return the files of a folder's model, and those that are listed and not there."""
    index = folder / INDEX
    if not index.exists():
        return sorted(folder.glob("*.safetensors"))[:MOST_FILES], []
    with naming(index):
        listed = read_object(index).get("weight_map")
        if not isinstance(listed, dict) or not all(isinstance(one, str) for one in listed.values()):
            raise InvalidInputError("weight_map is no object of texts; expected a file by tensor.")
        names = sorted(set(listed.values()))
        if any(Path(name).name != name for name in names):
            raise InvalidInputError("weight_map names files elsewhere; expected files beside it.")
    found = [folder / name for name in names if (folder / name).exists()]
    return found, [name for name in names if not (folder / name).exists()]


def _header(path: Path) -> Mapping[str, tuple[int, int]]:
    """Return the number of dimensions and the bytes of each tensor."""
    with opened(path, "a safetensors file") as file:
        start = file.read(8)
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
        if not 2 <= length <= LONGEST_HEADER:
            raise InvalidInputError(
                f"its header has {length:,} bytes; expected a safetensors file, with 2 to 2^28."
            )
        text = file.read(length)
    if len(text) != length:
        raise InvalidInputError("it ends within its header; expected a whole file.")
    with naming("its header"):
        document = json_object(text)
    return {name: _tensor(name, one) for name, one in document.items() if name != "__metadata__"}


def _tensor(name: str, document: Any) -> tuple[int, int]:
    shape = document.get("shape") if isinstance(document, dict) else None
    places = document.get("data_offsets") if isinstance(document, dict) else None
    is_pair = isinstance(places, list) and len(places) == 2
    if (
        not isinstance(shape, list)
        or not isinstance(places, list)
        or not is_pair
        or not all(type(one) is int and 0 <= one < 2**60 for one in places)
        or places[1] < places[0]
    ):
        raise InvalidInputError(
            f"tensor {quoted(name)} is {quoted(document)}; expected shape and data_offsets."
        )
    return len(shape), places[1] - places[0]


def _part(name: str, dimensions: int) -> str:
    if ".experts." in f".{name}":
        return _EXPERTS
    if dimensions < 2:
        return _VECTORS
    is_network = name.startswith(
        ("mlp.", "feed_forward.", "block_sparse_moe.", "fc", "intermediate")
    )
    return _NETWORK if is_network else _PROJECTIONS


def _with_sizes(block: Block, sizes: Counter[str]) -> Block:
    """Return a block whose parts have these bytes, divided in proportion to what was expected."""
    experts = [one for one in block.network if one.copies > 1]
    others = [one for one in block.network if one.copies == 1]
    scaled = {
        id(one): _scaled(one, part, sizes[name])
        for name, part in (
            (_EXPERTS, experts), (_NETWORK, others), (_PROJECTIONS, block.projections),
        )
        for one in part
    }  # fmt: skip
    # What belongs to a part that the configuration does not have is kept all the same.
    rest = sizes[_VECTORS] + sum(
        sizes[name]
        for name, part in (
            (_EXPERTS, experts),
            (_NETWORK, others),
            (_PROJECTIONS, block.projections),
        )
        if not part
    )
    return replace(
        block,
        projections=tuple(scaled[id(one)] for one in block.projections),
        network=tuple(scaled[id(one)] for one in block.network),
        vector_size=rest,
    )


def _scaled(matrix: Matrix, part: "list[Matrix] | tuple[Matrix, ...]", size: int) -> Matrix:
    total = sum(one.size for one in part)
    before = sum(one.size for one in part[: part.index(matrix)])
    # Differences of rounded sums add up to the whole.
    share = size * (before + matrix.size) // total - size * before // total
    return replace(matrix, size=share)
