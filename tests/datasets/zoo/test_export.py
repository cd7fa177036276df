"""The exporter of the zoo makes the graphs that are stored."""

import gzip
import json
from dataclasses import replace
from math import prod
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from boundmark.datasets.readers.graph_file import from_json
from boundmark.datasets.zoo import index, load
from boundmark.datasets.zoo.export import MODELS, write

pytestmark = pytest.mark.filterwarnings("ignore")

KNOWN = {model.name: model for model in MODELS}

# Of which only the graphs are kept: networks that were written for the zoo.
ONLY_STORED = {
    *("evoformer-87m", "evoformer-930m", "evoformer-2.4b", "evoformer-3.2b"),
    *("mixtral-8x7b", "unet", "diffusion-unet", "gnmt", "wavernn"),
}


def test_every_other_graph_has_a_model() -> None:
    """Each once, by the name of the index."""
    assert len(KNOWN) == len(MODELS)
    assert KNOWN.keys() == index().keys() - ONLY_STORED


def test_an_export_is_the_stored_graph(tmp_path: Path) -> None:
    """Operator by operator, on one of the smaller models; other lines of the index stay."""
    (tmp_path / "index.json").write_text('{"kept": {}}')
    line = write(KNOWN["distilbert-base"], tmp_path)
    entries = json.loads((tmp_path / "index.json").read_text())
    assert entries.pop("kept") == {}
    entry, stored = entries["distilbert-base"], index()["distilbert-base"]
    assert {key: x for key, x in entry.items() if key != "sha256"} == {
        key: x for key, x in stored.items() if key != "sha256"
    }
    assert f"{stored['nodes']} nodes" in line
    made = from_json(gzip.decompress((tmp_path / "distilbert-base.json.gz").read_bytes()))[0]
    expected = load("distilbert-base")
    assert made.names == expected.names
    assert made.flops.tolist() == expected.flops.tolist()
    assert made.tensors == expected.tensors


def test_a_step_of_training(tmp_path: Path) -> None:
    """The results are the loss and the gradients of all weights, named after their modules."""
    small = {"n_layer": 1, "n_embd": 8, "n_head": 2, "n_positions": 4, "vocab_size": 16}
    model = replace(KNOWN["gpt-2-training"], settings=small, inputs={"input_ids": (1, 4)})
    write(model, tmp_path)
    graph, origin = from_json(gzip.decompress((tmp_path / "gpt-2-training.json.gz").read_bytes()))
    loss, *gradients = (graph.tensors[number].shape for number in graph.results)
    assert loss == ()
    assert sum(map(prod, gradients)) == origin.parameters
    assert any(name.startswith("transformer.h.0.mlp.c_fc/grad/") for name in graph.names)
