"""Translates operators of torch's ATen library to ONNX: names and attributes.

An operator that is not in the tables here is an error: a graph with guessed operations would be
worth less than none.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

from boundmark.datasets.onnx_flops import flops
from boundmark.datasets.zoo.export import settings
from boundmark.datasets.zoo.export.settings import Arguments, Attributes

Shape: TypeAlias = tuple[int, ...]


def _no_attributes(
    arguments: Arguments, inputs: Sequence[Any], outputs: Sequence[Any]
) -> Attributes:
    return {}


@dataclass(frozen=True)
class AtenRule:
    """How an ATen operator becomes an operator of a graph.

    Attributes
    ----------
    op_type
        As in ONNX. If ONNX has none, that of ONNX Runtime's training (e.g. ``"SoftmaxGrad"``) or
        torch's.
    reads
        Names of the arguments that are tensors in the order of ONNX; None for all of them in
        torch's order.
    attributes
        Returns the attributes, from the arguments by name and the shapes of inputs and outputs.
    count
        Returns the number of operations from the shapes of inputs and outputs; None to count by
        the rule for the ONNX type.
    """

    op_type: str
    reads: tuple[str, ...] | None = None
    attributes: Callable[[Arguments, Sequence[Any], Sequence[Any]], Attributes] = _no_attributes
    count: Callable[[Sequence[Any], Sequence[Any]], int] | None = None

    def flops(
        self, inputs: Sequence[Shape | None], outputs: Sequence[Shape], attributes: Attributes
    ) -> int:
        """Return the number of operations, see `onnx_flops`."""
        if self.count is not None:
            return self.count(inputs, outputs)
        return flops(self.op_type, inputs, outputs, attributes)


def _gemm(inputs: Sequence[Any], outputs: Sequence[Any]) -> int:
    """Count a multiply-add per weight that an output meets; also for inputs of any rank."""
    bias = len(inputs) > 2 and inputs[2] is not None
    return prod(outputs[0]) * (2 * inputs[0][-1] + bias)


def _twice_forward(inputs: Sequence[Any], outputs: Sequence[Any]) -> int:
    """Count a gradient with respect to the input and one to the weights, where they are used."""
    gradient, weight = inputs[0], inputs[2]
    wanted = sum(len(shape) == len(weight) for shape in outputs)
    return wanted * 2 * prod(gradient) * prod(weight[1:])


def _per_input(count: int) -> Callable[[Sequence[Any], Sequence[Any]], int]:
    return lambda inputs, outputs: count * prod(inputs[0])


def _per_output(count: int) -> Callable[[Sequence[Any], Sequence[Any]], int]:
    return lambda inputs, outputs: count * prod(outputs[0])


def _attention(inputs: Sequence[Any], outputs: Sequence[Any]) -> int:
    """Count scores, softmax and weighted sum: query (..., length, width), keys and values alike."""
    query, keys = inputs[0], inputs[1][-2]
    return 2 * keys * (prod(query) + prod(outputs[0])) + 5 * prod(query[:-1]) * keys


# Operators whose result is their first argument, or a copy that a runtime does not make.
SAME = frozenset(
    {"alias", "clone", "contiguous", "detach", "dropout", "feature_dropout", "lift_fresh_copy"}
    | {"lift_fresh", "lift", "native_dropout", "positive", "detach_"}
)

# Checks that compute nothing.
CHECKS = frozenset(
    {"_assert_tensor_metadata", "_assert_scalar", "_assert_async", "sym_constrain_range"}
)

_ELEMENTWISE: Mapping[str, str] = {
    "abs": "Abs", "add": "Add", "bitwise_and": "And", "__and__": "And", "logical_and": "And",
    "bitwise_or": "Or", "__or__": "Or", "logical_or": "Or", "bitwise_not": "Not",
    "logical_not": "Not",
    "ceil": "Ceil", "clamp": "Clip", "clamp_min": "Clip", "clamp_max": "Clip", "hardtanh": "Clip",
    "relu6": "Clip", "cos": "Cos", "div": "Div", "floor_divide": "Div", "elu": "Elu", "eq": "Equal",
    "erf": "Erf", "exp": "Exp", "floor": "Floor", "gelu": "Gelu", "gt": "Greater",
    "ge": "GreaterOrEqual", "hardsigmoid": "HardSigmoid", "hardswish": "HardSwish",
    "leaky_relu": "LeakyRelu", "lt": "Less", "le": "LessOrEqual", "log": "Log", "maximum": "Max",
    "minimum": "Min", "mul": "Mul", "neg": "Neg", "ne": "Not", "pow": "Pow", "prelu": "PRelu",
    "reciprocal": "Reciprocal", "relu": "Relu", "remainder": "Mod", "round": "Round",
    "rsqrt": "Rsqrt", "rsub": "Sub", "sigmoid": "Sigmoid", "sign": "Sign", "silu": "Swish",
    "mish": "Mish", "sin": "Sin", "softplus": "Softplus", "sqrt": "Sqrt", "sub": "Sub",
    "tanh": "Tanh", "where": "Where", "masked_fill": "Where",
    "bernoulli": "Bernoulli", "isinf": "IsInf", "isnan": "IsNaN", "log1p": "Log",
}  # fmt: skip

_MOVED: Mapping[str, str] = {
    "view": "Reshape", "_unsafe_view": "Reshape", "reshape": "Reshape", "flatten": "Flatten",
    "unflatten": "Reshape", "squeeze": "Squeeze", "unsqueeze": "Unsqueeze", "expand": "Expand",
    "repeat": "Tile", "pad": "Pad", "constant_pad_nd": "Pad", "reflection_pad1d": "Pad",
    "reflection_pad2d": "Pad", "roll": "Concat", "flip": "Slice", "pixel_shuffle": "DepthToSpace",
    "pixel_unshuffle": "SpaceToDepth", "split": "Split", "split_with_sizes": "Split",
    "chunk": "Split", "unbind": "Split", "_to_copy": "Cast", "to": "Cast",
    "index_select": "Gather", "select": "Gather", "gather": "GatherElements", "index": "GatherND",
    "index_put": "ScatterND", "scatter": "ScatterElements", "index_add": "ScatterElements",
    "slice_scatter": "ScatterND",
    "select_scatter": "ScatterND", "copy": "Identity", "repeat_interleave": "Expand",
    "unfold": "Slice", "im2col": "Slice", "stack": "Concat", "tril": "Trilu", "triu": "Trilu",
    "movedim": "Transpose", "as_strided": "Slice",
}  # fmt: skip

_REDUCTIONS: Mapping[str, str] = {
    "sum": "ReduceSum", "mean": "ReduceMean", "amax": "ReduceMax", "amin": "ReduceMin",
    "max": "ReduceMax", "min": "ReduceMin", "argmax": "ArgMax", "argmin": "ArgMin",
    "logsumexp": "ReduceLogSumExp", "linalg_vector_norm": "ReduceL2", "prod": "ReduceProd",
    "all": "ReduceMin", "any": "ReduceMax",
}  # fmt: skip

# What makes new tensors of no input; folded away but for those that take a shape from an input.
_CREATED = (
    "arange empty empty_like empty_permuted eye full full_like linspace new_empty new_full "
    "new_ones new_zeros ones ones_like scalar_tensor zeros zeros_like"
)

RULES: Mapping[str, AtenRule] = {
    **{name: AtenRule(kind) for name, kind in _ELEMENTWISE.items()},
    **{name: AtenRule(kind) for name, kind in _MOVED.items()},
    **{name: AtenRule(kind, attributes=settings.axes) for name, kind in _REDUCTIONS.items()},
    **dict.fromkeys(_CREATED.split(), AtenRule("ConstantOfShape", reads=())),
    **dict.fromkeys(
        ("conv1d", "conv2d", "conv3d", "convolution"),
        AtenRule("Conv", ("input", "weight", "bias"), settings.of_convolution),
    ),
    **dict.fromkeys(
        ("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"),
        AtenRule("ConvTranspose", ("input", "weight", "bias"), settings.of_convolution),
    ),
    "linear": AtenRule("Gemm", ("input", "weight", "bias"), settings.transposed_b, _gemm),
    "addmm": AtenRule("Gemm", ("mat1", "mat2", "self"), count=_gemm),
    "baddbmm": AtenRule("MatMul", ("batch1", "batch2", "self")),
    **dict.fromkeys(("matmul", "mm", "bmm"), AtenRule("MatMul")),
    "einsum": AtenRule("Einsum", attributes=settings.equation),
    "scaled_dot_product_attention": AtenRule(
        "Attention", ("query", "key", "value", "attn_mask"), count=_attention
    ),
    "softmax": AtenRule("Softmax", ("self",), settings.axes),
    "_softmax": AtenRule("Softmax", ("self",), settings.axes),
    "log_softmax": AtenRule("LogSoftmax", ("self",), settings.axes),
    "_log_softmax": AtenRule("LogSoftmax", ("self",), settings.axes),
    "layer_norm": AtenRule("LayerNormalization", ("input", "weight", "bias")),
    "native_layer_norm": AtenRule("LayerNormalization", ("input", "weight", "bias")),
    "group_norm": AtenRule("GroupNormalization", ("input", "weight", "bias")),
    "instance_norm": AtenRule("InstanceNormalization", ("input", "weight", "bias")),
    "rms_norm": AtenRule("RMSNormalization", ("input", "weight")),
    "_native_batch_norm_legit_no_training": AtenRule(
        "BatchNormalization", ("input", "weight", "bias", "running_mean", "running_var")
    ),
    "batch_norm": AtenRule(
        "BatchNormalization", ("input", "weight", "bias", "running_mean", "running_var")
    ),
    **dict.fromkeys(
        ("max_pool1d", "max_pool2d", "max_pool3d"), AtenRule("MaxPool", ("self",), settings.of_pool)
    ),
    "max_pool2d_with_indices": AtenRule("MaxPool", ("self",), settings.of_pool),
    **dict.fromkeys(
        ("avg_pool1d", "avg_pool2d", "avg_pool3d"),
        AtenRule("AveragePool", ("self",), settings.of_pool),
    ),
    **dict.fromkeys(
        [
            "adaptive_avg_pool1d",
            "adaptive_avg_pool2d",
            "adaptive_avg_pool3d",
            "_adaptive_avg_pool2d",
            "_adaptive_avg_pool3d",
        ],
        AtenRule("AveragePool", ("self",), settings.of_adaptive_pool),
    ),
    "glu": AtenRule("Glu", count=_per_output(2)),
    "embedding": AtenRule("Gather", ("weight", "indices")),
    **dict.fromkeys(
        ("transpose", "swapaxes", "swapdims"), AtenRule("Transpose", attributes=settings.swapped)
    ),
    "t": AtenRule("Transpose", attributes=settings.swapped),
    "permute": AtenRule("Transpose", attributes=settings.permuted),
    "slice": AtenRule("Slice", attributes=settings.sliced),
    "cat": AtenRule("Concat", attributes=settings.axis),
    "cumsum": AtenRule("CumSum", ("self",)),
    "topk": AtenRule("TopK", ("self",), count=_per_input(1)),
    "diff": AtenRule("Sub", ("self",)),
    "upsample_bilinear2d": AtenRule("Resize", ("input",), count=_per_output(7)),
    "upsample_bicubic2d": AtenRule("Resize", ("input",), count=_per_output(35)),
    "upsample_nearest1d": AtenRule("Resize", ("self", "input"), count=_per_output(0)),
    "upsample_nearest2d": AtenRule("Resize", ("self", "input"), count=_per_output(0)),
    "grid_sampler": AtenRule("GridSample", ("input", "grid"), count=_per_output(7)),
    # Training.
    "convolution_backward": AtenRule(
        "ConvGrad", ("grad_output", "input", "weight"), count=_twice_forward
    ),
    "native_layer_norm_backward": AtenRule("LayerNormalizationGrad", count=_per_input(14)),
    "native_group_norm_backward": AtenRule("GroupNormalizationGrad", count=_per_input(14)),
    "_softmax_backward_data": AtenRule(
        "SoftmaxGrad", ("grad_output", "output"), count=_per_output(4)
    ),
    "_log_softmax_backward_data": AtenRule(
        "LogSoftmaxGrad", ("grad_output", "output"), count=_per_output(4)
    ),
    "nll_loss_forward": AtenRule(
        "NegativeLogLikelihoodLoss", ("self", "target"), count=lambda i, o: prod(i[1])
    ),
    "nll_loss_backward": AtenRule(
        "NegativeLogLikelihoodLossGrad", ("grad_output", "target"), count=_per_output(0)
    ),
    "gelu_backward": AtenRule("GeluGrad", count=_per_output(4)),
    "tanh_backward": AtenRule("TanhGrad", count=_per_output(3)),
    "sigmoid_backward": AtenRule("SigmoidGrad", count=_per_output(3)),
    "silu_backward": AtenRule("SwishGrad", count=_per_output(5)),
    "threshold_backward": AtenRule("ReluGrad", count=_per_output(1)),
    "embedding_dense_backward": AtenRule(
        "GatherGrad", ("grad_output", "indices"), count=_per_input(1)
    ),
    "native_batch_norm_backward": AtenRule("BatchNormalizationGrad", count=_per_input(10)),
    "max_pool2d_with_indices_backward": AtenRule("MaxPoolGrad", count=_per_input(1)),
}
