"""Kernels: what is one, and what only looks like it."""

import json
from pathlib import Path

import numpy as np
import pytest
from onnx import NodeProto, TensorProto, helper, numpy_helper

from boundmark.datasets.readers.graph_file import GraphOrigin, load, to_json
from boundmark.datasets.readers.kernel_recognition import with_kernels
from boundmark.datasets.readers.onnx.file import of_model
from boundmark.datasets.resolve import load_member
from boundmark.problems.computation_graph import VIEW, ComputationGraph, kernels_of
from boundmark.problems.devices import Device, find_device
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.roofline import operation_seconds

SHAPE = [2, 4, 8, 8]


def graph_of(*nodes: NodeProto, results: tuple[str, ...] = ("y",)) -> ComputationGraph:
    """Return the graph of nodes that read `x`, and `w`, `b` and the number `s`."""
    weights = {"w": np.ones((8, 8)), "b": np.ones(8), "s": np.array(0.5)}
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, SHAPE) for name in ("x", "z")],
        [helper.make_empty_tensor_value_info(name) for name in results],
        [
            numpy_helper.from_array(value.astype(np.float32), name)
            for name, value in weights.items()
        ],
    )
    return of_model(
        helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)])
    )


def node(op_type: str, reads: str, writes: str, **attributes: object) -> NodeProto:
    """Return a node, named like what it writes."""
    return helper.make_node(op_type, reads.split(), [writes], writes, **attributes)


def groups(graph: ComputationGraph) -> list[str]:
    """Return the names of the operators of each kernel of several."""
    found = with_kernels(graph)
    names = [[graph.names[at] for at in one.members] for one in kernels_of(found)]
    return [" ".join(one) for one in names if len(one) > 1]


MEAN = {"axes": [-1]}

# Mean, difference, square, mean, deviation and quotient.
CENTRED = (
    node("ReduceMean", "x", "m", **MEAN), node("Sub", "x m", "d"), node("Mul", "d d", "q"),
    node("ReduceMean", "q", "v", **MEAN), node("Add", "v s", "e"), node("Sqrt", "e", "r"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ([*CENTRED, node("Div", "d r", "y")], ["m d q v e r y"]),
        (
            [*CENTRED, node("Div", "d r", "n"), node("Mul", "n b", "g"), node("Add", "g b", "y")],
            ["m d q v e r n g y"],
        ),
        # Erf, the number 1 apart, as torch writes it.
        (
            [node("Div", "x s", "a"), node("Erf", "a", "e"), node("Add", "e s", "f"),
             node("Mul", "x f", "g"), node("Mul", "g s", "y")],
            ["a e f g y"],
        ),
        # By tanh, as GPT-2 has it.
        (
            [node("Mul", "x s", "h"), node("Pow", "x s", "p"), node("Mul", "p s", "a"),
             node("Add", "x a", "c"), node("Mul", "c s", "d"), node("Tanh", "d", "t"),
             node("Add", "t s", "u"), node("Mul", "h u", "y")],
            ["h p a c d t u y"],
        ),
        ([node("Sigmoid", "x", "a"), node("Mul", "a x", "y")], ["a y"]),
        # A gate of another tensor is no activation.
        ([node("Sigmoid", "x", "a"), node("Mul", "a z", "y")], []),
        (
            [node("Transpose", "z", "t", perm=[0, 1, 3, 2]), node("Mul", "x s", "a"),
             node("MatMul", "a t", "b1"), node("Add", "b1 b", "c"), node("Softmax", "c", "p"),
             node("MatMul", "p z", "y")],
            ["a b1 c p y"],
        ),
        # A classifier's softmax.
        ([node("MatMul", "x w", "a"), node("Softmax", "a", "y")], []),
        ([node("MatMul", "x w", "a"), node("Add", "a b", "y")], ["a y"]),
        # A shortcut is no bias.
        ([node("MatMul", "x w", "a"), node("Add", "a x", "y")], []),
        # Squeeze-and-excitation, and a mean by itself.
        ([node("ReduceMean", "x", "m", **MEAN), node("Mul", "m x", "y")], []),
    ],
)  # fmt: skip
def test_patterns(nodes: list[NodeProto], expected: list[str]) -> None:
    """Those of the exporters, and some that are like them."""
    assert groups(graph_of(*nodes)) == expected


QUANTISED = node("QuantizeLinear", "x s", "q")


def test_quantisation_belongs_to_the_operator_between() -> None:
    """It reads and writes bytes; what enters the model or leaves it is quantised for itself."""
    graph = graph_of(
        QUANTISED, node("DequantizeLinear", "q s", "d"), node("MatMul", "d w", "p"),
        node("QuantizeLinear", "p s", "r"), node("DequantizeLinear", "r s", "y"),
    )  # fmt: skip
    assert groups(graph) == ["d p r"]
    kernels = {graph.names[one.bearer]: one for one in kernels_of(with_kernels(graph))}
    moved = kernels["p"].reads | kernels["p"].writes
    assert {graph.tensors[one].dtype for one in moved} == {"uint8"}


def test_what_several_operators_dequantise_costs_them_only() -> None:
    """Each of them does it for itself."""
    graph = graph_of(
        QUANTISED, node("DequantizeLinear", "q s", "d"),
        node("Relu", "d", "a"), node("Neg", "d", "n"), node("Add", "a n", "y"),
    )  # fmt: skip
    assert with_kernels(graph).kernels == (0, VIEW, 2, 3, 4)


def test_views_of_quantised_elements_take_no_time() -> None:
    """Although quantisation stands on both sides of them."""
    graph = graph_of(
        QUANTISED, node("DequantizeLinear", "q s", "d"), node("Transpose", "d", "t"),
        node("QuantizeLinear", "t s", "r"), node("DequantizeLinear", "r s", "e"),
        node("Relu", "e", "y"),
    )  # fmt: skip
    assert with_kernels(graph).kernels == (0, VIEW, VIEW, VIEW, 5, 5)


def test_a_product_of_integers_is_one_with_its_scales() -> None:
    """As quantisation at run time writes it, with the scale of both factors and a bias."""
    graph = graph_of(
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "k", "n"], "q"),
        node("QuantizeLinear", "w s", "v"), node("MatMulInteger", "q v n", "i"),
        node("Cast", "i", "f", to=TensorProto.FLOAT), node("Mul", "k s", "c"),
        node("Mul", "f c", "m"), node("Add", "m b", "y"),
    )  # fmt: skip
    assert groups(graph) == ["i f c m y"]


def test_operators_of_runtimes_form_kernels_like_those_of_onnx() -> None:
    """A product with weights of four bits, and its bias."""
    weights = [("p", TensorProto.UINT8, [8, 1, 16]), ("e", TensorProto.FLOAT, [8, 1])]
    graph = helper.make_graph(
        [
            helper.make_node(
                "MatMulNBits", ["x", "p", "e"], ["m"], "m", domain="com.microsoft", N=8, K=32,
                bits=4, block_size=32,
            ),
            node("Add", "m b", "y"),
        ],
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 32])],
        [helper.make_empty_tensor_value_info("y")],
        [
            *(helper.make_tensor(name, kind, dims, bytes(128 if name == "p" else 32), raw=True)
              for name, kind, dims in weights),
            numpy_helper.from_array(np.ones(8, np.float32), "b"),
        ],
    )  # fmt: skip
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, ir_version=9, opset_imports=imports)
    assert groups(of_model(model)) == ["m y"]


def test_what_is_read_elsewhere_is_no_inside() -> None:
    """A kernel does not hide what the model returns."""
    product = node("MatMul", "x w", "a")
    assert groups(graph_of(product, node("Add", "a b", "y"), results=("y", "a"))) == []


def test_views_take_no_time() -> None:
    """Nor do casts to the type that a tensor has."""
    graph = with_kernels(
        graph_of(
            node("Transpose", "x", "t", perm=[0, 1, 3, 2]),
            node("Cast", "t", "c", to=TensorProto.FLOAT),
            node("Relu", "c", "r"),
            node("Cast", "r", "y", to=TensorProto.FLOAT16),
        )
    )
    assert graph.kernels == (VIEW, VIEW, 2, 3)
    times = operation_seconds(graph, device())
    assert (times[:2] == 0).all()
    assert (times[2:] > 0).all()


def device(name: str = "nvidia-t4") -> Device:
    """Return a device."""
    found = find_device(name)
    assert isinstance(found, Device)
    return found


def test_a_kernel_is_one_operation() -> None:
    """It moves what enters and leaves it, and is launched once."""
    graph = with_kernels(graph_of(node("MatMul", "x w", "a"), node("Add", "a b", "y")))
    t4 = device()
    elements = int(np.prod(SHAPE))
    moved = 4 * (2 * elements + 64 + 8)
    expected = max((2 * 8 + 1) * elements / t4.rate("float32"), moved / t4.memory_bandwidth)
    assert operation_seconds(graph, t4).tolist() == [expected + t4.op_overhead, 0.0]


@pytest.mark.parametrize("member", ["zoo/gpt-2", "zoo/mobilenet-v3-large", "zoo/maxvit-t"])
def test_kernels_are_cheaper_and_hang_together(member: str) -> None:
    """Never dearer than operators one by one, and each with one tensor less to move at least."""
    plain = load_member(member)
    graph = with_kernels(plain)
    assert graph.names == plain.names
    for name in ("nvidia-t4", "nvidia-t4+fusion"):
        assert (
            operation_seconds(graph, device(name)).sum()
            < operation_seconds(plain, device(name)).sum()
        )
    for kernel in kernels_of(graph):
        assert kernel.bearer in kernel.members
        made = {x for at in kernel.members for x in graph.operators[at].writes}
        assert len(kernel.members) == 1 or len(made - kernel.writes) >= 1


def test_graphs_keep_their_kernels(tmp_path: Path) -> None:
    """A file of a graph costs what the graph does; nonsense in it is refused."""
    graph = with_kernels(graph_of(node("Sigmoid", "x", "a"), node("Mul", "a x", "y")))
    path = tmp_path / "graph.json"
    path.write_text(to_json(graph, GraphOrigin("test")))
    assert load(path).kernels == graph.kernels == (1, 1)
    changed = json.loads(path.read_text())
    changed["kernels"] = [1, 0]
    path.write_text(json.dumps(changed))
    with pytest.raises(InvalidInputError, match="the kernel of node 'a' is 1; expected -1, or the"):
        load(path)
