"""Safetensors files beside a configuration: true bytes, and files that are none."""

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from boundmark.datasets.resolve import load_file
from boundmark.problems.errors import InvalidInputError

CONFIG: dict[str, Any] = {
    "model_type": "llama", "hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 2,
    "intermediate_size": 16, "vocab_size": 10, "torch_dtype": "bfloat16",
}  # fmt: skip


def tensors(layers: range = range(2)) -> dict[str, tuple[list[int], int]]:
    """Return shape and bytes of tensors, in three times the bytes that the dimensions mean."""
    found: dict[str, tuple[list[int], int]] = {
        "model.embed_tokens.weight": ([10, 8], 480), "lm_head.weight": ([10, 8], 481),
        "model.norm.weight": ([8], 48),
    }  # fmt: skip
    for at in layers:
        for name in ("q", "k", "v", "o"):
            found[f"model.layers.{at}.self_attn.{name}_proj.weight"] = ([8, 8], 384)
        for name in ("gate", "up", "down"):
            found[f"model.layers.{at}.mlp.{name}_proj.qweight"] = ([8, 16], 700 + at)
        found[f"model.layers.{at}.input_layernorm.weight"] = ([8], 48)
    return found


def written(path: Path, content: Mapping[str, tuple[list[int], int]]) -> None:
    """Write a header with these tensors."""
    document, at = {"__metadata__": {"format": "pt"}}, 0
    for name, (shape, size) in content.items():
        document[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, at + size]}  # type: ignore[dict-item]
        at += size
    text = json.dumps(document).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text)


def folder(path: Path, **changed: Any) -> Path:
    """Write a configuration into a folder."""
    (path / "config.json").write_text(json.dumps({**CONFIG, **changed}))
    return path


def test_bytes_are_those_of_the_tensors(tmp_path: Path) -> None:
    """Of each part of a layer; parameters stay those of the dimensions."""
    folder(tmp_path)
    plain = load_file(tmp_path)
    written(tmp_path / "model.safetensors", tensors())
    model = load_file(tmp_path)
    assert [block.size for block in model.blocks] == [
        4 * 384 + 3 * (700 + at) + 48 for at in range(2)
    ]
    assert sum(one.size for one in model.blocks[1].network) == 3 * 701
    assert (model.first.size, model.last.size) == (480, 481 + 48)
    assert model.totals.parameters == plain.totals.parameters
    assert "bytes of weights are those of 1 safetensors files" in model.notes


def test_files_that_an_index_lists(tmp_path: Path) -> None:
    """All of them have to be there."""
    folder(tmp_path)
    content = tensors()
    parts = {name: f"model-0000{1 + ('layers.1' in name)}-of-00002.safetensors" for name in content}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": parts}))
    names = sorted(set(parts.values()))
    written(tmp_path / names[0], {k: v for k, v in content.items() if parts[k] == names[0]})
    with pytest.raises(InvalidInputError, match=f"lists {names[1]}, which is not there"):
        load_file(tmp_path)
    written(tmp_path / names[1], {k: v for k, v in content.items() if parts[k] == names[1]})
    assert load_file(tmp_path).totals.size == sum(size for _, size in content.values())


def test_scores_that_are_the_embedding(tmp_path: Path) -> None:
    """They read its bytes, too, and share them."""
    folder(tmp_path, tie_word_embeddings=True)
    content = tensors()
    del content["lm_head.weight"]
    written(tmp_path / "model.safetensors", content)
    model = load_file(tmp_path)
    assert (model.first.size, model.last.size) == (480, 480 + 48)
    assert model.totals.size == sum(size for _, size in content.values())


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "its header has 0 bytes; expected a safetensors file"),
        (struct.pack("<Q", 2**60), "expected a safetensors file, with 2 to 2.28"),
        (struct.pack("<Q", 100) + b"{}", "it ends within its header"),
        (struct.pack("<Q", 2) + b"[]", "its header is no object"),
        (struct.pack("<Q", 3) + b"abc", "its header is no JSON"),
        (struct.pack("<Q", 7) + b'{"a":1}', "tensor 'a' is 1; expected shape and data_offsets"),
    ],
)
def test_files_that_are_none(content: bytes, expected: str, tmp_path: Path) -> None:
    """The file, and what was expected."""
    folder(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(content)
    with pytest.raises(InvalidInputError, match=f"model.safetensors: .*{expected}"):
        load_file(tmp_path)


def test_layers_without_tensors(tmp_path: Path) -> None:
    """A file that is a part of a model says so."""
    folder(tmp_path)
    written(tmp_path / "model.safetensors", tensors(range(1)))
    with pytest.raises(InvalidInputError, match="the files have no tensor of layer 1; expected"):
        load_file(tmp_path)
