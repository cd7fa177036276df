"""Headers of GGUF files that the tests write themselves."""

import struct
from pathlib import Path

import pytest

from boundmark.datasets.resolve import load_file
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.layers import Workload

WIDTH, INNER, LAYERS, WORDS = 256, 512, 3, 1000
Q4_K, Q6_K, F32 = 12, 14, 0


def text(value: str) -> bytes:
    """Return a text as the format has it."""
    return struct.pack("<Q", len(value)) + value.encode()


def header(tied: bool = False, change: dict[str, int] | None = None, version: int = 3) -> bytes:
    """Return a header of a small model like Llama, with four-bit blocks."""
    numbers = {
        "block_count": LAYERS, "embedding_length": WIDTH, "attention.head_count": 4,
        "attention.head_count_kv": 2, "feed_forward_length": INNER, "vocab_size": WORDS,
        **(change or {}),
    }  # fmt: skip
    tensors = [("token_embd.weight", (WIDTH, WORDS), Q4_K)]
    if not tied:
        tensors.append(("output.weight", (WIDTH, WORDS), Q6_K))
    for at in range(LAYERS):
        tensors += [
            (f"blk.{at}.attn_q.weight", (WIDTH, WIDTH), Q4_K),
            (f"blk.{at}.ffn_gate.weight", (WIDTH, INNER), Q4_K),
            (f"blk.{at}.attn_norm.weight", (WIDTH,), F32),
        ]
    entries = [
        text("general.architecture") + struct.pack("<I", 8) + text("llama"),
        text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, 2) + text("a") + text("b"),
        *(
            text(f"llama.{name}") + struct.pack("<II", 4, value)
            for name, value in numbers.items()
            if value >= 0
        ),
    ]
    listed = [
        text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, 0)
        for name, shape, kind in tensors
    ]
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(entries))
    return head + b"".join(entries) + b"".join(listed)


@pytest.mark.parametrize("tied", [False, True])
def test_layers_have_the_bytes_of_their_tensors(tied: bool, tmp_path: Path) -> None:
    """Blocks of 256 elements take 144 bytes in Q4_K, 210 in Q6_K; scores may be the embedding."""
    path = tmp_path / "model.gguf"
    path.write_bytes(header(tied) + b"weights that nobody reads")
    model = load_file(path)
    workload = Workload("decode", 1, 10)
    facts = model.layers(workload)
    block = (WIDTH * WIDTH + WIDTH * INNER) // 256 * 144 + 4 * WIDTH
    embedding = WIDTH * WORDS // 256 * 144
    scores = embedding if tied else WIDTH * WORDS // 256 * 210
    assert [layer.parameters for layer in facts] == [embedding, *[block] * LAYERS, scores]
    assert facts[1].weights == block + 10 * 2 * 2 * 64 * 2
    assert model.tied(workload) == (((0, LAYERS + 1, embedding),) if tied else ())


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"GGML" + header()[4:], "does not begin with 'GGUF'"),
        (header(version=9), "its version is 9; expected 2 or 3"),
        (header()[:200], "it ends within the header"),
        (header(change={"block_count": -1}), "llama.block_count is None; expected an integer"),
        (b"GGUF" + struct.pack("<IQQ", 3, 2**60, 0), "entries; expected at most"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 2**60), "a text has"),
    ],
)
def test_headers_that_are_none(content: bytes, expected: str, tmp_path: Path) -> None:
    """The file, and what was expected."""
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    with pytest.raises(InvalidInputError, match=f"model.gguf: .*{expected}"):
        load_file(path)
