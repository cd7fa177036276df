import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from boundmark.datasets.readers.onnx.file import load
from boundmark.problems.computation_graph import LEFT_OUT
from boundmark.problems.errors import InvalidInputError


def save(
    path, nodes, inputs, outputs, weights=(), functions=(), opsets=(("", 17),), element="FLOAT"
):
    """Write a model; tensors are given as names and shapes, weights as names and arrays."""
    kind = TensorProto.DataType.Value(element)
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info(name, kind, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, kind, shape) for name, shape in outputs.items()],
        [numpy_helper.from_array(array, name) for name, array in dict(weights).items()],
    )
    imports = [helper.make_opsetid(domain, version) for domain, version in opsets]
    model = helper.make_model(graph, opset_imports=imports, functions=functions, ir_version=9)
    onnx.save(model, path)
    return path


def floats(*shape):
    """Return weights of a shape."""
    return np.zeros(shape, dtype=np.float32)


def columns(graph):
    """Return the per-node values as plain tuples by node name."""
    arrays = (graph.flops, graph.output_bytes, graph.param_bytes, graph.read_bytes)
    values = zip(*(array.tolist() for array in arrays), strict=True)
    return dict(zip(graph.names, values, strict=True))


@pytest.fixture
def path(tmp_path):
    """Return where a test puts its model."""
    return tmp_path / "model.onnx"


def test_bytes_and_operations_of_each_node(path):
    """Activations, parameters and operations follow from the shapes."""
    save(
        path,
        [
            helper.make_node("Conv", ["x", "w", "b"], ["y"], name="conv", pads=[1, 1, 1, 1]),
            helper.make_node("Relu", ["y"], ["z"], name="relu"),
            helper.make_node("Add", ["z", "y"], ["out"], name="add"),
        ],
        {"x": [1, 3, 8, 8]},
        {"out": [1, 4, 8, 8]},
        {"w": floats(4, 3, 3, 3), "b": floats(4)},
    )
    graph = load(path)
    assert columns(graph) == {
        "conv": (256 * 55, 1024, 448, 768),
        "relu": (256, 1024, 0, 1024),
        "add": (256, 1024, 0, 2048),
    }
    assert graph.op_types == ("Conv", "Relu", "Add")
    assert graph.dtype == "float32"
    assert list(zip(graph.dag.sources, graph.dag.targets, strict=True)) == [(0, 1), (0, 2), (1, 2)]


def test_tensors_are_numbered_as_operators_name_them(path):
    """Shapes, types and roles of all tensors are kept, and where inputs are left out."""
    save(
        path,
        [
            helper.make_node("Dropout", ["x"], ["d", "mask"], name="dropout"),
            helper.make_node("Split", ["d"], ["a", "b", "c"], name="split", num_outputs=3),
            helper.make_node("Clip", ["b", "", "most"], ["e"], name="clip"),
            helper.make_node("Add", ["e", "u"], ["out"], name="add"),
        ],
        {"x": [6, 4], "u": [2, 4], "unused": [1]},
        {"out": [2, 4], "b": [2, 4]},
        {"most": np.float32(6)},
        opsets=(("", 18),),
    )
    graph = load(path)
    assert [(tensor.name, tensor.shape) for tensor in graph.tensors] == [
        ("x", (6, 4)),
        ("d", (6, 4)),
        ("b", (2, 4)),
        ("most", ()),
        ("e", (2, 4)),
        ("u", (2, 4)),
        ("out", (2, 4)),
    ]
    assert {tensor.dtype for tensor in graph.tensors} == {"float32"}
    assert [(node.name, node.reads, node.writes) for node in graph.operators] == [
        ("dropout", (0,), (1,)),
        ("split", (1,), (2,)),
        ("clip", (2, LEFT_OUT, 3), (4,)),
        ("add", (4, 5), (6,)),
    ]
    assert graph.inputs == (0, 5)
    assert graph.parameters == {3}
    assert graph.results == (6, 2)


def test_constants_fold_into_their_readers(path):
    """Nodes that depend on constants alone vanish; what they yield counts where it is read."""
    save(
        path,
        [
            helper.make_node("ConstantOfShape", ["shape"], ["w"]),
            helper.make_node("Constant", [], ["two"], value=helper.make_tensor("", 1, [1], [2.0])),
            helper.make_node("Mul", ["w", "two"], ["w2"]),
            helper.make_node("MatMul", ["x", "w2"], ["y"], name="first"),
            helper.make_node("MatMul", ["y", "w2"], ["z"], name="second"),
            helper.make_node("Mul", ["two", "z"], ["out"], name="twice"),
        ],
        {"x": [1, 6]},
        {"out": [1, 6]},
        {"shape": np.array([6, 6])},
    )
    assert columns(load(path)) == {
        "first": (72, 24, 144, 24),
        "second": (72, 24, 144, 24),
        "twice": (6, 24, 4, 24),
    }


def test_shapes_are_constants(path):
    """The arithmetic on shapes that exporters leave behind costs nothing and adds no nodes."""
    save(
        path,
        [
            helper.make_node("Shape", ["x"], ["shape"]),
            helper.make_node("Gather", ["shape", "one"], ["columns"]),
            helper.make_node("Concat", ["minus", "columns"], ["target"], axis=0),
            helper.make_node("Relu", ["x"], ["r"], name="relu"),
            helper.make_node("Reshape", ["r", "target"], ["y"], name="reshape"),
            helper.make_node("MatMul", ["y", "w"], ["out"], name="matmul"),
        ],
        {"x": ["batch", 7, 3]},
        {"out": ["rows", 5]},
        {"one": np.array([1]), "minus": np.array([-1]), "w": floats(7, 5)},
    )
    assert columns(load(path)) == {
        "relu": (21, 84, 0, 84),
        "reshape": (0, 84, 16, 84),
        "matmul": (2 * 15 * 7, 60, 140, 84),
    }


def test_open_dimensions_are_one(path):
    """Named, unnamed and negative dimensions of inputs are 1, and so wherever a name recurs."""
    save(
        path,
        [helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Add", ["y", "u"], ["out"])],
        {"x": ["batch", None, 4], "u": ["batch", -1, 4]},
        {"out": ["batch", None, 4]},
    )
    assert load(path).output_bytes.tolist() == [16, 16]


def test_only_used_outputs_count(path):
    """Masks that nobody reads are free; outputs that are read add up."""
    save(
        path,
        [
            helper.make_node("Dropout", ["x"], ["d", "mask"], name="dropout"),
            helper.make_node("Split", ["d"], ["a", "b", "c"], name="split", num_outputs=3),
            helper.make_node("Add", ["a", "b"], ["out"], name="add"),
        ],
        {"x": [6, 4]},
        {"out": [2, 4]},
        opsets=(("", 18),),
    )
    assert columns(load(path)) == {
        "dropout": (0, 96, 0, 96),
        "split": (0, 64, 0, 96),
        "add": (8, 32, 0, 64),
    }


def test_nodes_without_effect_are_left_out(path):
    """What no output depends on is not part of the graph, whatever its shape."""
    save(
        path,
        [
            helper.make_node("NonZero", ["x"], ["unknown"]),
            helper.make_node("Relu", ["x"], ["out"], name="relu"),
        ],
        {"x": [6, 4]},
        {"out": [6, 4]},
    )
    assert load(path).names == ("relu",)


def test_a_tensor_read_twice_counts_once(path):
    """Squaring reads its input once."""
    save(path, [helper.make_node("Mul", ["x", "x"], ["out"])], {"x": [8]}, {"out": [8]})
    assert load(path).read_bytes.tolist() == [32]


def test_names_are_unique(path):
    """Nodes without a name, or with a name used twice, get their position in the file."""
    chain = ["x", "a", "b", "c", "d", "out"]
    names = ["same", "", "same", "Relu_1", "other"]
    nodes = [
        helper.make_node("Relu", [chain[at]], [chain[at + 1]], name=name)
        for at, name in enumerate(names)
    ]
    save(path, nodes, {"x": [8]}, {"out": [8]})
    assert load(path).names == ("same_0", "Relu_1_", "same_2", "Relu_1", "other")


@pytest.mark.parametrize(
    ("element", "dtype", "size"),
    [
        ("FLOAT", "float32", 32),
        ("FLOAT16", "float16", 16),
        ("BFLOAT16", "bfloat16", 16),
        ("DOUBLE", "float64", 64),
    ],
)
def test_dtype_is_that_of_the_arithmetic(path, element, dtype, size):
    """The element type decides the dtype and the size of tensors."""
    nodes = [helper.make_node("Add", ["x", "x"], ["out"])]
    save(path, nodes, {"x": [8]}, {"out": [8]}, element=element)
    graph = load(path)
    assert graph.dtype == dtype
    assert graph.output_bytes.tolist() == [size]


@pytest.mark.parametrize(
    ("element", "dtype", "size"),
    [("FLOAT8E4M3FN", "float8", 7), ("FLOAT8E5M2", "float8", 7), ("INT4", "int4", 4)],
)
def test_small_elements_are_packed(path, element, dtype, size):
    """Types of a byte or less take as many bits as they have, and one rate for all of a size."""
    node = helper.make_node("Mystery", ["x"], ["out"], domain="com.example")
    imports = (("", 21), ("com.example", 1))
    save(path, [node], {"x": [7]}, {"out": [7]}, opsets=imports, element=element)
    graph = load(path)
    assert graph.output_bytes.tolist() == [size]
    assert graph.tensors[0].dtype == element.lower()
    assert graph.dtype == dtype


def test_quantized_arithmetic_is_int8(path):
    """A quantized product outweighs what is done in float32 around it."""
    zero, scale = np.array(0, dtype=np.uint8), np.array(1, dtype=np.float32)
    save(
        path,
        [
            helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"]),
            helper.make_node(
                "QLinearMatMul",
                ["q", "scale", "zero", "w", "scale", "zero", "scale", "zero"],
                ["p"],
            ),
            helper.make_node("DequantizeLinear", ["p", "scale", "zero"], ["out"]),
        ],
        {"x": [4, 8]},
        {"out": [4, 6]},
        {"zero": zero, "scale": scale, "w": np.zeros((8, 6), dtype=np.uint8)},
    )
    graph = load(path)
    assert graph.dtype == "int8"
    assert graph.output_bytes.tolist() == [32, 24, 96]


def test_functions_are_inlined(path):
    """A function defined in the model stands for its body."""
    imports = [helper.make_opsetid("", 17)]
    body = [helper.make_node("Relu", ["a"], ["b"]), helper.make_node("Neg", ["b"], ["c"])]
    function = helper.make_function("local", "ReluNeg", ["a"], ["c"], body, imports)
    save(
        path,
        [helper.make_node("ReluNeg", ["x"], ["out"], domain="local")],
        {"x": [8]},
        {"out": [8]},
        functions=[function],
        opsets=(("", 17), ("local", 1)),
    )
    assert load(path).op_types == ("Relu", "Neg")


def test_every_truncation_is_refused(path):
    """A file cut off anywhere is an error, never another graph."""
    save(
        path,
        [helper.make_node("MatMul", ["x", "w"], ["out"])],
        {"x": [2, 4]},
        {"out": [2, 3]},
        {"w": floats(4, 3)},
    )
    content = path.read_bytes()
    for length in range(1, len(content)):
        path.write_bytes(content[:length])
        with pytest.raises(InvalidInputError, match=r"model\.onnx"):
            load(path)


def _cyclic(path):
    nodes = [helper.make_node("Add", ["x", "b"], ["a"]), helper.make_node("Relu", ["a"], ["b"])]
    save(path, nodes, {"x": [8]}, {"b": [8]})


def _unknown_tensor(path):
    save(path, [helper.make_node("Add", ["x", "typo"], ["a"])], {"x": [8]}, {"a": [8]})


def _two_producers(path):
    nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Neg", ["x"], ["a"])]
    save(path, nodes, {"x": [8]}, {"a": [8]})


def _unknown_shape(path):
    nodes = [
        helper.make_node("Cast", ["x"], ["sizes"], to=7),
        helper.make_node("ConstantOfShape", ["sizes"], ["a"]),
    ]
    save(path, nodes, {"x": [8]}, {"a": [1, None]})


def _only_constants(path):
    save(path, [helper.make_node("Relu", ["w"], ["a"])], {"x": [8]}, {"a": [8]}, {"w": floats(8)})


def _sparse(path):
    save(path, [helper.make_node("MatMul", ["x", "w"], ["a"])], {"x": [2, 4]}, {"a": [2, 4]})
    model = onnx.load(path)
    values = numpy_helper.from_array(floats(1), "w")
    places = numpy_helper.from_array(np.zeros(1, np.int64), "places")
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, places, [4, 4]))
    onnx.save(model, path)


def _sequence(path):
    nodes = [
        helper.make_node("SequenceConstruct", ["x", "x"], ["s"]),
        helper.make_node("ConcatFromSequence", ["s"], ["a"], axis=0),
    ]
    save(path, nodes, {"x": [8]}, {"a": [16]})


def _constant_sequence(path):
    nodes = [
        helper.make_node("SequenceConstruct", ["w", "w"], ["s"]),
        helper.make_node("ConcatFromSequence", ["s"], ["c"], axis=0),
        helper.make_node("Add", ["x", "c"], ["a"]),
    ]
    save(path, nodes, {"x": [16]}, {"a": [16]}, {"w": floats(8)})


def _optional(path):
    nodes = [
        helper.make_node("Optional", ["x"], ["o"]),
        helper.make_node("OptionalGetElement", ["o"], ["a"]),
    ]
    save(path, nodes, {"x": [8]}, {"a": [8]})


def _text_of_any_shape(path):
    nodes = [
        helper.make_node("Cast", ["x"], ["s"], to=TensorProto.STRING),
        helper.make_node("StringNormalizer", ["s"], ["t"], case_change_action="LOWER"),
        helper.make_node("Cast", ["t"], ["a"], to=TensorProto.FLOAT),
    ]
    save(path, nodes, {"x": [8]}, {"a": [8]})


def _text(path):
    save(
        path, [helper.make_node("Identity", ["x"], ["a"])], {"x": [8]}, {"a": [8]}, element="STRING"
    )


def _enormous(path):
    save(path, [helper.make_node("Relu", ["x"], ["a"])], {"x": [2**62, 8]}, {"a": [2**62, 8]})


def _no_text(old, new):
    def write(path):
        node = helper.make_node("Softmax", ["x"], ["a"], axis=0)
        save(path, [node], {"x": [8]}, {"a": [8]})
        path.write_bytes(path.read_bytes().replace(old, new))

    return write


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (
            _no_text(b"Softmax", b"Softm\x80x"),
            r"onnx.NodeProto.op_type is b'Softm\\x80x'; expected a text in UTF-8",
        ),
        (
            _no_text(b"axis", b"ax\xffs"),
            r"onnx.AttributeProto.name is b'ax\\xffs'; expected a text in UTF-8",
        ),
        (_cyclic, r"the edges form a cycle, .*Add_0 -> Relu_1.*; expected an acyclic graph"),
        (_unknown_tensor, "node 'Add_0' reads tensor 'typo', which nothing produces; expected"),
        (_two_producers, "tensor 'a' is produced by nodes 'Relu_0' and 'Neg_1'; expected one"),
        (_unknown_shape, "the shape of tensor 'a' is unknown; expected one that follows"),
        (_only_constants, "the graph has no nodes; expected at least one"),
        (
            _text,
            "'(x|a)' is a tensor of strings, which is not supported; expected a tensor of numbers",
        ),
        (_text_of_any_shape, "'[st]' is a tensor of strings, which is not supported"),
        (_sparse, "sparse initializer 'w' is not supported; store it dense"),
        (_sequence, "'s' is a sequence, which is not supported"),
        (_constant_sequence, "'c' is computed from 's', a sequence, which is not supported"),
        (_optional, "'o' is an optional, which is not supported"),
        (_enormous, "of node 'Relu_0' .* 64 bits"),
    ],
)
def test_unusable_models_are_refused(path, write, expected):
    """Each mistake ends in one sentence that names the file and the place."""
    write(path)
    with pytest.raises(InvalidInputError, match=expected) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert str(caught.value).endswith(".")


def test_long_vectors(tmp_path):
    """A file of a hundred bytes cannot have onnx write down 2^40 values."""
    vectors = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2**40]) for name in "xy"]
    shape = helper.make_tensor("s", TensorProto.INT64, [1], [2**40])
    nodes = [
        helper.make_node("ConstantOfShape", ["s"], ["k"]),
        helper.make_node("Add", ["x", "k"], ["y"]),
    ]
    path = tmp_path / "own.onnx"
    onnx.save(
        helper.make_model(helper.make_graph(nodes, "g", vectors[:1], vectors[1:], [shape])), path
    )
    assert path.stat().st_size < 200
    assert load(path).flops.tolist() == [2**40]


def test_vectors_that_double(tmp_path):
    """Nor can one of a kilobyte by joining a vector with itself again and again."""
    tensors = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xy"]
    once = helper.make_tensor("c0", TensorProto.INT64, [1], [1])
    nodes = [
        helper.make_node("Concat", [f"c{at}", f"c{at}"], [f"c{at + 1}"], axis=0) for at in range(40)
    ]
    nodes.append(helper.make_node("Reshape", ["x", "c40"], ["y"]))
    path = tmp_path / "own.onnx"
    onnx.save(
        helper.make_model(helper.make_graph(nodes, "g", tensors[:1], tensors[1:], [once])), path
    )
    assert load(path).op_types == ("Reshape",)
