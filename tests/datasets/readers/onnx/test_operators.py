import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from boundmark.datasets.readers.onnx.file import load
from boundmark.problems.errors import InvalidInputError


@pytest.fixture
def attributes_of(tmp_path):
    """Return a function that writes a model of one node and reads the node's attributes."""

    def read(op_type, inputs, output, version=17, constants=(), **given):
        values = {
            name: numpy_helper.from_array(np.array(value), name)
            for name, value in dict(constants).items()
        }
        node = helper.make_node(op_type, [*inputs, *values], ["out"], name="node", **given)
        shapes = {name: shape for name, shape in inputs.items() if name}
        graph = helper.make_graph(
            [node],
            "graph",
            [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in shapes.items()],
            [helper.make_tensor_value_info("out", TensorProto.FLOAT, output)],
            [value for name, value in values.items() if name],
        )
        imports = [helper.make_opsetid("", version)]
        path = tmp_path / "model.onnx"
        onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=8), path)
        (operator,) = load(path).operators
        return dict(operator.attributes)

    return read


IMAGE = {"x": [1, 4, 9, 8]}
WEIGHTS = {"w": [6, 2, 3, 2]}


def window(kernel, strides=(1, 1), pads=(0, 0, 0, 0), dilations=(1, 1), **others):
    """Return the attributes of a window."""
    return {
        "kernel_shape": kernel,
        "strides": strides,
        "pads": pads,
        "dilations": dilations,
        **others,
    }


@pytest.mark.parametrize(
    ("given", "output", "expected"),
    [
        ({}, [1, 6, 7, 7], window((3, 2), group=2)),
        ({"kernel_shape": [3, 2], "strides": [1, 1]}, [1, 6, 7, 7], window((3, 2), group=2)),
        ({"auto_pad": "VALID"}, [1, 6, 7, 7], window((3, 2), group=2)),
        (
            {"pads": [1, 0, 2, 1], "strides": [2, 3]},
            [1, 6, 5, 3],
            window((3, 2), (2, 3), (1, 0, 2, 1), group=2),
        ),
        ({"auto_pad": "SAME_UPPER"}, [1, 6, 9, 8], window((3, 2), pads=(1, 0, 1, 1), group=2)),
        ({"auto_pad": "SAME_LOWER"}, [1, 6, 9, 8], window((3, 2), pads=(1, 1, 1, 0), group=2)),
        # Both 5 positions, 2 apart, of 3 rows reach 11 rows, two more than there are.
        (
            {"auto_pad": "SAME_UPPER", "strides": [2, 2]},
            [1, 6, 5, 4],
            window((3, 2), (2, 2), (1, 0, 1, 0), group=2),
        ),
        # Three rows, 2 apart, span 5.
        (
            {"auto_pad": "SAME_UPPER", "dilations": [2, 1]},
            [1, 6, 9, 8],
            window((3, 2), pads=(2, 0, 2, 1), dilations=(2, 1), group=2),
        ),
    ],
)
def test_convolutions_by_hand(attributes_of, given, output, expected):
    """Whatever a convolution leaves to defaults or to padding modes is spelt out."""
    assert attributes_of("Conv", {**IMAGE, **WEIGHTS}, output, group=2, **given) == expected


def test_transposed_convolutions_by_hand(attributes_of):
    """Padding is what is cut off: 4 rows, 2 apart, of 3 rows make 9; 1 is cut off for 8."""
    inputs = {"x": [1, 4, 4, 4], "w": [4, 6, 3, 3]}
    found = attributes_of(
        "ConvTranspose", inputs, [1, 6, 8, 8], strides=[2, 2], auto_pad="SAME_UPPER"
    )
    assert found == window((3, 3), (2, 2), (0, 0, 1, 1), group=1)
    found = attributes_of(
        "ConvTranspose", inputs, [1, 6, 8, 8], strides=[2, 2], output_shape=[8, 8]
    )
    assert found == window((3, 3), (2, 2), (1, 1, 0, 0), group=1)
    found = attributes_of(
        "ConvTranspose", inputs, [1, 6, 10, 10], strides=[2, 2], output_padding=[1, 1]
    )
    assert found == window((3, 3), (2, 2), group=1, output_padding=(1, 1))


@pytest.mark.parametrize("version", [8, 10, 12, 17, 20])
def test_pooling_is_the_same_in_all_versions(attributes_of, version):
    """Older versions have fewer attributes, which had the value of today's default."""
    found = attributes_of("MaxPool", IMAGE, [1, 4, 8, 7], version, kernel_shape=[2, 2])
    assert found == window((2, 2), storage_order=0)


@pytest.mark.parametrize(
    ("version", "given", "axes"),
    [
        (17, {}, (3,)),
        (17, {"axis": -2}, (2,)),
        (17, {"axis": 1}, (1,)),
        # Up to version 12, all dimensions from the axis on are flattened into one.
        (11, {}, (1, 2, 3)),
        (11, {"axis": -2}, (2, 3)),
    ],
)
def test_axes_of_softmax(attributes_of, version, given, axes):
    """The axes are those over which probabilities add up to 1."""
    assert attributes_of("Softmax", IMAGE, [1, 4, 9, 8], version, **given) == {"axes": axes}


@pytest.mark.parametrize(
    ("op_type", "version", "constants", "given", "output", "expected"),
    [
        ("ReduceMean", 17, {}, {"axes": [-1, 2]}, [1, 4, 1, 1], {"axes": (2, 3)}),
        ("ReduceMean", 18, {"axes": [3, -2]}, {}, [1, 4, 1, 1], {"axes": (2, 3)}),
        ("ReduceMean", 17, {}, {"keepdims": 0}, [], {"axes": (0, 1, 2, 3)}),
        ("ReduceMean", 18, {}, {}, [1, 1, 1, 1], {"axes": (0, 1, 2, 3)}),
        ("ReduceMean", 18, {}, {"noop_with_empty_axes": 1}, [1, 4, 9, 8], {"axes": ()}),
        ("Squeeze", 11, {}, {"axes": [-4]}, [4, 9, 8], {"axes": (0,)}),
        ("Squeeze", 13, {"axes": [0]}, {}, [4, 9, 8], {"axes": (0,)}),
        ("Squeeze", 13, {}, {}, [4, 9, 8], {"axes": (0,)}),
        ("Unsqueeze", 13, {"axes": [-1, 0]}, {}, [1, 1, 4, 9, 8, 1], {"axes": (0, 5)}),
        ("Unsqueeze", 11, {}, {"axes": [5, 0]}, [1, 1, 4, 9, 8, 1], {"axes": (0, 5)}),
        (
            "Slice",
            9,
            {},
            {"starts": [1, 2], "ends": [3, 4], "axes": [3, 2]},
            [1, 4, 2, 2],
            {"starts": (1, 2), "ends": (3, 4), "axes": (3, 2), "steps": (1, 1)},
        ),
        (
            "Slice",
            13,
            {"starts": [1, 2], "ends": [3, 4], "axes": [-1, 2]},
            {},
            [1, 4, 2, 2],
            {"starts": (1, 2), "ends": (3, 4), "axes": (3, 2), "steps": (1, 1)},
        ),
        (
            "Slice",
            13,
            {"starts": [0, 1], "ends": [1, 3]},
            {},
            [1, 2, 9, 8],
            {"starts": (0, 1), "ends": (1, 3), "axes": (0, 1), "steps": (1, 1)},
        ),
        ("Transpose", 17, {}, {}, [8, 9, 4, 1], {"perm": (3, 2, 1, 0)}),
        ("Transpose", 17, {}, {"perm": [0, 2, 3, 1]}, [1, 9, 8, 4], {"perm": (0, 2, 3, 1)}),
        ("Flatten", 17, {}, {"axis": -2}, [4, 72], {"axis": 2}),
        ("LeakyRelu", 17, {}, {"alpha": 0.5}, [1, 4, 9, 8], {"alpha": 0.5}),
        ("Relu", 17, {}, {}, [1, 4, 9, 8], {}),
    ],
)
def test_axes_by_hand(attributes_of, op_type, version, constants, given, output, expected):
    """Attributes and constant inputs of newer versions come to the same, counted from 0 up."""
    assert attributes_of(op_type, IMAGE, output, version, constants, **given) == expected


def test_products_and_attention(attributes_of):
    """Transposition and heads are kept, with the defaults of what is left out."""
    found = attributes_of("Gemm", {"a": [3, 2], "b": [3, 5]}, [2, 5], transA=1)
    assert found == {"alpha": 1.0, "beta": 1.0, "transA": 1, "transB": 0}
    inputs = {name: [1, 7, 12] for name in "qkv"}
    found = attributes_of("Attention", inputs, [1, 7, 12], 23, q_num_heads=3, kv_num_heads=3)
    assert (found["q_num_heads"], found["kv_num_heads"]) == (3, 3)
    found = attributes_of("Einsum", {"a": [3, 2], "b": [2, 5]}, [3, 5], equation="ij,jk->ik")
    assert found == {"equation": "ij,jk->ik"}


def test_constants_that_nodes_make_are_values_too(tmp_path):
    """Axes may come from a Constant node; axes that are computed are left out."""
    axes = numpy_helper.from_array(np.array([2]), "")
    nodes = [
        helper.make_node("Constant", [], ["axes"], value=axes),
        helper.make_node("Constant", [], ["other"], value=axes),
        helper.make_node("Add", ["axes", "other"], ["sum"]),
        helper.make_node("ReduceSum", ["x", "axes"], ["y"], name="known"),
        helper.make_node("ReduceSum", ["y", "sum"], ["out"], name="computed"),
    ]
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 4, 5, 6])],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, [2, 3, 1, 5, 1])],
    )
    path = tmp_path / "model.onnx"
    imports = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=8), path)
    known, computed = load(path).operators
    assert dict(known.attributes) == {"axes": (2,)}
    assert dict(computed.attributes) == {}


def test_constants_without_their_values_are_explained(tmp_path):
    """Fewer values than the shape says are a mistake in the file."""
    axes = TensorProto(name="axes", dims=[2], data_type=TensorProto.INT64, int64_data=[1])
    graph = helper.make_graph(
        [helper.make_node("Unsqueeze", ["x", "axes"], ["out"], name="node")],
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3])],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, [1, 3, 1])],
        [axes],
    )
    path = tmp_path / "model.onnx"
    imports = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=8), path)
    with pytest.raises(
        InvalidInputError,
        match=r"node 'node': the values of tensor 'axes' do not fit its shape, \[2\]; expected one",
    ):
        load(path)


def test_attributes_that_do_not_fit_are_explained(attributes_of):
    """A window with more dimensions than the image has ends in a sentence, not in a traceback."""
    with pytest.raises(
        InvalidInputError, match="node 'node': expected attributes and shapes that MaxPool allows"
    ):
        attributes_of("MaxPool", IMAGE, [1, 4, 9, 8], kernel_shape=[2, 2, 2], auto_pad="SAME_UPPER")
