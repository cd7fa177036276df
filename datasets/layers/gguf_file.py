"""Headers of GGUF files: a model's dimensions, and the bytes of each layer as it is quantised.

The format is that of https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, version 3 (and 2):
little-endian; metadata, then names, shapes and types of tensors. Nothing behind them is read.
"""

import re
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from boundmark.datasets.file_format import FileFormat
from boundmark.datasets.layers.transformer import Block, Latent, Transformer
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.files import naming

MAGIC = b"GGUF"

# More is no header that anybody has written.
MOST_ENTRIES = 2**20
LONGEST = 2**26

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
}  # fmt: skip


def load(path: str | Path) -> Transformer:
    """Read a header.

    Raises
    ------
    InvalidInputError
        If it is none, ends too early, has an unknown type of tensor, or lacks a dimension.
    """
    path = Path(path)
    with naming(path):
        if not path.is_file():
            raise InvalidInputError("it is not there, or no regular file; expected a GGUF file.")
        with path.open("rb") as file:
            return _model(*read_header(file))


FORMAT = FileFormat("GGUF", (".gguf",), load)


def read_header(file: BinaryIO) -> tuple[dict[str, Any], dict[str, int]]:
    """Return the metadata and the bytes of each tensor; raises as `load` does."""
    if file.read(4) != MAGIC:
        raise InvalidInputError("it does not begin with 'GGUF'; expected a GGUF file.")
    version, tensors, entries = _unpack(file, "<IQQ")
    if version not in (2, 3):
        raise InvalidInputError(f"its version is {version}; expected 2 or 3.")
    if max(tensors, entries) > MOST_ENTRIES:
        raise InvalidInputError(f"it has {max(tensors, entries):,} entries; expected at most 2^20.")
    facts = {}
    for _ in range(entries):
        name = _text(file)
        facts[name] = _value(file, _unpack(file, "<I")[0], 0)
    sizes = {}
    for _ in range(tensors):
        name = _text(file)
        (rank,) = _unpack(file, "<I")
        if rank > 8:
            raise InvalidInputError(
                f"tensor {quoted(name)} has {rank} dimensions; expected at most 8."
            )
        elements = 1
        for size in _unpack(file, f"<{rank}Q"):
            elements *= size
        kind, _ = _unpack(file, "<IQ")
        if kind not in BLOCKS:
            raise InvalidInputError(
                f"tensor {quoted(name)} has the type {kind}; expected one of {sorted(BLOCKS)}."
            )
        block, taken = BLOCKS[kind]
        sizes[name] = -(-elements // block) * taken
    return facts, sizes


def _model(facts: Mapping[str, Any], sizes: Mapping[str, int]) -> Transformer:
    kind = facts.get("general.architecture")

    def number(name: str, default: int | None = None) -> int:
        value = facts.get(f"{kind}.{name}", default)
        if isinstance(value, list):
            # One for each layer; the largest is what memory has to do for.
            value = max(value, default=None)
        if type(value) is not int or value < 0:
            raise InvalidInputError(
                f"{kind}.{name} is {quoted(value)}; expected an integer in the metadata."
            )
        return value

    width, heads = number("embedding_length"), number("attention.head_count")
    experts = number("expert_count", 0)
    latent = None
    if f"{kind}.attention.kv_lora_rank" in facts:
        rotary = number("rope.dimension_count")
        latent = Latent(
            number("attention.kv_lora_rank"), rotary, number("attention.q_lora_rank", 0),
            number("attention.key_length_mla", 192) - rotary,
            number("attention.value_length_mla", 128),
        )  # fmt: skip
    per_layer: dict[int, int] = {}
    count = number("block_count")
    for name, size in sizes.items():
        match = re.match(r"blk\.(\d+)\.", name)
        at = int(match[1]) + 1 if match else (0 if name.startswith("token_embd") else count + 1)
        per_layer[at] = per_layer.get(at, 0) + size
    tied = "output.weight" not in sizes
    if tied:
        per_layer[count + 1] = per_layer.get(count + 1, 0) + sizes.get("token_embd.weight", 0)
    dense = number("leading_dense_block_count", 0)
    blocks = []
    for at in range(count):
        has_experts = experts > 0 and at >= dense
        each = number("expert_feed_forward_length", number("feed_forward_length"))
        blocks.append(
            Block(
                f"blk.{at}",
                width,
                heads,
                number("attention.head_count_kv", heads),
                number("attention.key_length", width // heads),
                each if has_experts else number("feed_forward_length"),
                is_gated=f"blk.{at}.ffn_gate.weight" in sizes or has_experts,
                experts=experts if has_experts else 0,
                active=number("expert_used_count") if has_experts else 0,
                common=each * number("expert_shared_count", 0) if has_experts else 0,
                window=number("attention.sliding_window", 0),
                latent=latent,
            )
        )
    words = facts.get(f"{kind}.vocab_size")
    if not isinstance(words, int):
        words = len(facts.get("tokenizer.ggml.tokens", ())) or 1
    return Transformer(
        tuple(blocks), "token_embd", "output", words * width, words * width, tied, 16.0,
        sizes=per_layer,
    )  # fmt: skip


def _unpack(file: BinaryIO, form: str) -> tuple[Any, ...]:
    length = struct.calcsize(form)
    data = file.read(length)
    if len(data) != length:
        raise InvalidInputError("it ends within the header; expected a whole GGUF file.")
    return struct.unpack(form, data)


def _text(file: BinaryIO) -> str:
    (length,) = _unpack(file, "<Q")
    if length > LONGEST:
        raise InvalidInputError(f"a text has {length:,} bytes; expected at most 2^26.")
    data = file.read(length)
    if len(data) != length:
        raise InvalidInputError("it ends within the header; expected a whole GGUF file.")
    return data.decode("utf-8", "replace")


def _value(file: BinaryIO, kind: int, depth: int) -> Any:
    if kind in _SCALARS:
        return _unpack(file, f"<{_SCALARS[kind]}")[0]
    if kind == _TEXT:
        return _text(file)
    if kind != _ARRAY or depth > 3:
        raise InvalidInputError(f"a value has the type {kind}; expected 0 to 12.")
    inner, length = _unpack(file, "<IQ")
    if length > LONGEST:
        raise InvalidInputError(f"an array has {length:,} entries; expected at most 2^26.")
    return [_value(file, inner, depth + 1) for _ in range(length)]
