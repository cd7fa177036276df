"""Write the archive of exports beside this file: `python make.py`, with the group `torch`.

Five small models, each by the exporters of `torch.onnx` and by `torch.export`, with random weights,
which are then left out: only shapes matter.
"""

import io
import json
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import onnx
import torch
import transformers
from torch import nn

ARCHIVE = Path(__file__).with_name("exports.zip")

LAYERS, WIDTH, HEADS, WORDS = 2, 256, 4, 64

# Elements of the constants that remain: shapes, axes and the like.
MOST_KEPT = 64


class SelfAttention(nn.Module):
    """Attention of a sequence to itself, without its weights."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return what each word attends to."""
        return self.attention(x, x, x)[0]


class Residual(nn.Module):
    """Two convolutions beside a shortcut, as in ResNet-18."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Sequential(
            nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after), nn.ReLU()
        )
        self.second = nn.Sequential(
            nn.Conv2d(after, after, 3, 1, 1, bias=False), nn.BatchNorm2d(after)
        )
        self.shortcut: nn.Module = nn.Identity()
        if stride > 1:
            self.shortcut = nn.Sequential(
                nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after)
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the sum of both ways."""
        return torch.relu(self.second(self.first(x)) + self.shortcut(x))


class FirstOutput(nn.Module):
    """A language model that is given words and returns its first output."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        """Return the hidden states, or the logits."""
        return self.model(input_ids=words, attention_mask=torch.ones_like(words))[0]


def resnet() -> nn.Module:
    """Return ResNet-18."""
    layers: list[nn.Module] = [
        nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)
    ]  # fmt: skip
    before = 64
    for after in (64, 128, 256, 512):
        layers += [Residual(before, after, 1 if after == before else 2), Residual(after, after, 1)]
        before = after
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))


def encoder() -> nn.Module:
    """Return torch's own encoder."""
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, batch_first=True)
    return nn.TransformerEncoder(layer, LAYERS)


def bert() -> nn.Module:
    """Return BERT as transformers has it."""
    config = transformers.BertConfig(
        vocab_size=1000, hidden_size=WIDTH, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
        intermediate_size=4 * WIDTH,
    )  # fmt: skip
    return FirstOutput(transformers.BertModel(config))


def llama() -> nn.Module:
    """Return Llama as transformers has it, two queries for each key."""
    config = transformers.LlamaConfig(
        vocab_size=1000, hidden_size=WIDTH, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
        num_key_value_heads=HEADS // 2, intermediate_size=688, use_cache=False,
    )  # fmt: skip
    return FirstOutput(transformers.LlamaForCausalLM(config))


def sequence() -> torch.Tensor:
    """Return embedded words."""
    return torch.zeros(1, WORDS, WIDTH)


def words() -> torch.Tensor:
    """Return numbers of words."""
    return torch.zeros(1, WORDS, dtype=torch.int64)


MODELS: dict[str, tuple[Callable[[], nn.Module], Callable[[], torch.Tensor]]] = {
    "MultiheadAttention": (SelfAttention, sequence),
    "TransformerEncoder": (encoder, sequence),
    "ResNet-18": (resnet, lambda: torch.zeros(1, 3, 224, 224)),
    "BERT": (bert, words),
    "Llama": (llama, words),
}


def exports(model: nn.Module, given: torch.Tensor) -> Iterator[tuple[str, bytes]]:
    """Yield the exporter and the content of each file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        torch.onnx.export(model, (given,), path, dynamo=False)
        yield "legacy.onnx", path.read_bytes()
        torch.onnx.export(
            model, (given,), path, dynamo=True, external_data=False, verbose=False
        )  # fmt: skip
        yield "dynamo.onnx", path.read_bytes()
        path = path.with_suffix(".pt2")
        torch.export.save(torch.export.export(model, (given,)), path)
        yield "export.pt2", path.read_bytes()


def without_weights(name: str, content: bytes) -> bytes:
    """Return a file without what boundmark does not read."""
    return _program_only(content) if name.endswith(".pt2") else _graph_only(content)


def _graph_only(content: bytes) -> bytes:
    model = onnx.load_model_from_string(content)
    for tensor in model.graph.initializer:
        if len(tensor.raw_data) > 8 * MOST_KEPT:
            tensor.ClearField("raw_data")
            tensor.data_location = onnx.TensorProto.EXTERNAL
            tensor.external_data.add(key="location", value="left out")
    for node in model.graph.node:
        node.ClearField("doc_string")
        node.ClearField("metadata_props")
    for value in model.graph.value_info:
        value.ClearField("metadata_props")
    return model.SerializeToString()


def _program_only(content: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        (name,) = (one for one in archive.namelist() if one.endswith("/models/model.json"))
        program = json.loads(archive.read(name))
    for call in _calls(program["graph_module"]["graph"]):
        call["metadata"].pop("stack_trace", None)
    kept = io.BytesIO()
    with zipfile.ZipFile(kept, "w") as archive:
        archive.writestr(zipfile.ZipInfo(name), json.dumps(program))
    return kept.getvalue()


def _calls(graph: dict) -> Iterator[dict]:
    for call in graph["nodes"]:
        yield call
        for argument in call["inputs"]:
            if "as_graph" in argument["arg"]:
                yield from _calls(argument["arg"]["as_graph"]["graph"])


def main(path: Path = ARCHIVE) -> None:
    """Write the archive."""
    warnings.simplefilter("ignore")
    torch.manual_seed(1)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, (make, given) in MODELS.items():
            for exporter, content in exports(make().eval(), given()):
                entry = zipfile.ZipInfo(f"{name}/{exporter}")
                archive.writestr(entry, without_weights(exporter, content), zipfile.ZIP_DEFLATED, 9)
        versions = {one.__name__: one.__version__ for one in (torch, transformers, onnx)}
        archive.writestr(zipfile.ZipInfo("versions.json"), json.dumps(versions))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
