"""Headers of GGUF files that the tests write themselves."""

import struct
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from published_data import published_data

from boundmark.datasets.layers.blocks import Attention, Recurrence
from boundmark.datasets.layers.transformer import Transformer
from boundmark.datasets.resolve import load_file
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.layers import Workload

WIDTH, INNER, LAYERS, WORDS = 256, 512, 3, 1000
Q4_K, Q6_K, F32 = 12, 14, 0


def text(value: str) -> bytes:
    """Return a text as the format has it."""
    return struct.pack("<Q", len(value)) + value.encode()


def header(
    tied: bool = False,
    change: dict[str, int] | None = None,
    version: int = 3,
    layers: Iterable[int] | None = None,
    kind: str = "llama",
    parts: int = 0,
    content: str = "",
    more: Sequence[tuple[str, tuple[int, ...], int]] = (),
) -> bytes:
    """Return a header of a small model like Llama, with four-bit blocks."""
    numbers = {
        "block_count": LAYERS, "embedding_length": WIDTH, "attention.head_count": 4,
        "attention.head_count_kv": 2, "feed_forward_length": INNER, "vocab_size": WORDS,
        **(change or {}),
    }  # fmt: skip
    tensors = [("token_embd.weight", (WIDTH, WORDS), Q4_K)]
    if not tied:
        tensors.append(("output.weight", (WIDTH, WORDS), Q6_K))
    for at in range(LAYERS) if layers is None else layers:
        tensors += [
            (f"blk.{at}.attn_q.weight", (WIDTH, WIDTH), Q4_K),
            (f"blk.{at}.ffn_gate.weight", (WIDTH, INNER), Q4_K),
            (f"blk.{at}.attn_norm.weight", (WIDTH,), F32),
        ]
    entries = [
        text("general.architecture") + struct.pack("<I", 8) + text(kind),
        text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, 2) + text("a") + text("b"),
        *(
            text(f"{kind}.{name}") + struct.pack("<II", 4, value)
            for name, value in numbers.items()
            if value >= 0
        ),
    ]
    tensors += more
    if content:
        entries.append(text("general.type") + struct.pack("<I", 8) + text(content))
    if parts:
        entries.append(text("split.count") + struct.pack("<IH", 2, parts))
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
    assert (facts[1].weights, facts[1].held) == (block, 10 * 2 * 2 * 64 * 2)
    assert model.tied(workload) == (((0, LAYERS + 1, embedding),) if tied else ())


def test_models_without_attention(tmp_path: Path) -> None:
    """Mamba's headers say that there are 0 heads."""
    path = tmp_path / "model.gguf"
    numbers = {
        "attention.head_count": 0, "attention.head_count_kv": -1, "ssm.inner_size": 512,
        "ssm.state_size": 16, "ssm.conv_kernel": 4,
    }  # fmt: skip
    more = [(f"blk.{at}.ssm_in.weight", (WIDTH, 1024), F32) for at in range(LAYERS)]
    path.write_bytes(header(kind="mamba", change=numbers, more=more, content="model"))
    model = load_file(path)
    assert all(isinstance(block.mixer, Recurrence) for block in model.blocks)
    assert not model.notes


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"GGML" + header()[4:], "does not begin with 'GGUF'"),
        (header(version=9), "its version is 9; expected 2 or 3"),
        (header(version=3 << 24), "its numbers are big-endian; expected"),
        (
            header(content="adapter"),
            r"it holds an adapter \(LoRA\), which is added to a model",
        ),
        (header(content="mmproj"), "it holds the projector of a model for images or sound; exp"),
        (header(content="odd"), "it holds 'odd'; expected a model, whose general.type is 'model'"),
        (header(kind="flux", change={"embedding_length": -1}), "which the architecture 'flux' has"),
        (b"version https://git-lfs.github.com/spec/v1\noid", "it is a pointer of Git LFS"),
        (header()[:200], "it ends within the header"),
        (header(change={"block_count": -1}), "llama.block_count is missing; expected an integer"),
        (header(change={"block_count": 0}), "llama.block_count is 0; expected an integer from 1"),
        (header(change={"attention.head_count": 0}), "head_count is 0; expected an integer from 1"),
        (header(change={"attention.head_count_kv": 3}), "head_count_kv is 3; expected a divisor"),
        (header(change={"embedding_length": 0}), "embedding_length is 0; expected an integer"),
        (header(layers=[0, 2]), "layer 1 has no tensors; expected a file with all of the model"),
        (header(parts=3), "it is a part of 3 files; expected a name such as model-00001-of-00003"),
        (b"GGUF" + struct.pack("<IQQ", 3, 2**60, 0), "entries; expected at most"),
        (
            b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 2**60),
            "its header has more than 64 MiB",
        ),
    ],
)
def test_headers_that_are_none(content: bytes, expected: str, tmp_path: Path) -> None:
    """The file, and what was expected."""
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    with pytest.raises(InvalidInputError, match=f"model.gguf: .*{expected}"):
        load_file(path)


def test_all_parts_of_a_model_are_read(tmp_path: Path) -> None:
    """Tensors of later parts count; a part that is not there is named."""
    whole = tmp_path / "whole.gguf"
    whole.write_bytes(header())
    first = tmp_path / "model-00001-of-00002.gguf"
    first.write_bytes(header(layers=[0], parts=2))
    with pytest.raises(
        InvalidInputError, match=r"model-00002-of-00002.gguf is not there; expected"
    ):
        load_file(first)
    second = tmp_path / "model-00002-of-00002.gguf"
    second.write_bytes(header(layers=[1, 2], parts=2))
    assert load_file(first).totals == load_file(whole).totals
    with pytest.raises(InvalidInputError, match="a later part of a model; expected model-00001"):
        load_file(second)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("gpt-oss", [9, 0, 9]), ("gemma2", [9, 0, 9]), ("gemma3", [9, 9, 9]), ("llama", [0, 0, 0])],
)
def test_windows_are_those_of_the_architecture(
    kind: str, expected: list[int], tmp_path: Path
) -> None:
    """As llama.cpp takes them; full context, with a note, where that is not known."""
    path = tmp_path / "model.gguf"
    path.write_bytes(header(kind=kind, change={"attention.sliding_window": 9}))
    model = load_file(path)
    assert [block.mixer.window for block in model.blocks] == expected
    assert bool(model.notes) == (kind == "llama")


def test_experts_and_recurrences(tmp_path: Path) -> None:
    """Tensors of three dimensions are experts' or heads', and `ssm` marks a recurrent layer."""
    path = tmp_path / "model.gguf"
    more = [
        ("blk.0.ffn_up_exps.weight", (WIDTH, 64, 8), Q4_K),
        ("blk.0.ffn_down_exps.weight", (64, WIDTH, 8), F32),
        ("blk.0.attn_k_b.weight", (128, 512, 4), F32),
        ("blk.1.ssm_in.weight", (WIDTH, 1024), F32),
    ]
    numbers = {
        "expert_count": 8, "expert_used_count": 2, "ssm.inner_size": 512, "ssm.state_size": 16,
        "ssm.conv_kernel": 4,
    }  # fmt: skip
    path.write_bytes(header(change=numbers, more=more))
    model = load_file(path)
    experts = [one for one in model.blocks[0].network if one.copies > 1]
    assert [(one.copies, one.active, one.inputs) for one in experts] == [(8, 2, WIDTH), (8, 2, 64)]
    assert model.blocks[0].lanes == 2 * 64
    heads = next(one for one in model.blocks[0].projections if one.name == "attn_k_b")
    assert (heads.met, heads.parameters, heads.outputs) == (128 * 512 * 4, 128 * 512 * 4, 512 * 4)
    assert isinstance(model.blocks[1].mixer, Recurrence)
    assert isinstance(model.blocks[2].mixer, Attention)


def test_published_headers() -> None:
    """Two files of today: bytes of the files, and caches within windows."""
    folder = published_data() / "cases" / "gguf"
    oss, gemma = (load_file(folder / f"{name}.gguf") for name in ("gpt-oss-20b", "gemma-3-27b-q8"))
    assert isinstance(oss, Transformer)
    assert oss.totals.parameters / 1e9 == pytest.approx(20.9, rel=0.005)
    assert sum(layer.held for layer in oss.layers(Workload("decode", 8, 131072))) == (
        8 * 2 * 2 * 8 * 64 * 12 * (131072 + 128)
    )
    assert gemma.totals.size / 1e9 == pytest.approx(28.7, rel=0.005)
    assert gemma.totals.cache == 2 * 2 * 16 * 128 * 10


def test_layers_that_read_the_cache_of_others(tmp_path: Path) -> None:
    """They keep none, and read as much as others do."""
    path = tmp_path / "model.gguf"
    path.write_bytes(header(change={"attention.shared_kv_layers": 2}))
    model = load_file(path)
    layers = model.layers(Workload("decode", 1, 10))
    assert [layer.held for layer in layers[1:-1]] == [10 * 2 * 2 * 64 * 2, 0, 0]
    assert len({layer.operations for layer in layers[1:-1]}) == 1
    assert model.totals.cache == 2 * 2 * 64 * 2
    assert "the last 2 layers read the cache of earlier ones" in model.notes[0]


def test_states_are_in_float32(tmp_path: Path) -> None:
    """With the convolution's channels, those of its groups too, whatever the cache has."""
    path = tmp_path / "model.gguf"
    numbers = {
        "ssm.inner_size": 512, "ssm.state_size": 16, "ssm.conv_kernel": 4, "ssm.group_count": 2,
    }  # fmt: skip
    more = [("blk.0.ssm_in.weight", (WIDTH, 1024), F32)]
    path.write_bytes(header(change=numbers, more=more))
    model = load_file(path)
    state = 4 * (512 * 16 + (512 + 2 * 2 * 16) * 3)
    assert not model.notes
    for bits in (0, 8):
        assert model.layers(Workload("decode", 3, 10, cache_bits=bits))[1].held == 3 * state
        assert model.totals_in(Workload(cache_bits=bits)).state == state
    path.write_bytes(header(change=numbers, more=[*more, ("blk.0.attn_k.weight", (WIDTH, 8), F32)]))
    with pytest.raises(InvalidInputError, match="layer 0 has attention beside a recurrence; exp"):
        load_file(path)
    taps = [("blk.1.shortconv.conv.weight", (3, WIDTH), F32)]
    path.write_bytes(header(change={"shortconv.l_cache": 3}, more=taps))
    assert load_file(path).totals.state == 4 * WIDTH * 2
    path.write_bytes(header(more=[("blk.1.time_mix_w1.weight", (WIDTH, 8), F32)]))
    with pytest.raises(InvalidInputError, match=r"layer 1 has time_mix_w1.weight, a recurrence"):
        load_file(path)


@pytest.mark.parametrize(
    ("name", "cache", "state"),
    [
        ("qwen3-next-80b-q8", 24 * 2**10, 79_036_416),
        ("granite-4.0-h-small-q4", 16 * 2**10, 154_644_480),
        ("gemma-3n-e4b-q8", 8 * 2**10, 16 * 2**20),
    ],
)
def test_caches_of_published_headers(name: str, cache: int, state: int) -> None:
    """Bytes of a token and of a sequence, as llama.cpp keeps them: 75.4, 147.5 and 16 MiB."""
    totals = load_file(published_data() / "cases" / "gguf" / f"{name}.gguf").totals
    assert (totals.cache, totals.state) == (cache, state)


def test_fields_that_are_not_used_are_named(tmp_path: Path) -> None:
    """What is not known to be harmless might cost something."""
    path = tmp_path / "model.gguf"
    path.write_bytes(header(change={"attention.fancy": 2, "context_length": 9}))
    expected = "not used, and not known to be harmless: llama.attention.fancy"
    assert load_file(path).notes == (expected,)
