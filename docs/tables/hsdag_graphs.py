"""Count the graphs of HSDAG's three models as its paper made them: `python hsdag_graphs.py DIR`.

PyTorch's models with random weights become OpenVINO's IR and ONNX files in DIR, and
docs/tables/hsdag/graphs.csv says how many nodes and edges they have. Needs torch, torchvision,
transformers and openvino, and nothing from the network; weights change no graph, but for zeros, of
which OpenVINO makes no additions.
"""

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

import boundmark
from boundmark.datasets.readers import openvino as openvino_file
from boundmark.datasets.readers.openvino import read_edges, read_layers

DATA = Path(__file__).resolve().parent / "hsdag"

WORDS = 128


def _torchvision(name: str, size: int, **given: Any) -> tuple[Any, Any]:
    import torch
    import torchvision

    model = getattr(torchvision.models, name)(weights=None, **given)
    return model, torch.rand(1, 3, size, size)


def inception_v3() -> tuple[Any, Any]:
    """Return the model and an input; pretrained ones scale their input, as this one does."""
    return _torchvision("inception_v3", 299, init_weights=False, transform_input=True)


def resnet_50() -> tuple[Any, Any]:
    """Return the model and an input."""
    return _torchvision("resnet50", 224)


def bert_base() -> tuple[Any, Any]:
    """Return the model, of which words are the only input, and an input."""
    import torch
    from transformers import BertConfig, BertModel

    class Words(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            config = BertConfig()
            config._attn_implementation = "eager"
            self.model = BertModel(config)

        def forward(self, words: Any) -> Any:
            found = self.model(input_ids=words)
            return found.last_hidden_state, found.pooler_output

    return Words(), torch.ones(1, WORDS, dtype=torch.long)


MODELS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "inception-v3": inception_v3,
    "resnet-50": resnet_50,
    "bert-base": bert_base,
}


def exported(name: str, folder: Path) -> Path:
    """Write a model as IR with weights of half precision and as ONNX, and return the IR's file."""
    import openvino
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    model, example = MODELS[name]()
    model.eval()
    with torch.no_grad():
        numbers = [*model.parameters(), *model.buffers()]
        for one in (one for one in numbers if one.is_floating_point()):
            one.add_(0.001 * torch.rand_like(one))
    torch.onnx.export(model, (example,), str(folder / f"{name}.onnx"), dynamo=False)
    path = folder / f"{name}.xml"
    shape = list(example.shape)
    converted = openvino.convert_model(model, example_input=example, input=[shape])
    openvino.save_model(converted, path, compress_to_fp16=True)
    return path


def main(folder: Path) -> None:
    """Write a row for each model."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for name in MODELS:
        path = exported(name, folder)
        root = openvino_file.read_tree(path)
        layers = read_layers(root)
        kinds = Counter(layer.kind for layer in layers)
        read = boundmark.load(path, device="nvidia-t4")
        rows.append(
            {
                "model": name,
                "nodes": len(layers),
                "edges": len(read_edges(root, layers)),
                "types": len(kinds),
                "constants": kinds["Const"] + kinds["Constant"],
                "conversions": kinds["Convert"],
                "operators": read.nodes,
            }
        )
    DATA.mkdir(exist_ok=True)
    pd.DataFrame(rows).to_csv(DATA / "graphs.csv", index=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
