from functools import cache

import pytest

from boundmark.datasets import onnx_light
from boundmark.datasets.onnx_light import DATASET, FILES
from boundmark.problems.devices import default_device
from boundmark.problems.errors import UnknownNameError
from boundmark.problems.pipeline import PipelineInstance
from boundmark.problems.pipeline.costs import pipeline_graph

# Each is read once: graphs cannot change.
load = cache(onnx_light.load)

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

# Of the instances with these numbers of stages on the default device. Stored results and
# certificates refer to instances by hash, so none of these may ever change.
SHA256 = {
    ("alexnet", 2): "3ab201f274135f01f3d56b3b76f62e9d1aa7b34534dab86789170d2ed7ad470f",
    ("alexnet", 8): "5583dffbdd79d9f003a5176417f48fb1c476679a610aa8422a2287b450935015",
    ("zfnet512", 2): "b49001020b7839309334b3293dc8e9eb69a281e2108e1265f5ea61d21a9754d5",
    ("zfnet512", 8): "3c0f3d91089896739896852a094bebcd6f5ba1f0fc9998f5edf965f73e568765",
    ("vgg19", 2): "f30bee9df4548c78d4d128c7c6105793ee036f739005debf09df37ebe3a48561",
    ("vgg19", 8): "b8e2483cea5dcfc1f5b70d00baf711ce73bcd855f74d03e872be557548bcd27f",
    ("inception-v1", 2): "abfa2007f2785417a69b9c4f8ec544442eef27ef575fd16e3510e61874fa1a80",
    ("inception-v1", 8): "d836088f8566e0096cf5d67411ba264c6e5c3cacf36139db3e4bc296a453d632",
    ("inception-v2", 2): "f91ba1c6a00799a735c4b388d6df598fb50d7dfac422d7d27699fb36a7be1149",
    ("inception-v2", 8): "56df758209ae646c6cc2f974a3494a84cbe8d1f154773366e35dd2796139d7aa",
    ("resnet50", 2): "be468c8443501dab6ba0cee622efb52d6164decafedb0a24e2b5d52a163f8460",
    ("resnet50", 8): "a96f8fc71af993d8b4c10dd32ad48ddfab332980307d1bf190452befbc5a6926",
    ("squeezenet", 2): "c78563c4c3367f34cb90085939e55caff6f42de8ca4214c9eb71d902cb6e8062",
    ("squeezenet", 8): "293d04a8e7864b0321e56005be776089bb3014a009d63060cd3288dbb25d8dc0",
    ("densenet121", 2): "98a7ab07036cf1ebaa1b22498ace55d6378e1193a478b8376744c2c40787189e",
    ("densenet121", 8): "d6d5a58bdf289600c23acd3c48de1b34224a63776b106de1b9236e7e09507f7a",
    ("shufflenet", 2): "d657e6fcfb5ca98a78fe46a78549ee18a92d533e4bc0aa0a177ae538a9fc52e6",
    ("shufflenet", 8): "c00a00a6a6ce6d4e25b42a5bdddaa8eec6ee07aaf70366835f6f03537798a3b3",
}

# By hand from the architectures' descriptions: the operators' shapes, and what they are set to.
LAYERS = [
    (
        "alexnet",
        {
            "op_type": "Conv",
            "reads": [(1, 3, 224, 224), (96, 3, 11, 11), (96,)],
            "writes": [(1, 96, 54, 54)],
            "strides": (4, 4),
            "pads": (0, 0, 0, 0),
            "group": 1,
        },
    ),
    (
        "alexnet",
        {
            "op_type": "Conv",
            "reads": [(1, 96, 26, 26), (256, 48, 5, 5), (256,)],
            "writes": [(1, 256, 26, 26)],
            "strides": (1, 1),
            "pads": (2, 2, 2, 2),
            "group": 2,
        },
    ),
    (
        "vgg19",
        {
            "op_type": "Gemm",
            "reads": [(1, 25088), (4096, 25088), (4096,)],
            "writes": [(1, 4096)],
            "transB": 1,
        },
    ),
    (
        "resnet50",
        {
            "op_type": "MaxPool",
            "reads": [(1, 64, 112, 112)],
            "writes": [(1, 64, 56, 56)],
            "kernel_shape": (3, 3),
            "strides": (2, 2),
        },
    ),
    (
        "densenet121",
        {
            "op_type": "Concat",
            "reads": [(1, 64, 56, 56), (1, 32, 56, 56)],
            "writes": [(1, 96, 56, 56)],
            "axis": 1,
        },
    ),
    (
        "shufflenet",
        {
            "op_type": "Transpose",
            "reads": [(1, 4, 28, 56, 56)],
            "writes": [(1, 28, 4, 56, 56)],
            "perm": (0, 2, 1, 3, 4),
        },
    ),
]

# Nodes, edges, GFLOPs and millions of parameters, as read from the files.
SIZES = {
    "alexnet": (24, 23, 1.315, 60.965),
    "zfnet512": (22, 21, 2.981, 87.251),
    "vgg19": (46, 45, 39.300, 143.667),
    "inception-v1": (143, 169, 2.888, 6.999),
    "inception-v2": (371, 398, 4.068, 11.235),
    "resnet50": (176, 191, 8.218, 25.610),
    "squeezenet": (66, 73, 0.707, 1.235),
    "densenet121": (668, 725, 5.749, 8.146),
    "shufflenet": (203, 218, 0.261, 1.420),
}


def test_sizes_are_as_they_were():
    """Nodes, edges, operations and parameters of all nine, in the order of the list."""
    assert list(SIZES) == list(DATASET.members())
    for member, (nodes, edges, gflops, mparams) in SIZES.items():
        graph = load(member)
        assert (graph.dag.nodes, graph.dag.edges) == (nodes, edges)
        assert graph.flops.sum() / 1e9 == pytest.approx(gflops, abs=5e-4)
        assert graph.param_bytes.sum() / 4e6 == pytest.approx(mparams, abs=5e-4)
        assert graph.dtype == "float32"


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


@pytest.mark.parametrize(("member", "layer"), LAYERS)
def test_shapes_and_attributes_agree_with_the_architecture(member, layer):
    """Some operator of the model reads and writes these shapes, and is set to these values."""
    graph = load(member)
    expected = dict(layer)
    shapes = {field: expected.pop(field) for field in ("op_type", "reads", "writes")}
    found = [
        node.attributes
        for node in graph.operators
        if shapes
        == {
            "op_type": node.op_type,
            "reads": [graph.tensors[number].shape for number in node.reads],
            "writes": [graph.tensors[number].shape for number in node.writes],
        }
    ]
    assert any(expected.items() <= attributes.items() for attributes in found)


@pytest.mark.parametrize("member", DATASET.members())
def test_every_tensor_has_one_role(member):
    """Tensors are inputs, parameters or written; one image comes in, one result goes out."""
    graph = load(member)
    written = {number for node in graph.operators for number in node.writes}
    roles = [*graph.inputs, *graph.parameters, *written]
    assert sorted(roles) == list(range(len(graph.tensors)))
    assert [graph.tensors[number].shape for number in graph.inputs] == [(1, 3, 224, 224)]
    (result,) = graph.results
    assert graph.tensors[result].elements == 1000
    assert graph.output_bytes.sum() == sum(graph.tensors[number].bytes for number in written)


@pytest.mark.parametrize("member", DATASET.members())
def test_instances_keep_their_hashes(member):
    """Costs on the default device are the same to the tick as ever."""
    costs = pipeline_graph(load(member), default_device())
    for k in (2, 8):
        assert PipelineInstance(costs, k).sha256 == SHA256[member, k]


def test_unknown_models_are_explained():
    """A near miss is suggested."""
    assert DATASET.members() == tuple(FILES)
    with pytest.raises(
        UnknownNameError, match="no graph 'resnet-50' in onnx-light; did you mean re"
    ):
        load("resnet-50")
