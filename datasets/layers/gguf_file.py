"""Headers of GGUF files: a model's matrices as they are quantised, and its dimensions.

The format is that of https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, version 3 (and 2):
little-endian; metadata, then names, shapes and types of tensors. Nothing behind them is read. Which
layers have a window is what llama.cpp takes for the architecture (`set_swa_pattern` in
src/llama-model.cpp), if the file does not say.
"""

import math
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

from boundmark.datasets.file_format import FileFormat
from boundmark.datasets.json_fields import Fields
from boundmark.datasets.layers.blocks import Attention, Block, Latent, Matrix, Outer, Recurrence
from boundmark.datasets.layers.families import FAMILIES, Family
from boundmark.datasets.layers.hf_blocks import SHARED_CACHE, TABLE_HINT
from boundmark.datasets.layers.transformer import Transformer
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.files import naming, opened
from boundmark.problems.layers.chain import MOST_LAYERS

MAGIC = b"GGUF"

# The kind of content that files of before 2024 all have, without saying so.
MODEL = "model"

# Other kinds, by general.type.
_CONTENTS = {
    "adapter": "an adapter (LoRA), which is added to a model",
    "mmproj": "the projector of a model for images or sound",
    "imatrix": "an importance matrix, which quantisation uses",
    "vocab": "a vocabulary only",
}

# More is no header that anybody has written; tokens, their scores and merges are a million values.
MOST_ENTRIES = 2**20
MOST_VALUES = 2**22
LARGEST_HEADER = 2**26
MOST_PARTS = 99999
MOST_ELEMENTS = 2**48
MOST = 2**31

_SCALARS = {
    0: "B",
    1: "b",
    2: "H",
    3: "h",
    4: "I",
    5: "i",
    6: "f",
    7: "?",
    10: "Q",
    11: "q",
    12: "d",
}
_TEXT, _ARRAY = 8, 9

# Elements and bytes of a block, by number of the type.
BLOCKS = {
    0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34),
    9: (32, 36), 10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210),
    15: (256, 292), 16: (256, 66), 17: (256, 74), 18: (256, 98), 19: (256, 50), 20: (32, 18),
    21: (256, 110), 22: (256, 82), 23: (256, 136), 24: (1, 1), 25: (1, 2), 26: (1, 4), 27: (1, 8),
    28: (1, 8), 29: (256, 56), 30: (1, 2), 34: (256, 54), 35: (256, 66), 39: (32, 17),
    40: (64, 36), 41: (128, 18),
}  # fmt: skip


def load(path: str | Path) -> Transformer:
    """Read a header, or those of all parts of a model in several files.

    Raises
    ------
    InvalidInputError
        If it is none, ends too early, has an unknown type of tensor, lacks a dimension or a part,
        or a layer has no tensors.
    """
    path = Path(path)
    with naming(path):
        facts, tensors = _header(path)
        for part in _other_parts(path, facts):
            tensors |= _header(part)[1]
        return _Reader(facts, tensors).model()


FORMAT = FileFormat("GGUF", (".gguf",), load)

# Fields that say nothing that tensors do not, or change neither work nor memory.
_HARMLESS = re.compile(
    r"context_length|vocab_size|(expert_)?(shared_)?feed_forward_length|rope\..*|.*norm.*|pooling_type"
    r"|attention\.(key|value)_length.*|attention\.(kv|q)_lora_rank|attention\.(causal|scale)"
    r"|attention\.(clamp.*|max_alibi.*|temperature.*|output_scale)|expert_(weights|gating|group).*"
    r"|expert_shared.*|(leading_dense|interleave_moe).*|.*softcap.*|.*_scale|use_parallel_residual"
    r"|tensor_data_layout|ssm\.time_step_rank|ssm\.dt_b_c_rms|embedding_length.*|classifier.*"
)

_STATE_BITS = 32

PART = re.compile(r"(.*)-(\d{5})-of-(\d{5})\.gguf", re.IGNORECASE)


@dataclass(frozen=True)
class Stored:
    """A tensor of a file: its dimensions, the one that is contiguous first, and its bytes."""

    shape: tuple[int, ...]
    size: int

    @property
    def elements(self) -> int:
        """Number of its elements."""
        return math.prod(self.shape)


def _header(path: Path) -> tuple[dict[str, Any], dict[str, Stored]]:
    with opened(path, "a GGUF file") as file:
        return read_header(file)


def _other_parts(path: Path, facts: Mapping[str, Any]) -> list[Path]:
    """Return the files that have the rest of a model."""
    count = facts.get("split.count", 1)
    if type(count) is not int or not 0 <= count <= MOST_PARTS:
        raise InvalidInputError(
            f"split.count is {quoted(count)}; expected an integer up to {MOST_PARTS}."
        )
    if count < 2:
        return []
    match = PART.fullmatch(path.name)
    if match is None or int(match[3]) != count:
        raise InvalidInputError(
            f"it is a part of {count} files; expected a name such as "
            f"model-00001-of-{count:05}.gguf, and the others beside it."
        )
    names = [path.with_name(f"{match[1]}-{at:05}-of-{count:05}.gguf") for at in range(1, count + 1)]
    missing = [one.name for one in names if not one.exists()]
    if missing:
        raise InvalidInputError(
            f"it is a part of {count} files, and {', '.join(missing[:3])} "
            f"{'is' if len(missing) == 1 else 'are'} not there; expected all of them beside it."
        )
    if path != names[0]:
        raise InvalidInputError(f"it is a later part of a model; expected {names[0].name}.")
    return names[1:]


def read_header(file: BinaryIO) -> tuple[dict[str, Any], dict[str, Stored]]:
    """Return the metadata and the tensors; raises as `load` does."""
    if file.read(len(MAGIC)) != MAGIC:
        raise InvalidInputError("it does not begin with 'GGUF'; expected a GGUF file.")
    version, tensors, entries = _unpack(file, "<IQQ")
    if version in (2 << 24, 3 << 24):
        raise InvalidInputError("its numbers are big-endian; expected a little-endian GGUF file.")
    if version not in (2, 3):
        raise InvalidInputError(f"its version is {version}; expected 2 or 3.")
    if max(tensors, entries) > MOST_ENTRIES:
        raise InvalidInputError(f"it has {max(tensors, entries):,} entries; expected at most 2^20.")
    facts = {}
    for _ in range(entries):
        name = _text(file)
        facts[name] = _value(file, _unpack(file, "<I")[0], 0)
    found = {}
    for _ in range(tensors):
        name = _text(file)
        (rank,) = _unpack(file, "<I")
        if rank > 8:
            raise InvalidInputError(
                f"tensor {quoted(name)} has {rank} dimensions; expected at most 8."
            )
        shape = _unpack(file, f"<{rank}Q")
        kind, _ = _unpack(file, "<IQ")
        if kind not in BLOCKS:
            raise InvalidInputError(
                f"tensor {quoted(name)} has the type {kind}; expected one of {sorted(BLOCKS)}."
            )
        elements = math.prod(shape)
        if not 0 < elements < MOST_ELEMENTS:
            raise InvalidInputError(
                f"tensor {quoted(name)} has no elements, or too many; expected 1 to 2^48."
            )
        block, taken = BLOCKS[kind]
        found[name] = Stored(shape, -(-elements // block) * taken)
    return facts, found


class _Reader:
    """Turns metadata and tensors into a model; matrices are those that the file has."""

    def __init__(self, facts: Mapping[str, Any], tensors: Mapping[str, Stored]) -> None:
        kind = facts.get("general.architecture")
        if not isinstance(kind, str):
            raise InvalidInputError(
                f"general.architecture is {quoted(kind)}; expected a text in the metadata."
            )
        content = facts.get("general.type", MODEL)
        if content != MODEL:
            raise InvalidInputError(
                f"it holds {_CONTENTS.get(str(content), quoted(content))}; expected a model, whose "
                "general.type is 'model'."
            )
        self.kind, self.tensors = kind, tensors
        self.fields = Fields(
            {
                name.removeprefix(f"{kind}."): value
                for name, value in facts.items()
                if name.startswith(f"{kind}.")
            },
            f"{kind}.",
        )
        self.notes: list[str] = []
        if f"{kind}.embedding_length" not in facts:
            raise InvalidInputError(
                f"{kind}.embedding_length is missing; expected the dimensions of a language model, "
                f"which the architecture {quoted(kind)} has not, or not here."
            )
        self.width = self.fields.integer("embedding_length", low=1, high=MOST)
        count = self.fields.integer("block_count", low=1, high=MOST_LAYERS - 2)
        coming = self.fields.integer("nextn_predict_layers", low=0, high=count - 1, default=0)
        self.count, self.coming = count - coming, coming
        self.reading = self.fields.integer(
            "attention.shared_kv_layers", low=0, high=self.count - 1, default=0
        )
        if self.reading:
            self.notes.append(SHARED_CACHE.format(self.reading))
        if coming:
            self.notes.append(
                f"{coming} layers of multi-token prediction are not part of inference"
            )

    def model(self) -> Transformer:
        """Return the model."""
        known = {self.kind, self.kind.replace("-", "_"), f"{self.kind}_text"} & FAMILIES.keys()
        family = FAMILIES[min(known)] if known else Family()
        tensors: list[dict[str, Stored]] = [{} for _ in range(self.count)]
        others: dict[str, Stored] = {}
        for name, one in self.tensors.items():
            match = re.match(r"blk\.(\d{1,6})\.(.*)", name)
            if match is None:
                others[name] = one
            elif int(match[1]) < self.count:
                tensors[int(match[1])][match[2]] = one
        windows = self._windows(family)
        blocks = tuple(self._block(at, own, windows[at], family) for at, own in enumerate(tensors))
        embedding = others.get("token_embd.weight")
        if embedding is None:
            raise InvalidInputError("there is no tensor token_embd.weight; expected an embedding.")
        scores = others.get("output.weight")
        first = [one for name, one in others.items() if _is_first(name)]
        last = [one for name, one in others.items() if not _is_first(name)]
        if scores is None:
            last.append(embedding)
        self._check_words()
        unused = self.fields.unused()
        unused = tuple(
            name for name in unused if not _HARMLESS.fullmatch(name.removeprefix(f"{self.kind}."))
        )
        if unused:
            self.notes.append(
                f"not used, and not known to be harmless: {', '.join(sorted(unused))}"
            )
        return Transformer(
            blocks,
            _outer("token_embd", 0, first),
            replace(
                _outer("output", (scores or embedding).elements, last),
                matrix_size=(scores or embedding).size,
            ),
            scores is None, has_cache=family.is_causal,
            kind=self.kind, notes=tuple(self.notes), coming=self.coming,
        )  # fmt: skip

    def _check_words(self) -> None:
        """Refuse a vocabulary that is none; its size is that of the embedding's tensor."""
        if self.fields.has("vocab_size"):
            self.fields.integer("vocab_size", low=1, high=MOST)

    def _of_layer(self, name: str, at: int, low: int, high: int, default: int | None) -> int:
        """Return a number that is the same for all layers, or one of a list."""
        value = self.fields.value(name)
        if isinstance(value, list):
            if len(value) < self.count:
                raise InvalidInputError(
                    f"{self.kind}.{name} has {len(value)} entries; expected one for each of "
                    f"{self.count} layers."
                )
            return Fields({name: value[at]}, f"{self.kind}.").integer(name, low=low, high=high)
        return self.fields.integer(name, low=max(1, low), high=high, default=default)

    def _block(self, at: int, own: Mapping[str, Stored], window: int, family: Family) -> Block:
        experts = self.fields.integer("expert_count", low=0, high=2**16, default=0)
        active = experts
        if experts:
            active = self.fields.integer("expert_used_count", low=1, high=experts)
        projections: list[Matrix] = []
        network: list[Matrix] = []
        vectors: list[Stored] = []
        for name, one in own.items():
            if len(one.shape) < 2 or not name.endswith(".weight") or "norm" in name:
                vectors.append(one)
                continue
            # Others of three dimensions have a matrix for each head, all of which are met.
            copies = one.shape[2] if len(one.shape) > 2 and name.startswith("ffn_") else 1
            matrix = Matrix(
                name.removesuffix(".weight"), one.shape[0],
                one.elements // (one.shape[0] * copies), one.size, copies,
                min(active, copies) if copies > 1 else 1,
            )  # fmt: skip
            if name.startswith(("ssm_conv", "ssm_a")):
                vectors.append(one)
            else:
                (network if name.startswith("ffn_") else projections).append(matrix)
        if not projections and not network:
            raise InvalidInputError(
                f"layer {at} has no tensors; expected a file with all of the model, or all its "
                "parts."
            )
        projections.sort(key=lambda one: one.name in ("attn_output", "ssm_out"))
        network.sort(key=lambda one: "down" in one.name)
        lanes = sum(one.active * one.inputs for one in network if "down" in one.name)
        mixer = self._mixer(at, own, window, family)
        return Block(
            f"blk.{at}", self.width, mixer,
            tuple(part for one in projections for part in _in_parts(one, mixer)),
            tuple(part for one in network for part in _in_parts(one, mixer)), lanes,
            sum(one.elements for one in vectors), sum(one.size for one in vectors),
        )  # fmt: skip

    def _mixer(
        self, at: int, own: Mapping[str, Stored], window: int, family: Family
    ) -> Attention | Recurrence | None:
        fields = self.fields
        if any(name.startswith("ssm_") for name in own):
            if "attn_k.weight" in own:
                raise InvalidInputError(
                    f"layer {at} has attention beside a recurrence; expected one of them, or "
                    f"{TABLE_HINT}."
                )
            inner = fields.integer("ssm.inner_size", low=1, high=MOST)
            state = fields.integer("ssm.state_size", low=1, high=MOST)
            conv = fields.integer("ssm.conv_kernel", low=1, high=1024)
            groups = fields.integer("ssm.group_count", low=0, high=MOST, default=0)
            # Models without any attention have no number of heads, or 0.
            for unused in ("attention.head_count", "attention.head_count_kv"):
                fields.value(unused)
            # As llama.cpp does, both in float32 (`n_embd_r`, `n_embd_s` in src/llama-hparams.cpp):
            # what decides on a state passes through the convolution, too.
            return Recurrence(
                inner * state, inner + 2 * groups * state, conv, window_bits=_STATE_BITS
            )
        if "shortconv.conv.weight" in own:
            taps = fields.integer("shortconv.l_cache", low=2, high=1024)
            return Recurrence(0, self.width, taps, window_bits=_STATE_BITS)
        if any(name.startswith("time_mix_") for name in own):
            raise InvalidInputError(
                f"layer {at} has {min(one for one in own if one.startswith('time_mix_'))}, a "
                f"recurrence whose state is not known here; expected {TABLE_HINT}."
            )
        heads = self._of_layer("attention.head_count", at, 0, MOST, None)
        shared = self._of_layer("attention.head_count_kv", at, 0, MOST, heads)
        if not heads or not shared:
            return None
        if heads % shared and not fields.has("attention.kv_lora_rank"):
            raise InvalidInputError(
                f"{self.kind}.attention.head_count_kv is {shared}; expected a divisor of {heads}."
            )
        if fields.has("attention.kv_lora_rank"):
            rotary = fields.integer("rope.dimension_count", low=1, high=MOST)
            rank = fields.integer("attention.kv_lora_rank", low=1, high=MOST)
            key = fields.integer("attention.key_length_mla", low=1, high=MOST, default=128 + rotary)
            value = fields.integer("attention.value_length_mla", low=1, high=MOST, default=128)
            latent = Latent(rank, rotary, max(0, key - rotary), value)
            return Attention(heads, heads, key, value, window, latent=latent)
        head = max(1, self.width // heads)
        return Attention(
            heads, shared, fields.integer("attention.key_length", low=1, high=MOST, default=head),
            fields.integer("attention.value_length", low=1, high=MOST, default=head), window,
            family.is_causal, has_own_cache=at < self.count - self.reading,
        )  # fmt: skip

    def _windows(self, family: Family) -> list[int]:
        """Return the window of each layer, 0 for none."""
        fields, count = self.fields, self.count
        size = fields.integer("attention.sliding_window", low=0, high=MOST, default=0)
        chunk = fields.integer("attention.chunk_size", low=0, high=MOST, default=0)
        pattern = fields.value("attention.sliding_window_pattern")
        size = size or chunk
        if not size:
            return [0] * count
        if isinstance(pattern, list):
            if len(pattern) < count or not all(one in (0, 1) for one in pattern):
                raise InvalidInputError(
                    f"{self.kind}.attention.sliding_window_pattern is {quoted(pattern)}; expected "
                    f"true or false for each of {count} layers."
                )
            return [size if one else 0 for one in pattern[:count]]
        every = family.full_every if pattern is None else pattern
        if every is None:
            self.notes.append(
                f"it is not known which layers have the window of {size:,} tokens; all are taken "
                "to see the full context"
            )
            return [0] * count
        if type(every) is not int or not 0 <= every < MOST:
            raise InvalidInputError(
                f"{self.kind}.attention.sliding_window_pattern is {quoted(pattern)}; expected an "
                "integer, or true or false for each layer."
            )
        return [0 if every and (at + 1) % every == 0 else size for at in range(count)]


# Matrices that devices in parallel do not split.
_WHOLE = ("attn_q_a", "attn_kv_a_mqa", "ffn_gate_inp", "ffn_gate_inp_shexp")


def _in_parts(one: Matrix, mixer: Attention | Recurrence | None) -> tuple[Matrix, ...]:
    """Return a matrix with the number of its parts; keys and values apart from queries."""
    if one.name in _WHOLE:
        return (replace(one, parts=1),)
    if not isinstance(mixer, Attention):
        return (one,)
    if one.name in ("attn_k", "attn_v"):
        return (replace(one, parts=mixer.shared),)
    own = mixer.shared * (mixer.key + mixer.value)
    if one.name != "attn_qkv" or one.outputs != mixer.heads * mixer.key + own:
        return (one,)
    size = one.size * own // one.outputs
    return (
        replace(one, outputs=one.outputs - own, size=one.size - size),
        replace(one, outputs=own, size=size, parts=mixer.shared),
    )


def _is_first(name: str) -> bool:
    return name.startswith(("token_embd", "token_types", "position_embd", "per_layer"))


def _outer(name: str, multiplied: int, tensors: Sequence[Stored]) -> Outer:
    elements = sum(one.elements for one in tensors)
    return Outer(name, multiplied, elements, sum(one.size for one in tensors))


def _unpack(file: BinaryIO, form: str) -> tuple[Any, ...]:
    return struct.unpack(form, _taken(file, struct.calcsize(form)))


def _taken(file: BinaryIO, length: int) -> bytes:
    """Return the next bytes of a header."""
    if file.tell() + length > LARGEST_HEADER:
        raise InvalidInputError(
            f"its header has more than {LARGEST_HEADER >> 20} MiB; expected a GGUF file."
        )
    data = file.read(length)
    if len(data) != length:
        raise InvalidInputError("it ends within the header; expected a whole GGUF file.")
    return data


def _text(file: BinaryIO) -> str:
    return _taken(file, _unpack(file, "<Q")[0]).decode("utf-8", "replace")


def _value(file: BinaryIO, kind: int, depth: int) -> Any:
    if kind in _SCALARS:
        return _unpack(file, f"<{_SCALARS[kind]}")[0]
    if kind == _TEXT:
        return _text(file)
    if kind != _ARRAY or depth > 3:
        raise InvalidInputError(f"a value has the type {kind}; expected 0 to 12.")
    inner, length = _unpack(file, "<IQ")
    if length > MOST_VALUES:
        raise InvalidInputError(f"an array has {length:,} entries; expected at most 2^22.")
    if inner in _SCALARS:
        return list(_unpack(file, f"<{length}{_SCALARS[inner]}"))
    return [_value(file, inner, depth + 1) for _ in range(length)]
