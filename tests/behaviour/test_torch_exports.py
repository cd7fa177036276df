"""Five models of PyTorch by three exporters each: all are read, and cost the same."""

import importlib.util
import runpy
import zipfile
from pathlib import Path

import pytest

import boundmark
from boundmark.datasets.resolve import load_file
from boundmark.problems.computation_graph import ComputationGraph, kernels_of
from boundmark.problems.devices import find_device
from boundmark.problems.roofline import operation_seconds

FOLDER = Path(__file__).parents[1] / "datasets" / "torch_exports"
MODELS = ("MultiheadAttention", "TransformerEncoder", "ResNet-18", "BERT", "Llama")
EXPORTS = ("legacy.onnx", "dynamo.onnx", "export.pt2")

# What exporters may differ in: see docs/pytorch.md.
CLOSE = 1.02

NEEDED = ("torch", "onnxscript", "transformers")
HAS_TORCH = all(importlib.util.find_spec(name) is not None for name in NEEDED)


def files(archive: Path, folder: Path) -> dict[str, list[Path]]:
    """Return the files of an archive, extracted, by model."""
    with zipfile.ZipFile(archive) as content:
        content.extractall(folder)
    return {model: [folder / model / one for one in EXPORTS] for model in MODELS}


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    """Return the files that are kept here."""
    return files(FOLDER / "exports.zip", tmp_path_factory.mktemp("exports"))


def seconds(path: Path, device: str = "nvidia-t4") -> float:
    """Return how long a device takes for a model in a file."""
    hardware = find_device(device)
    assert isinstance(hardware, boundmark.problems.devices.Device)
    return float(operation_seconds(load_file(path), hardware).sum())


def check_costs(exported: dict[str, list[Path]]) -> None:
    """Compare the exports of each model, on a device that fuses too, with few operators."""
    for model, paths in exported.items():
        for device in ("nvidia-t4", "nvidia-t4+fusion"):
            times = [seconds(path, device) for path in paths]
            assert max(times) <= CLOSE * min(times), (model, device, times)


def test_exports_cost_the_same(exported: dict[str, list[Path]]) -> None:
    """Whichever exporter wrote the file."""
    check_costs(exported)


def kinds(graph: ComputationGraph) -> set[frozenset[str]]:
    """Return the operators' types of each kernel of several."""
    groups = [{graph.op_types[node] for node in one.members} for one in kernels_of(graph)]
    return {frozenset(one) for one in groups if len(one) > 1}


def test_what_is_taken_apart_is_recognised(exported: dict[str, list[Path]]) -> None:
    """Attention, normalisation, SiLU and biases of Llama and BERT; batch norms of ResNet-18."""
    llama = kinds(load_file(exported["Llama"][0]))
    assert any({"MatMul", "Softmax"} < one for one in llama)
    assert {"Sigmoid", "Mul"} in llama
    assert any({"ReduceMean", "Pow", "Sqrt"} < one for one in llama)
    assert {"MatMul", "Add"} in kinds(load_file(exported["BERT"][0]))
    assert {"Conv", "BatchNormalization"} in kinds(load_file(exported["ResNet-18"][2]))


@pytest.mark.slow
def test_optima_are_the_same(exported: dict[str, list[Path]]) -> None:
    """Four stages of two of the models are proven optimal at costs within two per cent."""
    for model in ("TransformerEncoder", "BERT"):
        answers = [
            boundmark.solve(
                boundmark.load(path, device="nvidia-t4"), k=4, seconds=20, quiet=True
            )
            for path in exported[model]
        ]  # fmt: skip
        costs = [answer.cost or 0 for answer in answers]
        assert all(answer.is_optimal for answer in answers)
        assert max(costs) <= CLOSE * min(costs)


@pytest.mark.slow
@pytest.mark.skipif(not HAS_TORCH, reason="the dependency group `torch` is not installed")
@pytest.mark.filterwarnings("ignore")
def test_exporters_of_today(tmp_path: Path) -> None:
    """What the installed versions write is read and costs the same as well."""
    made = runpy.run_path(str(FOLDER / "make.py"))
    made["main"](tmp_path / "exports.zip")
    check_costs(files(tmp_path / "exports.zip", tmp_path))
