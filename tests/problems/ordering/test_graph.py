"""Instances of model graphs."""

from boundmark.datasets.onnx_light import load
from boundmark.problems.computation_graph import LEFT_OUT, ComputationGraph, Operator, Tensor
from boundmark.problems.ordering import OrderingInstance
from boundmark.problems.ordering.graph import ordering_graph


def _operator(name: str, op_type: str, reads: list[int], writes: list[int]) -> Operator:
    return Operator(name, op_type, 0, tuple(reads), tuple(writes), {})


# x and weight -> conv -> relu -> add of relu and conv, which is returned like relu's output.
GRAPH = ComputationGraph(
    operators=(
        _operator("conv", "Conv", [0, 1, LEFT_OUT], [2]),
        _operator("relu", "Relu", [2], [3]),
        _operator("neg", "Neg", [2], [4]),
        _operator("add", "Add", [3, 4, 1], [5]),
        _operator("split", "Split", [5], [6, 7]),
    ),
    tensors=(
        Tensor("x", (8,), "float32"), Tensor("weight", (8,), "float32"),
        Tensor("conv", (8,), "float32"), Tensor("relu", (8,), "float32"),
        Tensor("neg", (8,), "float32"), Tensor("add", (8,), "float32"),
        Tensor("left", (4,), "float32"), Tensor("right", (4,), "float16"),
    ),
    parameters=frozenset([1]),
    results=(3, 6, 7),
)  # fmt: skip


def test_a_small_graph() -> None:
    """Parameters are apart, results are kept, and elementwise operators may overwrite.

    Not the model's input, which belongs to the caller, nor a result.
    """
    graph = ordering_graph(GRAPH)
    assert graph.size.tolist() == [32, 32, 32, 32, 32, 16, 8]
    assert graph.producer.tolist() == [-1, 0, 1, 2, 3, 4, 4]
    assert graph.consumers == ((0,), (1, 2), (3,), (3,), (4,), (), ())
    assert graph.kept == (2, 5, 6)
    assert graph.parameter_size.tolist() == [32, 0, 0, 32, 0]
    assert graph.parameter_total == 32
    assert graph.overwrites == ((), (1,), (1,), (3,), ())
    assert graph.names == ("conv", "relu", "neg", "add", "split")


def test_a_real_model() -> None:
    """SqueezeNet: 1.2 million parameters, one input of 588 KiB, one result."""
    graph = ordering_graph(load("squeezenet"))
    assert graph.parameter_total == 4 * 1_235_496
    assert sum(graph.size[graph.producer < 0].tolist()) == 4 * 3 * 224 * 224
    assert len(graph.kept) == 1
    instance = OrderingInstance(graph)
    assert instance.sha256 == SQUEEZENET
    assert OrderingInstance.from_json(instance.to_json()).sha256 == SQUEEZENET


# Stored results and certificates refer to instances by hash, so this may never change.
SQUEEZENET = "b8da678f4f78322d355b04353d597012aefd5d484bc4148a3eee9e7099f0e12e"
