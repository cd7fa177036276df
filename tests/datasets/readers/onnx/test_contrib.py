"""Operators of onnxruntime: output types as onnxruntime has them, and operations by definition."""

from dataclasses import dataclass, field
from math import prod
from typing import Any

import onnx
import pytest
from onnx import ModelProto, TensorProto, helper

from boundmark.datasets.readers.onnx.contrib import has_rule
from boundmark.datasets.readers.onnx.file import of_model
from boundmark.problems.computation_graph import ELEMENT_BITS, ComputationGraph
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.operator_types import VARIANTS

TYPES = {
    "float32": TensorProto.FLOAT,
    "float16": TensorProto.FLOAT16,
    "int64": TensorProto.INT64,
    "int32": TensorProto.INT32,
    "int8": TensorProto.INT8,
    "uint8": TensorProto.UINT8,
    "uint4": TensorProto.UINT4,
    "bool": TensorProto.BOOL,
    "float8e4m3fn": TensorProto.FLOAT8E4M3FN,
}


@dataclass(frozen=True)
class Given:
    """An input: computed unless it is a constant, whose values are zero unless they are given."""

    shape: tuple[int, ...]
    dtype: str = "float32"
    is_constant: bool = False
    values: tuple[int, ...] = ()


def f(*shape: int) -> Given:
    """Return an input of float32."""
    return Given(shape)


def w(*shape: int, dtype: str = "float32") -> Given:
    """Return a weight."""
    return Given(shape, dtype, is_constant=True)


def q(*shape: int, dtype: str = "uint8") -> Given:
    """Return a quantised input."""
    return Given(shape, dtype)


def i(*values: int, dtype: str = "int32", shape: tuple[int, ...] | None = None) -> Given:
    """Return a constant of integers."""
    return Given((len(values),) if shape is None else shape, dtype, True, values)


SCALE = w()
ZERO = w(dtype="uint8")


@dataclass(frozen=True)
class Case:
    """An operator, and what is expected of it.

    Attributes
    ----------
    outputs
        Shape and type of each, None where it is left out.
    """

    op_type: str
    inputs: tuple[Given | None, ...]
    outputs: tuple[tuple[tuple[int, ...], str] | None, ...]
    flops: int
    attributes: dict[str, Any] = field(default_factory=dict)
    dtype: str = "float32"
    domain: str = "com.microsoft"


def model_of(case: Case) -> ModelProto:
    """Return a model of one node that states the types of no output."""
    inputs, weights = [], []
    names = [f"i{at}" if one is not None else "" for at, one in enumerate(case.inputs)]
    for name, one in zip(names, case.inputs, strict=True):
        if one is None:
            continue
        if not one.is_constant:
            inputs.append(helper.make_tensor_value_info(name, TYPES[one.dtype], one.shape))
        elif one.values:
            weights.append(helper.make_tensor(name, TYPES[one.dtype], one.shape, one.values))
        else:
            size = -(-prod(one.shape) * ELEMENT_BITS[one.dtype] // 8)
            weights.append(
                helper.make_tensor(name, TYPES[one.dtype], one.shape, bytes(size), raw=True)
            )
    outputs = [f"o{at}" if one is not None else "" for at, one in enumerate(case.outputs)]
    node = helper.make_node(
        case.op_type, names, outputs, "node", domain=case.domain, **case.attributes
    )
    graph = helper.make_graph(
        [node], "graph", inputs, [onnx.ValueInfoProto(name=one) for one in outputs if one], weights
    )
    domains = {"": 21, "com.microsoft": 1, "com.example": 1}
    imports = [helper.make_opsetid(domain, version) for domain, version in domains.items()]
    return helper.make_model(graph, ir_version=10, opset_imports=imports)


def attention(rows: int, keys: int, width: int, depth: int) -> int:
    """Count scores, a softmax of five operations, and the weighted sum."""
    return rows * keys * (2 * width + 5 + 2 * depth)


def out(*shape: int, dtype: str = "float32") -> tuple[tuple[int, ...], str]:
    """Return what is expected of an output."""
    return shape, dtype


# Attention is of 4 heads over 4 tokens, with 6 in a cache.
HEADS = {"num_heads": 4}
GROUPS = {"num_heads": 4, "kv_num_heads": 2}
LENGTHS = (i(9), i(10, shape=()))
TABLE = w(64, 8)

CASES = {
    "gelu": Case("Gelu", (f(2, 8),), (out(2, 8),), 16),
    "quick-gelu": Case("QuickGelu", (f(2, 8),), (out(2, 8),), 16),
    "fast-gelu": Case("FastGelu", (f(2, 8), w(8)), (out(2, 8),), 32),
    "bias-gelu": Case("BiasGelu", (f(2, 8), w(8)), (out(2, 8),), 32),
    "qlinear-add": Case(
        "QLinearAdd",
        (q(2, 8), SCALE, ZERO, q(8), SCALE, ZERO, SCALE, ZERO),
        (out(2, 8, dtype="uint8"),), 16, dtype="int8",
    ),
    "qlinear-mul": Case(
        "QLinearMul",
        (q(1, 8), SCALE, ZERO, q(4, 1), SCALE, ZERO, SCALE, ZERO),
        (out(4, 8, dtype="uint8"),), 32, dtype="int8",
    ),
    "qlinear-sigmoid": Case(
        "QLinearSigmoid", (q(2, 8), SCALE, ZERO, SCALE, ZERO),
        (out(2, 8, dtype="uint8"),), 16, dtype="int8",
    ),
    "qlinear-leaky-relu": Case(
        "QLinearLeakyRelu", (q(2, 8), SCALE, ZERO, SCALE, ZERO),
        (out(2, 8, dtype="uint8"),), 16, {"alpha": 0.1}, dtype="int8",
    ),
    "qlinear-where": Case(
        "QLinearWhere",
        (q(2, 1, dtype="bool"), q(1, 8), SCALE, ZERO, q(1, 8), SCALE, ZERO, SCALE, ZERO),
        (out(2, 8, dtype="uint8"),), 16, dtype="int8",
    ),
    "quantize": Case(
        "QuantizeLinear", (f(2, 8), SCALE, w(dtype="int8")), (out(2, 8, dtype="int8"),), 16
    ),
    "dequantize": Case(
        "DequantizeLinear", (q(2, 8), SCALE, ZERO), (out(2, 8),), 16, dtype="int8"
    ),
    "rms-norm": Case(
        "SimplifiedLayerNormalization", (f(2, 4, 8), w(8)), (out(2, 4, 8), out(2, 4, 1)), 4 * 64,
        {"axis": -1}, domain="",
    ),
    "skip-rms-norm": Case(
        "SkipSimplifiedLayerNormalization", (f(2, 4, 8), f(2, 4, 8), w(8)),
        (out(2, 4, 8), None, None, out(2, 4, 8)), 5 * 64,
    ),
    "skip-rms-norm-of-rows": Case(
        "SkipSimplifiedLayerNormalization", (f(4, 8), f(4, 8), w(8), w(8)),
        (out(4, 8), None, None, out(4, 8)), 6 * 32,
    ),
    "skip-norm": Case(
        "SkipLayerNormalization", (f(2, 4, 8), f(2, 4, 8), w(8), w(8), w(8)),
        (out(2, 4, 8), None, None, out(2, 4, 8)), 9 * 64,
    ),
    "embed": Case(
        "EmbedLayerNormalization",
        (q(2, 4, dtype="int32"), q(2, 4, dtype="int32"), w(10, 8), w(4, 8), w(2, 8), w(8), w(8),
         q(2, 4, dtype="int32")),
        (out(2, 4, 8), out(2, dtype="int32"), out(2, 4, 8)), 9 * 64,
    ),
    "embed-quantised": Case(
        "QEmbedLayerNormalization",
        (q(2, 4, dtype="int32"), None, w(10, 8, dtype="uint8"), w(4, 8, dtype="uint8"), None,
         w(8, dtype="uint8"), w(8, dtype="uint8"), None,
         SCALE, SCALE, None, SCALE, SCALE, ZERO, ZERO, None, ZERO, ZERO),
        (out(2, 4, 8), out(2, dtype="int32")), 8 * 64,
    ),
    "qlinear-softmax": Case(
        "QLinearSoftmax", (q(2, 8), SCALE, ZERO, SCALE, ZERO),
        (out(2, 8, dtype="uint8"),), 5 * 16, {"axis": -1, "opset": 13}, dtype="int8",
    ),
    "matmul-nbits": Case(
        "MatMulNBits",
        (f(2, 4, 64), w(24, 2, 16, dtype="uint8"), w(24, 2), w(24, 1, dtype="uint8"), None, w(24)),
        (out(2, 4, 24),), 8 * 24 * (2 * 64 + 1),
        {"N": 24, "K": 64, "bits": 4, "block_size": 32},
    ),
    "matmul-bnb4": Case(
        "MatMulBnb4", (f(2, 4, 64), w(24 * 32, dtype="uint8"), w(48)),
        (out(2, 4, 24),), 8 * 24 * 2 * 64, {"N": 24, "K": 64, "block_size": 32, "quant_type": 1},
    ),
    "matmul-fp8": Case(
        "MatMulBlockQuantizedFp8Weight",
        (Given((4, 64), "float16"), w(24, 64, dtype="float8e4m3fn"), w(24, 1)),
        (out(4, 24, dtype="float16"),), 4 * 24 * 2 * 64, dtype="float16",
    ),
    "fused-matmul": Case(
        "FusedMatMul", (f(2, 8, 4), f(2, 16, 8)), (out(2, 4, 16),), 2 * 4 * 16 * 2 * 8,
        {"transA": 1, "transB": 1, "alpha": 0.5},
    ),
    "fused-matmul-batches": Case(
        "FusedMatMul", (f(4, 2, 8), f(2, 8, 16)), (out(2, 4, 16),), 2 * 4 * 16 * 2 * 8,
        {"transBatchA": 1},
    ),
    "gemm-fast-gelu": Case(
        "GemmFastGelu", (f(2, 4, 8), w(8, 16), w(16)), (out(2, 4, 16),), 128 * (16 + 2)
    ),
    "fused-gemm": Case(
        "FusedGemm", (f(4, 8), w(16, 8), w(16)), (out(4, 16),), 64 * (16 + 2),
        {"transB": 1, "activation": "Relu"},
    ),
    "qgemm": Case(
        "QGemm",
        (q(4, 8), SCALE, ZERO, w(16, 8, dtype="uint8"), SCALE, ZERO, w(16, dtype="int32"),
         SCALE, ZERO),
        (out(4, 16, dtype="uint8"),), 64 * 17, {"transB": 1}, dtype="int8",
    ),
    "qgemm-to-float": Case(
        "QGemm", (q(4, 8), SCALE, ZERO, w(8, 16, dtype="uint8"), SCALE, ZERO),
        (out(4, 16),), 64 * 16, dtype="int8",
    ),
    "matmul-integer-to-float": Case(
        "MatMulIntegerToFloat",
        (q(2, 4, 8), w(8, 16, dtype="int8"), SCALE, SCALE, ZERO, w(dtype="int8"), w(16)),
        (out(2, 4, 16),), 128 * 17, dtype="int8",
    ),
    "dynamic-quantize-matmul": Case(
        "DynamicQuantizeMatMul", (f(2, 4, 8), w(8, 16, dtype="int8"), SCALE),
        (out(2, 4, 16),), 3 * 64 + 128 * 16, dtype="int8",
    ),
    "dynamic-quantize-lstm": Case(
        "DynamicQuantizeLSTM",
        (f(5, 2, 8), w(1, 8, 64, dtype="int8"), w(1, 16, 64, dtype="int8"), w(1, 128), None, None,
         None, None, w(1), w(1, dtype="int8"), w(1), w(1, dtype="int8")),
        (out(5, 1, 2, 16), out(1, 2, 16), out(1, 2, 16)),
        3 * 80 + 2 * 10 * (8 * 64 + 16 * 64 + 64), {"hidden_size": 16}, dtype="int8",
    ),
    # Two of four experts for each of 6 tokens.
    "moe": Case(
        "MoE", (f(6, 16), f(6, 4), w(4, 32, 16), None, w(4, 16, 32)),
        (out(6, 16),), 6 * (5 * 4 + 2 * (2 * 2 * 16 * 32 + 32)),
        {"k": 2, "activation_type": "relu"},
    ),
    "qmoe": Case(
        "QMoE",
        (f(6, 32), f(6, 4), w(4, 64, 16, dtype="uint8"), w(4, 64), None,
         w(4, 32, 16, dtype="uint8"), w(4, 32)),
        (out(6, 32),), 6 * (5 * 4 + 2 * (2 * 3 * 32 * 32 + 2 * 32)),
        {"k": 2, "activation_type": "swiglu", "swiglu_fusion": 1, "expert_weight_bits": 4},
    ),
    "fused-conv": Case(
        "FusedConv", (f(1, 4, 8, 8), w(16, 4, 3, 3), w(16)),
        (out(1, 16, 4, 4),), 256 * (2 * 36 + 2),
        {"strides": [2, 2], "pads": [1, 1, 1, 1], "kernel_shape": [3, 3], "activation": "Relu"},
    ),
    "qlinear-average-pool": Case(
        "QLinearAveragePool", (q(1, 4, 8, 6), SCALE, ZERO, SCALE, ZERO),
        (out(1, 4, 7, 5, dtype="uint8"),), 140 * 4, {"kernel_shape": [2, 2]}, dtype="int8",
    ),
    "qlinear-global-average-pool": Case(
        "QLinearGlobalAveragePool", (q(1, 8, 6, 4), SCALE, ZERO, SCALE, ZERO),
        (out(1, 8, 1, 1, dtype="uint8"),), 192, {"channels_last": 0}, dtype="int8",
    ),
    "group-query-attention": Case(
        "GroupQueryAttention",
        (f(1, 4, 64), f(1, 4, 32), f(1, 4, 32), f(1, 2, 6, 16), f(1, 2, 6, 16), *LENGTHS,
         TABLE, TABLE),
        (out(1, 4, 64), out(1, 2, 10, 16), out(1, 2, 10, 16)),
        attention(4 * 4, 10, 16, 16) + 3 * (4 * 64 + 4 * 32), {**GROUPS, "do_rotary": 1},
    ),
    "group-query-attention-packed": Case(
        "GroupQueryAttention",
        (f(1, 4, 128), None, None, f(1, 2, 6, 16), f(1, 2, 6, 16), *LENGTHS),
        (out(1, 4, 64), out(1, 2, 10, 16), out(1, 2, 10, 16)),
        attention(4 * 4, 10, 16, 16), GROUPS,
    ),
    "group-query-attention-buffer": Case(
        "GroupQueryAttention",
        (f(2, 1, 64), None, None, f(2, 2, 32, 8), f(2, 2, 32, 8), i(9, 9), i(10, shape=())),
        (out(2, 1, 32), out(2, 2, 32, 8), out(2, 2, 32, 8)), attention(2 * 4, 33, 8, 8), GROUPS,
    ),
    "group-query-attention-window": Case(
        "GroupQueryAttention",
        (f(1, 4, 128), None, None, f(1, 2, 6, 16), f(1, 2, 6, 16), *LENGTHS),
        (out(1, 4, 64), out(1, 2, 10, 16), out(1, 2, 10, 16)),
        attention(4 * 4, 5, 16, 16), {**GROUPS, "local_window_size": 5},
    ),
    "group-query-attention-prompt": Case(
        "GroupQueryAttention",
        (f(2, 4, 32), f(2, 4, 16), f(2, 4, 16), None, None, i(3, 3), i(4, shape=())),
        (out(2, 4, 32), out(2, 2, 4, 8), out(2, 2, 4, 8)), attention(2 * 4 * 4, 4, 8, 8), GROUPS,
    ),
    "sparse-attention": Case(
        "SparseAttention",
        (f(2, 4, 64), None, None, f(2, 2, 32, 8), f(2, 2, 32, 8), i(0, 1, 2, shape=(1, 3)),
         i(0, 1, shape=(1, 2)), i(10), i(10, 10)),
        (out(2, 4, 32), out(2, 2, 32, 8), out(2, 2, 32, 8)), attention(2 * 4 * 4, 36, 8, 8),
        {**GROUPS, "sparse_block_size": 16},
    ),
    "multi-head-attention": Case(
        "MultiHeadAttention",
        (f(2, 4, 32), f(2, 4, 32), f(2, 4, 32), w(96), None, None,
         f(2, 4, 6, 8), f(2, 4, 6, 8)),
        (out(2, 4, 32), out(2, 4, 10, 8), out(2, 4, 10, 8)),
        attention(2 * 4 * 4, 10, 8, 8) + 2 * 4 * 96, HEADS,
    ),
    "multi-head-attention-wide-values": Case(
        "MultiHeadAttention", (f(2, 4, 32), f(2, 7, 32), f(2, 7, 64)),
        (out(2, 4, 64),), attention(2 * 4 * 4, 7, 8, 16), HEADS,
    ),
    "multi-head-attention-crossed": Case(
        "MultiHeadAttention", (f(2, 4, 32), f(2, 4, 12, 8), f(2, 4, 12, 8)),
        (out(2, 4, 32),), attention(2 * 4 * 4, 12, 8, 8), HEADS,
    ),
    "multi-head-attention-packed": Case(
        "MultiHeadAttention", (f(2, 4, 4, 3, 8),),
        (out(2, 4, 32),), attention(2 * 4 * 4, 4, 8, 8), HEADS,
    ),
    "paged-attention": Case(
        "PagedAttention",
        (Given((6, 64), "float16"), None, None, Given((10, 16, 2, 8), "float16"),
         Given((10, 16, 2, 8), "float16"), i(0, 2, 6), i(3, 4), i(0, 1, 2, 3, shape=(2, 2))),
        (out(6, 32, dtype="float16"), out(10, 16, 2, 8, dtype="float16"),
         out(10, 16, 2, 8, dtype="float16")),
        attention(6 * 4, 32, 8, 8), GROUPS, dtype="float16",
    ),
    "attention": Case(
        "Attention", (f(2, 4, 16), w(16, 96), w(96), None, f(2, 2, 4, 6, 8)),
        (out(2, 4, 32), out(2, 2, 4, 10, 8)),
        2 * 4 * 96 * (2 * 16 + 1) + attention(2 * 4 * 4, 10, 8, 8), HEADS,
    ),
    "attention-wide-values": Case(
        "Attention", (f(2, 4, 16), w(16, 128), w(128)),
        (out(2, 4, 64),), 2 * 4 * 128 * (2 * 16 + 1) + attention(2 * 4 * 4, 4, 8, 16),
        {**HEADS, "qkv_hidden_sizes": [32, 32, 64]},
    ),
    "quantised-attention": Case(
        "QAttention",
        (q(2, 4, 16), w(16, 96, dtype="uint8"), w(96), SCALE, SCALE, None, ZERO, ZERO),
        (out(2, 4, 32),), 2 * 4 * 96 * (2 * 16 + 1) + attention(2 * 4 * 4, 4, 8, 8), HEADS,
        dtype="int8",
    ),
    # Decay, correction and update of the state of 2 heads, readout by 4.
    "linear-attention": Case(
        "LinearAttention",
        (f(1, 6, 32), f(1, 6, 16), f(1, 6, 32), f(1, 2, 8, 16), f(1, 6, 2), f(1, 6, 2)),
        (out(1, 6, 64), out(1, 2, 8, 16)), 6 * 128 * (2 * (1 + 2 + 2) + 2 * 4),
        {"q_num_heads": 4, "kv_num_heads": 2, "update_rule": "gated_delta"},
    ),
    "causal-conv": Case(
        "CausalConvWithState", (f(1, 8, 6), w(8, 1, 4), w(8)),
        (out(1, 8, 6), out(1, 8, 3)), 48 * (2 * 4 + 2), {"activation": "silu"},
    ),
    "relative-position-bias": Case(
        "RelativePositionBias", (f(32, 4), i(6, dtype="int64"), i(6, dtype="int64")),
        (out(1, 4, 6, 6),), 0, {"max_distance": 128},
    ),
    "rotary": Case(
        "RotaryEmbedding", (f(2, 4, 32), i(0, dtype="int64"), w(64, 4), w(64, 4)),
        (out(2, 4, 32),), 3 * 256,
    ),
    "gather-block-quantized": Case(
        "GatherBlockQuantized",
        (w(100, 32, dtype="uint4"), q(2, 4, dtype="int64"), w(100, 2), w(100, 2, dtype="uint4")),
        (out(2, 4, 32),), 256, {"block_size": 16, "gather_axis": 0, "quantize_axis": 1},
    ),
    "gather-block-packed": Case(
        "GatherBlockQuantized", (w(100, 16, dtype="uint8"), q(2, 4, dtype="int64"), w(100, 2)),
        (out(2, 4, 32),), 256,
        {"block_size": 16, "gather_axis": 0, "quantize_axis": 1, "bits": 4},
    ),
    "qlinear-concat": Case(
        "QLinearConcat", (SCALE, ZERO, q(2, 8), SCALE, ZERO, q(2, 4), SCALE, ZERO),
        (out(2, 12, dtype="uint8"),), 0, {"axis": -1},
    ),
}  # fmt: skip


def read(case: Case) -> ComputationGraph:
    """Return the graph of a case, of which nothing may be taken for granted."""
    graph = of_model(model_of(case))
    assert graph.notes == ()
    return graph


@pytest.mark.parametrize("name", CASES)
def test_outputs_and_operations(name: str) -> None:
    """No shape is assumed, and the arithmetic is counted in the type in which it is done."""
    case = CASES[name]
    graph = read(case)
    (operator,) = graph.operators
    written = [(graph.tensors[one].shape, graph.tensors[one].dtype) for one in operator.writes]
    assert written == [one for one in case.outputs if one is not None]
    assert operator.flops == case.flops
    assert graph.dtype == case.dtype


@pytest.mark.parametrize("op_type", sorted(VARIANTS))
def test_what_costs_like_another_operator_is_counted(op_type: str) -> None:
    """Operators of which a cost model knows how they cost have their operations and sizes."""
    assert has_rule("com.microsoft", op_type) or has_rule("", op_type)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("matmul-nbits", 24 * 64 + 24), ("matmul-bnb4", 24 * 64),
        ("gather-block-quantized", 100 * 32), ("gather-block-packed", 100 * 32),
        ("qmoe", 4 * (64 * 32 + 32 * 32)),
    ],
)  # fmt: skip
def test_weights_that_share_bytes_are_counted(name: str, expected: int) -> None:
    """As many as the model has, however they are stored; scales and zero points are none."""
    assert of_model(model_of(CASES[name])).parameter_count == expected


@pytest.mark.parametrize(
    ("domain", "op_type"),
    [
        ("com.example", "SkipSimplifiedLayerNormalization"),
        ("com.microsoft", "SkipGroupNorm"),
        ("com.microsoft", "LongformerAttention"),
    ],
)
def test_what_no_exporter_writes_costs_its_bytes(domain: str, op_type: str) -> None:
    """An operation for each element that it puts out, and a note that names it."""
    inputs, outputs = (f(2, 4, 8), f(2, 4, 8), w(8)), (out(2, 4, 8),)
    graph = of_model(model_of(Case(op_type, inputs, outputs, 0, domain=domain)))
    assert any(
        f"{domain}.{op_type}, which ONNX does not know, costed by the bytes" in note
        for note in graph.notes
    )
    assert graph.flops.tolist() == [64]


def test_images_with_channels_last_are_not_guessed() -> None:
    """Onnxruntime turns images around for some processors; then sizes are not those of ONNX."""
    case = CASES["qlinear-average-pool"]
    turned = Case(
        case.op_type, case.inputs, case.outputs, 0, {**case.attributes, "channels_last": 1}
    )
    assert any(
        "sizes of whose outputs are unknown" in one for one in of_model(model_of(turned)).notes
    )


@pytest.mark.parametrize("op_type", ["Attention", "MultiHeadAttention"])
def test_attention_without_heads_is_refused(op_type: str) -> None:
    """A division by their number names the node."""
    outputs = (((4, 8), "float32"),)
    case = Case(op_type, (f(4, 8), w(8, 24), w(24)), outputs, 0, attributes={"num_heads": 0})
    with pytest.raises(InvalidInputError, match=f"node .*: expected inputs, .* {op_type} allows"):
        of_model(model_of(case))


@pytest.mark.parametrize("before", [0, 1, 4])
def test_a_node_whose_shapes_are_refused_is_named(before: int) -> None:
    """Though what onnx says of it does not: it has no name, and no inputs."""
    names = [f"t{at}" for at in range(before + 3)]
    nodes = [
        helper.make_node("Relu", [] if at == before else [names[at]], [names[at + 1]])
        for at in range(before + 2)
    ]
    values = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [4])
        for name in (names[0], names[-1])
    ]
    model = helper.make_model(helper.make_graph(nodes, "g", values[:1], values[1:]))
    with pytest.raises(InvalidInputError, match=rf"node 'Relu_{before}' \(Relu\): expected shapes"):
        of_model(model)
