"""Quantised models: weights cost as they are stored, whatever turns them into numbers."""

from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import ModelProto, NodeProto, TensorProto, helper

from boundmark.datasets.readers.onnx.file import load, of_model
from boundmark.problems.computation_graph import (
    ELEMENT_BITS,
    LEFT_OUT,
    ComputationGraph,
    Operator,
    Tensor,
)

FLOAT = TensorProto.FLOAT

# Names as boundmark has them, and what onnx calls them.
STORED = {
    "int8": TensorProto.INT8,
    "uint8": TensorProto.UINT8,
    "int4": TensorProto.INT4,
    "uint4": TensorProto.UINT4,
    "int2": TensorProto.INT2,
    "uint2": TensorProto.UINT2,
    "int16": TensorProto.INT16,
    "float8e4m3fn": TensorProto.FLOAT8E4M3FN,
    "float8e5m2": TensorProto.FLOAT8E5M2,
    "float4e2m1": TensorProto.FLOAT4E2M1,
}


def stored(name: str, dtype: str, *shape: int) -> TensorProto:
    """Return a weight of zeros, or of ones if it is of float32."""
    if dtype == "float32":
        return onnx.numpy_helper.from_array(np.ones(shape, np.float32), name)
    size = -(-prod(shape) * ELEMENT_BITS[dtype] // 8)
    return helper.make_tensor(name, STORED[dtype], shape, bytes(size), raw=True)


def model_of(
    nodes: Sequence[NodeProto],
    weights: Sequence[TensorProto],
    inputs: dict[str, Sequence[int | str]],
    outputs: Sequence[str],
    types: dict[str, int] | None = None,
) -> ModelProto:
    """Return a model that states the types of its inputs only, of float32 if nothing is said."""
    kinds = types or {}
    graph = helper.make_graph(
        nodes,
        "graph",
        [
            helper.make_tensor_value_info(name, kinds.get(name, FLOAT), shape)
            for name, shape in inputs.items()
        ],
        [onnx.ValueInfoProto(name=name) for name in outputs],
        weights,
    )
    imports = [helper.make_opsetid("", 25), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, ir_version=13, opset_imports=imports)


def dequantised(x: str, y: str, *beside: str, **attributes: Any) -> NodeProto:
    """Return a dequantisation of x by scales and zero points."""
    return helper.make_node("DequantizeLinear", [x, *beside], [y], **attributes)


def read(graph: ComputationGraph, operator: Operator) -> list[Tensor | None]:
    """Return what an operator reads."""
    return [None if at == LEFT_OUT else graph.tensors[at] for at in operator.reads]


@pytest.mark.parametrize("dtype", STORED)
def test_weights_cost_as_stored(dtype: str) -> None:
    """Beside them are scales and zero points, one for each block and column."""
    has_zero = "int" in dtype and dtype != "int16"
    weights = [stored("w", dtype, 64, 24), stored("s", "float32", 2, 24)]
    weights += [stored("z", dtype, 2, 24)] if has_zero else []
    nodes = [
        dequantised("w", "n", *(one.name for one in weights[1:]), axis=0, block_size=32),
        helper.make_node("MatMul", ["x", "n"], ["y"], "product"),
    ]
    graph = of_model(model_of(nodes, weights, {"x": [4, 64]}, ["y"]))
    (product,) = graph.operators
    bits = ELEMENT_BITS[dtype]
    size = 64 * 24 * bits // 8 + 4 * 48 + (48 * bits // 8 if has_zero else 0)
    assert graph.param_bytes.tolist() == [size]
    assert [one and one.name for one in read(graph, product)] == [
        "x", *(one.name for one in weights)
    ]  # fmt: skip
    assert (product.flops, graph.dtype, graph.notes) == (4 * 24 * 2 * 64, "float32", ())


@pytest.mark.parametrize(
    ("between", "shape"),
    [
        (helper.make_node("Transpose", ["n"], ["m"], perm=[1, 0]), (64, 24)),
        (helper.make_node("Reshape", ["n", "to"], ["m"]), (64, 24)),
        (helper.make_node("Cast", ["n"], ["m"], to=FLOAT), (24, 64)),
        (helper.make_node("Identity", ["n"], ["m"]), (24, 64)),
    ],
    ids=lambda one: getattr(one, "op_type", ""),
)
def test_rearranged_weights_cost_as_stored(between: NodeProto, shape: tuple[int, ...]) -> None:
    """In the order in which the operator reads them."""
    weights = [stored("w", "int4", 24, 64), stored("s", "float32", 24)]
    weights.append(helper.make_tensor("to", TensorProto.INT64, [2], [64, 24]))
    product = helper.make_node("MatMul", ["x", "m"], ["y"])
    nodes = [dequantised("w", "n", "s", axis=0), between, product]
    graph = of_model(model_of(nodes, weights, {"x": [4, shape[0]]}, ["y"]))
    _, weight, scales = read(graph, graph.operators[0])
    assert weight is not None
    assert scales is not None
    assert (weight.shape, weight.dtype, scales.name) == (shape, "int4", "s")
    assert graph.param_bytes.tolist() == [24 * 64 // 2 + 4 * 24]


def test_scales_are_behind_inputs_that_are_left_out() -> None:
    """Nobody takes them for a bias."""
    weights = [stored("w", "int8", 8, 3, 3, 3), stored("s", "float32", 8)]
    nodes = [dequantised("w", "n", "s", axis=0), helper.make_node("Conv", ["x", "n"], ["y"])]
    graph = of_model(model_of(nodes, weights, {"x": [1, 3, 6, 6]}, ["y"]))
    (convolution,) = graph.operators
    assert [one and one.name for one in read(graph, convolution)] == ["x", "w", None, "s"]
    assert convolution.flops == 8 * 16 * 2 * 27


def test_weights_that_are_shared_are_one_tensor() -> None:
    """Although quantisers dequantise them for each reader."""
    weights = [stored("w", "int8", 16, 16), stored("s", "float32")]
    nodes = [
        dequantised("w", "n1", "s"),
        dequantised("w", "n2", "s"),
        helper.make_node("MatMul", ["x", "n1"], ["h"]),
        helper.make_node("MatMul", ["h", "n2"], ["y"]),
    ]
    graph = of_model(model_of(nodes, weights, {"x": [4, 16]}, ["y"]))
    assert sorted(graph.tensors[one].name for one in graph.parameters) == ["s", "w"]


def test_arithmetic_is_in_the_type_of_the_dequantised() -> None:
    """Also where the weights are the first input."""
    weights = [stored("w", "int4", 16, 16), stored("s", "float32")]
    nodes = [dequantised("w", "n", "s"), helper.make_node("MatMul", ["n", "x"], ["y"])]
    graph = of_model(model_of(nodes, weights, {"x": [16, 4]}, ["y"]))
    assert graph.dtype == "float32"


def test_weights_quantised_in_the_model_cost_what_they_become() -> None:
    """Training with simulated quantisation stores float, of which runtimes keep integers."""
    weights = [stored("w", "float32", 16, 16), stored("s", "float32"), stored("z", "int8")]
    nodes = [
        helper.make_node("QuantizeLinear", ["w", "s", "z"], ["q"]),
        dequantised("q", "n", "s", "z"),
        helper.make_node("MatMul", ["x", "n"], ["y"]),
    ]
    graph = of_model(model_of(nodes, weights, {"x": [4, 16]}, ["y"]))
    assert graph.param_bytes.tolist() == [16 * 16 + 4 + 1]


def test_what_is_computed_from_dequantised_weights_is_float() -> None:
    """It is folded, and no longer what is stored."""
    weights = [stored("w", "int8", 16, 16), stored("s", "float32")]
    nodes = [
        dequantised("w", "n", "s"),
        helper.make_node("Neg", ["n"], ["m"]),
        helper.make_node("MatMul", ["x", "m"], ["y"]),
    ]
    graph = of_model(model_of(nodes, weights, {"x": [4, 16]}, ["y"]))
    assert graph.param_bytes.tolist() == [4 * 16 * 16]


def test_activations_are_quantised_element_by_element() -> None:
    """They take a byte between the operators that do that, which are operators of their own."""
    weights = [stored("s", "float32"), stored("z", "uint8")]
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        dequantised("q", "n", "s", "z"),
        helper.make_node("Relu", ["n"], ["y"]),
    ]
    graph = of_model(model_of(nodes, weights, {"x": [4, 16]}, ["y"]))
    assert graph.op_types == ("QuantizeLinear", "DequantizeLinear", "Relu")
    assert graph.flops.tolist() == [64, 64, 64]
    assert graph.output_bytes.tolist() == [64, 256, 256]


def test_weights_in_branches_cost_as_stored() -> None:
    """A branch computes its product, and its weights are read once."""
    branches = []
    for name in ("a", "b"):
        nodes = [
            dequantised(f"w{name}", f"n{name}", f"s{name}"),
            helper.make_node("MatMul", ["x", f"n{name}"], [f"y{name}"]),
        ]
        weights = [stored(f"w{name}", "int8", 16, 8), stored(f"s{name}", "float32")]
        output = helper.make_tensor_value_info(f"y{name}", FLOAT, [4, 8])
        branches.append(helper.make_graph(nodes, name, [], [output], weights))
    node = helper.make_node("If", ["c"], ["y"], then_branch=branches[0], else_branch=branches[1])
    model = model_of([node], [], {"x": [4, 16], "c": []}, ["y"], {"c": TensorProto.BOOL})
    graph = of_model(model)
    assert graph.flops.tolist() == [4 * 8 * 2 * 16]
    assert graph.param_bytes.tolist() == [2 * (16 * 8 + 4)]


def nbits(x: str, y: str, inner: int, outer: int) -> tuple[NodeProto, list[TensorProto]]:
    """Return a product with weights of 4 bits in blocks of 32."""
    blocks = inner // 32
    weights = [
        stored(f"{y}.w", "uint8", outer, blocks, 16),
        stored(f"{y}.s", "float32", outer, blocks),
        stored(f"{y}.z", "uint8", outer, -(-blocks // 2)),
    ]
    node = helper.make_node(
        "MatMulNBits", [x, *(one.name for one in weights)], [y], y,
        domain="com.microsoft", N=outer, K=inner, bits=4, block_size=32,
    )  # fmt: skip
    return node, weights


def decoder(layers: int) -> ModelProto:
    """Return a decoder as onnxruntime-genai builds them: 64 wide, 4 heads on 2, 100 words."""
    nodes: list[NodeProto] = []
    weights = [stored("words", "float32", 100, 64), stored("first", "float32", 64)]
    weights += [stored("cos", "float32", 128, 8), stored("sin", "float32", 128, 8)]
    weights.append(onnx.numpy_helper.from_array(np.array([1]), "one"))
    inputs: dict[str, Sequence[int | str]] = {
        "ids": ["batch", "length"], "mask": ["batch", "total"]
    }  # fmt: skip
    outputs = ["logits"]
    types: dict[str, int] = dict.fromkeys(("ids", "mask"), TensorProto.INT64)

    def add(op_type: str, read: Sequence[str], *written: str, **attributes: Any) -> None:
        nodes.append(helper.make_node(op_type, read, written, written[0], **attributes))

    def multiply(x: str, y: str, inner: int, outer: int) -> None:
        node, made = nbits(x, y, inner, outer)
        nodes.append(node)
        weights.extend(made)

    add("ReduceSum", ["mask", "one"], "lengths")
    add("Sub", ["lengths", "one"], "before")
    add("Cast", ["before"], "seqlens", to=TensorProto.INT32)
    add("Shape", ["mask"], "shape")
    add("Gather", ["shape", "one"], "totals", axis=0)
    add("Squeeze", ["totals"], "scalar")
    add("Cast", ["scalar"], "total", to=TensorProto.INT32)
    add("Gather", ["words", "ids"], "h0")
    add("SimplifiedLayerNormalization", ["h0", "first"], "n0", axis=-1, epsilon=1e-5)
    for at in range(layers):
        past = [f"past{at}.k", f"past{at}.v"]
        present = [f"present{at}.k", f"present{at}.v"]
        inputs |= dict.fromkeys(past, ("batch", 2, "past", 16))
        outputs += present
        multiply(f"n{at}", f"qkv{at}", 64, 128)
        add(
            "GroupQueryAttention",
            [f"qkv{at}", "", "", *past, "seqlens", "total", "cos", "sin"], f"a{at}", *present,
            domain="com.microsoft", num_heads=4, kv_num_heads=2, do_rotary=1,
        )  # fmt: skip
        multiply(f"a{at}", f"o{at}", 64, 64)
        weights += [stored(f"g{at}", "float32", 64), stored(f"k{at}", "float32", 64)]
        skip = {"domain": "com.microsoft", "epsilon": 1e-5}
        norm = "SkipSimplifiedLayerNormalization"
        add(norm, [f"h{at}", f"o{at}", f"g{at}"], f"m{at}", "", "", f"r{at}", **skip)
        multiply(f"m{at}", f"gate{at}", 64, 96)
        multiply(f"m{at}", f"up{at}", 64, 96)
        add("Sigmoid", [f"gate{at}"], f"sigmoid{at}")
        add("Mul", [f"gate{at}", f"sigmoid{at}"], f"silu{at}")
        add("Mul", [f"silu{at}", f"up{at}"], f"gated{at}")
        multiply(f"gated{at}", f"down{at}", 96, 64)
        kept = [f"h{at + 1}"] if at + 1 < layers else []
        add(
            norm, [f"r{at}", f"down{at}", f"k{at}"], f"n{at + 1}",
            *(["", "", *kept] if kept else []), **skip,
        )  # fmt: skip
    multiply(f"n{layers}", "logits", 64, 100)
    return model_of(nodes, weights, inputs, outputs, types)


def test_decoder() -> None:
    """Operations, bytes and shapes are those of the architecture, and nothing is assumed."""
    layers, tokens, past = 3, 4, 6
    graph = of_model(
        decoder(layers), {"batch": 1, "length": tokens, "past": past, "total": tokens + past}
    )
    assert graph.notes == ()
    shapes = {tensor.name: tensor.shape for tensor in graph.tensors}
    assert shapes["logits"] == (1, tokens, 100)
    assert shapes["present2.v"] == (1, 2, tokens + past, 16)

    products = [(64, 128), (64, 64), (64, 96), (64, 96), (96, 64)] * layers + [(64, 100)]
    attention = tokens * 4 * (past + tokens) * (2 * 16 + 5 + 2 * 16) + 3 * tokens * (64 + 32)
    of_layer = attention + 2 * 5 * tokens * 64 + 3 * tokens * 96
    of_lengths = 1 * (tokens + past) + 1 + 1
    first = 4 * tokens * 64
    expected = sum(2 * tokens * inner * outer for inner, outer in products)
    assert graph.flops.sum() == expected + layers * of_layer + first + of_lengths

    # Half a byte, and a scale of four bytes and half a byte for each block of 32.
    packed = sum(
        outer * (inner // 2 + 4 * (inner // 32) + -(-inner // 64)) for inner, outer in products
    )
    others = 4 * (100 * 64 + 64 + 2 * 128 * 8 + 2 * 64 * layers) + 8
    scalars = 4
    parameters = sum(graph.tensors[one].bytes for one in graph.parameters)
    assert parameters == packed + others + scalars
    reads = dict(zip(graph.names, graph.read_bytes.tolist(), strict=True))
    cache = 2 * 4 * 2 * past * 16
    assert reads["a0"] == 4 * tokens * 128 + cache + 4


@given(st.lists(st.integers(1, 9), min_size=1, max_size=3), st.data())
def test_sizes_of_products(rows: list[int], data: st.DataObject) -> None:
    """A product with weights of few bits has the operations and shape of one with float weights."""
    inner, outer = 32 * data.draw(st.integers(1, 4)), data.draw(st.integers(1, 50))
    node, weights = nbits("x", "y", inner, outer)
    packed = of_model(model_of([node], weights, {"x": [*rows, inner]}, ["y"]))
    plain = of_model(
        model_of(
            [helper.make_node("MatMul", ["x", "w"], ["y"])],
            [stored("w", "float32", inner, outer)],
            {"x": [*rows, inner]},
            ["y"],
        )
    )
    assert packed.flops.tolist() == plain.flops.tolist()
    assert packed.output_bytes.tolist() == plain.output_bytes.tolist()


@given(
    batch=st.integers(1, 3), tokens=st.integers(1, 5), past=st.integers(1, 5),
    kept=st.integers(1, 3), shared=st.integers(1, 3), width=st.integers(1, 8),
)  # fmt: skip
def test_attention_is_that_of_onnx(
    batch: int, tokens: int, past: int, kept: int, shared: int, width: int
) -> None:
    """Whether queries share keys, and these are in one tensor with them or in a cache."""
    heads = kept * shared
    query, key = [batch, tokens, heads * width], [batch, tokens, kept * width]
    cache = [batch, kept, past, width]
    inputs = {"q": query, "k": key, "v": key, "pk": cache, "pv": cache}
    packed = [batch, tokens, (heads + 2 * kept) * width]
    lengths = [
        helper.make_tensor("s", TensorProto.INT32, [batch], [past + tokens - 1] * batch),
        helper.make_tensor("t", TensorProto.INT32, [], [past + tokens]),
    ]
    outputs = ["y", "nk", "nv"]
    grouped = {"domain": "com.microsoft", "num_heads": heads, "kv_num_heads": kept}
    models = [
        model_of(
            [
                helper.make_node(
                    "Attention", ["q", "k", "v", "", "pk", "pv"], outputs,
                    q_num_heads=heads, kv_num_heads=kept,
                )
            ], [], inputs, outputs,
        ),
        model_of(
            [
                helper.make_node(
                    "GroupQueryAttention", [*inputs, "s", "t"], outputs, **grouped
                )
            ], lengths, inputs, outputs,
        ),
        model_of(
            [
                helper.make_node(
                    "GroupQueryAttention", ["p", "", "", "pk", "pv", "s", "t"], outputs, **grouped
                )
            ], lengths, {"p": packed, "pk": cache, "pv": cache}, outputs,
        ),
    ]  # fmt: skip
    expected, *others = [of_model(model) for model in models]
    for graph in others:
        assert graph.flops.tolist() == expected.flops.tolist()
        assert graph.output_bytes.tolist() == expected.output_bytes.tolist()
        assert graph.notes == ()


def test_operators_of_onnxruntime_in_branches() -> None:
    """Their shapes follow there too, and so do those behind them, outside as well."""
    branches = []
    for name, outer in (("a", 24), ("b", 24)):
        node, weights = nbits("x", f"m{name}", 64, outer)
        nodes = [node, helper.make_node("Relu", [f"m{name}"], [f"y{name}"])]
        output = onnx.ValueInfoProto(name=f"y{name}")
        branches.append(helper.make_graph(nodes, name, [], [output], weights))
    nodes = [
        helper.make_node("If", ["c"], ["h"], then_branch=branches[0], else_branch=branches[1]),
        helper.make_node("Neg", ["h"], ["y"]),
    ]
    model = model_of(nodes, [], {"x": [4, 64], "c": []}, ["y"], {"c": TensorProto.BOOL})
    graph = of_model(model)
    assert graph.flops.tolist() == [4 * 24 * (2 * 64 + 1), 4 * 24]
    (note,) = graph.notes
    assert "unknown" not in note


def test_sizes_that_do_not_follow_are_assumed(tmp_path: Path) -> None:
    """And a warning says of which operators."""
    node, weights = nbits("x", "y", 64, 24)
    del node.attribute[:]
    onnx.save(model_of([node], weights, {"x": [4, 64]}, ["y"]), tmp_path / "model.onnx")
    (note,) = load(tmp_path / "model.onnx").notes
    assert note.startswith("1 operator of type MatMulNBits, sizes of whose outputs are unknown")
