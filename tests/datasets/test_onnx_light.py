from pathlib import Path

import pytest

from boundmark.datasets.onnx_light import DATASET, FILES, load
from boundmark.problems.device import DEFAULT_DEVICE
from boundmark.problems.errors import UnknownNameError
from boundmark.problems.pipeline.roofline import costed

# Open Model Zoo (openvinotoolkit/open_model_zoo, models/public/index.md and the models' pages)
# lists the same models; it counts two operations a multiply-add, as we do. What the files differ
# in is added to the tolerance: AlexNet and SqueezeNet 1.1 are listed for images of 227 x 227, and
# Inception v1 is listed with pooling rounded up (56, 28, 14, 7 where the file has 55, 27, 13, 6).
# ShuffleNet is not listed; X. Zhang et al., CVPR 2018, Table 2 gives 140 M multiply-adds for 1x.
# SqueezeNet 1.1 for 224 x 224 has 0.35 G multiply-adds in torchvision's table.
PUBLISHED_GFLOPS = {
    "alexnet": (1.5, 0.13),
    "vgg19": (39.3, 0.001),
    "inception-v1": (3.266, 0.12),
    "inception-v2": (4.058, 0.005),
    "resnet50": (8.216, 0.001),
    "squeezenet": (0.70, 0.02),
    "densenet121": (5.723, 0.005),
    "shufflenet": (0.28, 0.07),
}

# The same source. Running means and variances of batch normalisation are constants that an
# operation reads, but not everybody counts them as parameters.
PUBLISHED_MPARAMS = {
    "alexnet": (60.965, 0.0001),
    "vgg19": (143.667, 0.0001),
    "inception-v1": (6.999, 0.0001),
    "inception-v2": (11.185, 0.006),
    "resnet50": (25.53, 0.004),
    "squeezenet": (1.236, 0.001),
    "densenet121": (7.971, 0.025),
}

DOCUMENTATION = Path(__file__).parents[2] / "docs" / "datasets.md"


def test_documentation_has_these_numbers():
    """Sizes, operations and parameters of all nine are those in the documentation's table."""
    rows = []
    for member in DATASET.members():
        graph = load(member)
        gflops, mparams = graph.flops.sum() / 1e9, graph.param_bytes.sum() / 4e6
        rows.append(
            f"| {member} | {graph.dag.nodes} | {graph.dag.edges} | {gflops:.3f} | {mparams:.3f} |"
        )
        assert graph.dtype == "float32"
    assert "\n".join(rows) in DOCUMENTATION.read_text()


@pytest.mark.parametrize("member", PUBLISHED_GFLOPS)
def test_operations_agree_with_published_counts(member):
    """Totals agree with the literature up to differences that are known."""
    published, tolerance = PUBLISHED_GFLOPS[member]
    assert load(member).flops.sum() / 1e9 == pytest.approx(published, rel=tolerance)


@pytest.mark.parametrize("member", PUBLISHED_MPARAMS)
def test_parameters_agree_with_published_counts(member):
    """All weights are found behind the operators that make them up."""
    published, tolerance = PUBLISHED_MPARAMS[member]
    assert load(member).param_bytes.sum() / 4e6 == pytest.approx(published, rel=tolerance)


@pytest.mark.parametrize(
    ("member", "convolutions", "dense"),
    [
        (
            # Output side, output channels, input channels of a group, kernel side.
            "alexnet",
            [
                (54, 96, 3, 11),
                (26, 256, 48, 5),
                (12, 384, 256, 3),
                (12, 384, 192, 3),
                (12, 256, 192, 3),
            ],
            [(9216, 4096), (4096, 4096), (4096, 1000)],
        ),
        (
            "zfnet512",
            [
                (109, 96, 3, 7),
                (25, 256, 96, 5),
                (12, 512, 256, 3),
                (12, 512, 512, 3),
                (12, 512, 512, 3),
            ],
            [(18432, 4096), (4096, 1024), (1024, 1000)],
        ),
    ],
)
def test_layers_agree_with_the_architecture(member, convolutions, dense):
    """Layer by layer, products and biases are those of the architecture's description."""
    graph = load(member)
    expected = [
        side**2 * channels * (2 * inputs * kernel**2 + 1)
        for side, channels, inputs, kernel in convolutions
    ] + [outputs * (2 * inputs + 1) for inputs, outputs in dense]
    counted = [
        count
        for count, op_type in zip(graph.flops.tolist(), graph.op_types, strict=True)
        if op_type in ("Conv", "Gemm")
    ]
    assert counted == expected


@pytest.mark.parametrize("member", DATASET.members())
def test_models_get_positive_costs(member):
    """On the default device every model has work in every operation that launches a kernel."""
    graph = load(member)
    costs = costed(graph, DEFAULT_DEVICE)
    launched = [op_type not in ("Dropout", "Reshape") for op_type in graph.op_types]
    assert ((costs.work > 0) == launched).all()
    assert costs.is_cached


def test_unknown_models_are_explained():
    """A near miss is suggested."""
    assert DATASET.members() == tuple(FILES)
    with pytest.raises(
        UnknownNameError, match="no graph in onnx-light 'resnet-50'; did you mean re"
    ):
        load("resnet-50")
