import subprocess
import sys
from collections.abc import Sequence
from math import prod
from pathlib import Path

import pytest

import boundmark.datasets.zoo as zoo
from boundmark.datasets.zoo import DATASET, about, index, load
from boundmark.problems.computation_graph import ComputationGraph, Operator
from boundmark.problems.devices import default_device
from boundmark.problems.errors import InvalidInputError, UnknownNameError
from boundmark.problems.pipeline import PipelineInstance
from boundmark.problems.pipeline.costs import pipeline_graph
from boundmark.problems.placement import default_cluster
from boundmark.problems.placement.costs import placement_graph

# Multiply-adds in 10^9 of convolutions and products, and weights in 10^6, as torchvision states
# them for its weights (`_ops` and `num_params` in their `meta`). Inception v3 and GoogLeNet have
# auxiliary heads there, which serve training only.
TORCHVISION = {
    "inception-v3": (5.713, None),
    "resnet-18": (1.814, 11.690),
    "resnet-50": (4.089, 25.557),
    "resnet-101": (7.801, 44.549),
    "resnet-152": (11.514, 60.193),
    "resnext-101-32x8d": (16.414, 88.791),
    "wide-resnet-101-2": (22.753, 126.887),
    "alexnet": (0.714, 61.101),
    "vgg-16": (15.470, 138.358),
    "googlenet": (1.498, None),
    "squeezenet-1.1": (0.349, 1.235),
    "densenet-201": (4.291, 20.014),
    "shufflenet-v2-2.0": (0.583, 7.394),
    "mnasnet-1.0": (0.314, 4.383),
    "mobilenet-v2": (0.301, 3.505),
    "mobilenet-v3-large": (0.217, 5.483),
    "efficientnet-b0": (0.386, 5.289),
    "efficientnet-b7": (37.746, 66.348),
    "efficientnet-v2-l": (56.080, 118.515),
    "regnet-y-16gf": (15.912, 83.590),
    "convnext-tiny": (4.456, 28.589),
    "convnext-large": (34.361, 197.767),
    "vit-b-16": (17.564, 86.568),
    "vit-l-16": (61.555, 304.327),
    "swin-b": (15.431, 87.768),
    "maxvit-t": (5.558, 30.920),
}

# All operations in 10^9, a multiply-add being two. ResNet-50 and ViT: twice torchvision's
# multiply-adds. GPT-2: `transformer_sizing.ipynb` of karpathy/nanoGPT, 1,024 tokens. BERT has a
# test by formula below.
TOTALS = {
    "resnet-50": 2 * 4.089,
    "vit-b-16": 2 * 17.564,
    "gpt-2": 291.6483072,
}

# Weights in 10^6 that the models' authors or, if they have none, well-known model cards state.
WEIGHTS = {
    "bert-base": 109.482,
    "bert-large": 335.142,
    "gpt-2": 124.440,
    "gpt-3-13b": 13_000,
    "llama-2-7b": 6_738.416,
    "llama-3-8b": 8_030.261,
    "mixtral-8x7b": 46_702.793,
    "diffusion-unet": 859.521,
    "t5-base": 222.904,
    "whisper-small": 241.735,
    "swin-1.8b": 1_800,
    "swin-6.6b": 6_600,
    "swin-13b": 13_000,
    "evoformer-87m": 87,
    "evoformer-930m": 930,
}


def multiply_adds(graph: ComputationGraph, operators: Sequence[Operator] | None = None) -> int:
    """Return those of convolutions and products, without the bias, in all operators or some."""
    total = 0
    for operator in graph.operators if operators is None else operators:
        shapes = [graph.tensors[number].shape for number in operator.reads]
        written = prod(graph.tensors[operator.writes[0]].shape)
        if operator.op_type == "Conv":
            total += written * prod(shapes[1][1:])
        elif operator.op_type in ("Gemm", "MatMul"):
            total += written * shapes[0][-1]
        elif operator.op_type == "Einsum":
            total += operator.flops // 2
        elif operator.op_type == "Attention":
            total += (prod(shapes[0]) + written) * shapes[1][-2]
    return total


@pytest.mark.parametrize(("name", "published"), TORCHVISION.items())
def test_torchvision_agrees(name: str, published: tuple[float, float | None]) -> None:
    """Multiply-adds agree with what torchvision states to 0.5 %, weights to its last digit."""
    giga, millions = published
    assert multiply_adds(load(name)) / 1e9 == pytest.approx(giga, rel=0.005, abs=0.001)
    if millions is not None:
        assert index()[name]["parameters"] / 1e6 == pytest.approx(millions, abs=0.001)


@pytest.mark.parametrize(("name", "giga"), TOTALS.items())
def test_published_totals(name: str, giga: float) -> None:
    """All operations together, elementwise ones included, agree with published totals to 2 %."""
    assert load(name).flops.sum() / 1e9 == pytest.approx(giga, rel=0.02)


@pytest.mark.parametrize(("name", "millions"), WEIGHTS.items())
def test_published_weights(name: str, millions: float) -> None:
    """Numbers of weights are those published; to 10 % where only a round number is."""
    is_round = isinstance(millions, int)
    tolerance = 0.1 if is_round else 1e-5
    assert index()[name]["parameters"] / 1e6 == pytest.approx(millions, rel=tolerance)


def test_bert_by_formula() -> None:
    """Products of an encoder of 12 layers, 768 wide, for 128 tokens."""
    width, length = 768, 128
    layer = 12 * length * width**2 + 2 * length**2 * width
    graph = load("bert-base")
    assert multiply_adds(graph) == 12 * layer
    # Elementwise operations, normalisations and the pooler are the rest.
    assert graph.flops.sum() == pytest.approx(2 * 12 * layer, rel=0.02)


TRAINING = [name for name in DATASET.members() if name.endswith("-training")]


@pytest.mark.parametrize("name", TRAINING)
def test_training_takes_three_times_as_much(name: str) -> None:
    """A product has two gradients, one for each factor, of as many multiply-adds each.

    The results are the loss and tensors that have an element for each weight.
    """
    graph = load(name)
    gradients = [one for one in graph.operators if "grad/" in one.name]
    forward = [one for one in graph.operators if "grad/" not in one.name]
    assert multiply_adds(graph, gradients) == 2 * multiply_adds(graph, forward) > 0
    inference = name.removesuffix("-training")
    # The shipped BERT has no head for masked words.
    if inference != "bert-base":
        assert multiply_adds(graph, forward) == multiply_adds(load(inference))
        assert index()[name]["parameters"] == index()[inference]["parameters"]
    loss, *shapes = [graph.tensors[number].shape for number in graph.results]
    assert loss == ()
    assert sum(map(prod, shapes)) == index()[name]["parameters"]


@pytest.mark.slow
@pytest.mark.parametrize("name", DATASET.members())
def test_every_graph(name: str) -> None:
    """The index says what is in the file, the file says where it is from, and costs come of it."""
    entry, origin = index()[name], about(name)
    graph = load(name)
    assert entry["nodes"] == graph.dag.nodes
    assert entry["edges"] == graph.dag.edges
    assert entry["flops"] == graph.flops.sum()
    assert entry["parameters"] == origin["weights"] > 0
    assert origin["source"] == entry["source"]
    assert origin["configuration"]
    assert {"python", "torch"} <= set(origin["versions"])
    assert graph.inputs
    assert graph.results
    # One piece: nothing was cut off where an operator was not understood.
    assert PipelineInstance(pipeline_graph(graph, default_device()), 4).nodes == entry["nodes"]


def test_there_are_enough() -> None:
    """Papers' models are there, and many more; all together are small."""
    papers = {
        *("inception-v3", "resnet-50", "resnet-101", "bert-base", "swin-1.8b", "swin-6.6b"),
        *("gpt-3-330m", "gpt-3-1.3b", "gpt-3-2.7b", "gpt-3-13b", "mt5-base"),
        *("swin-13b", "mt5-1.8b", "evoformer-930m", "mt5-1.8b-training"),
        *("flava-base", "flava-tessel", "evoformer-87m", "bert-base-training", "gpt-2-training"),
        *("gpt-3-1.3b-training", "mt5-base-training"),
    }
    assert papers <= set(DATASET.members())
    assert len(DATASET.members()) >= 45
    folder = Path(zoo.__file__).parent / "data"
    files = {path.name.removesuffix(".json.gz") for path in folder.glob("*.gz")}
    assert files == set(DATASET.members())
    assert sum(path.stat().st_size for path in folder.iterdir()) < 10 * 2**20


def test_placement_takes_them() -> None:
    """The other problem about models makes its costs of the same graph."""
    graph = placement_graph(load("bert-base"), default_cluster())
    assert graph.nodes == index()["bert-base"]["nodes"]


def test_unknown_names() -> None:
    """A slip gets the names that come near."""
    with pytest.raises(UnknownNameError, match="did you mean bert-base"):
        load("bert_base")


def test_damaged_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is not as it was shipped is refused, and so is one that is gone."""
    entry = index()["resnet-18"]
    monkeypatch.setitem(index(), "resnet-1", entry)
    with pytest.raises(InvalidInputError, match="zoo/resnet-1: the file is missing"):
        load("resnet-1")
    monkeypatch.setitem(index(), "resnet-18", {**entry, "sha256": "0" * 64})
    with pytest.raises(InvalidInputError, match="zoo/resnet-18: the file has the hash"):
        load("resnet-18")


def test_listing_reads_no_graph() -> None:
    """The index is enough to list data sets, and what reads graphs reads no Parquet."""
    code = (
        "import sys; from boundmark.datasets.zoo import DATASET; DATASET.load('alexnet'); "
        "print('pyarrow' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
