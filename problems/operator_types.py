"""Types of operators that cost models treat alike, named as in ONNX."""

from collections.abc import Mapping
from typing import Any

# What an inference runtime turns into metadata or drops: no kernel is launched and no byte moves.
# Their outputs are views of their inputs (Flatten, Identity, Reshape, Squeeze, Unsqueeze, and
# Dropout outside training), or are known before the model runs (Constant, ConstantOfShape, Shape).
# Transpose and Slice are not among them, since runtimes copy what they yield.
FREE_OP_TYPES = frozenset(
    {"Constant", "ConstantOfShape", "Dropout", "Flatten", "Identity", "Reshape", "Shape"}
    | {"Squeeze", "Unsqueeze"}
)

# What runtimes have other operators for: on quantised elements, with weights of few bits, with
# channels as the last dimension, or with an addition, a norm or an activation in one. Each costs
# like the operator of ONNX that does most of the same.
_NAMES_OF_VARIANTS = {
    "Add": "QLinearAdd",
    "Attention": "GroupQueryAttention MultiHeadAttention PagedAttention SparseAttention",
    "AveragePool": "QLinearAveragePool",
    "Concat": "QLinearConcat",
    "Conv": "ConvInteger FusedConv QLinearConv",
    "Gelu": "BiasGelu FastGelu QuickGelu",
    "Gemm": "FusedGemm GemmFastGelu QGemm",
    "GlobalAveragePool": "QLinearGlobalAveragePool",
    "LayerNormalization": "SimplifiedLayerNormalization SkipLayerNormalization "
    "SkipSimplifiedLayerNormalization",
    "LeakyRelu": "QLinearLeakyRelu",
    "MatMul": "DynamicQuantizeMatMul FusedMatMul MatMulBlockQuantizedFp4Weight "
    "MatMulBlockQuantizedFp8Weight MatMulBnb4 MatMulInteger MatMulIntegerToFloat MatMulNBits "
    "QLinearMatMul",
    "Mul": "QLinearMul",
    "Sigmoid": "QLinearSigmoid",
    "Softmax": "QLinearSoftmax",
    "Where": "QLinearWhere",
}
VARIANTS = {name: usual for usual, names in _NAMES_OF_VARIANTS.items() for name in names.split()}


# Weights of a few bits, several of them in a byte: the attribute that says how many bits, if not 4;
# the positions of such weights; and those of what they are scaled with, which are none.
_PACKED = {
    "GatherBlockQuantized": ("bits", (0,), (2, 3)),
    "MatMulBnb4": ("", (1,), (2,)),
    "MatMulNBits": ("bits", (1,), (2, 3, 4)),
    "QMoE": ("expert_weight_bits", (2, 5, 8), (3, 6, 9, 11, 12, 13)),
}  # fmt: skip


def numbers_in(op_type: str, attributes: Mapping[str, Any]) -> Mapping[int, float]:
    """Return how many weights a byte of a parameter has, by its position, where it is not one.

    Examples
    --------
    >>> numbers_in("MatMulNBits", {"bits": 4}), numbers_in("Relu", {})
    ({1: 2.0, 2: 0, 3: 0, 4: 0}, {})
    """
    if op_type not in _PACKED:
        return {}
    field, weights, scales = _PACKED[op_type]
    return dict.fromkeys(weights, 8 / attributes.get(field, 4)) | dict.fromkeys(scales, 0)


def usual_type(op_type: str) -> str:
    """Return the type of the operator of ONNX that one of a runtime costs like.

    Examples
    --------
    >>> usual_type("MatMulNBits"), usual_type("Relu")
    ('MatMul', 'Relu')
    """
    return VARIANTS.get(op_type, op_type)


# Elementwise operators of ONNX.
_ELEMENTWISE = frozenset(
    {"Abs", "Add", "And", "BatchNormalization", "Cast", "Ceil", "Clip", "Cos", "DequantizeLinear"}
    | {"Div", "Elu", "Equal", "Erf", "Exp", "Floor", "Gelu", "Greater", "GreaterOrEqual"}
    | {"HardSigmoid", "HardSwish", "LeakyRelu", "Less", "LessOrEqual", "Log", "Max", "Min", "Mish"}
    | {"Mod", "Mul", "Neg", "Not", "Or", "PRelu", "Pow", "QuantizeLinear", "Reciprocal", "Relu"}
    | {"Round", "Rsqrt", "Selu", "Sigmoid", "Sign", "Sin", "Softplus", "Softsign", "Sqrt", "Sub"}
    | {"Swish", "Tanh", "Where", "Xor"}
)

# One output element of each depends on one element of every input. Normalisation over a batch is
# among them since a trained model's is a scale and a shift.
ELEMENTWISE_OP_TYPES = _ELEMENTWISE | {
    name for name, usual in VARIANTS.items() if usual in _ELEMENTWISE
}

# What takes some elements of its first input, and reads no more of it than it writes.
LOOKUP_OP_TYPES = frozenset({"Gather", "GatherBlockQuantized", "GatherElements", "GatherND"})

# Where tensors have strides, as in PyTorch: outputs that are views of the first input, if its
# elements are in the right order in memory.
STRIDED_VIEW_OP_TYPES = frozenset(
    {"Dropout", "Expand", "Flatten", "Identity", "Reshape", "Slice", "Split", "Squeeze"}
    | {"Transpose", "Unsqueeze"}
)
