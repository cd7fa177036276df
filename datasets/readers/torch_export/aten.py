"""Translate operators of torch's ATen library to ONNX: names and attributes.

An operator that is not in the tables here is costed by the bytes that it moves. Functions that
return attributes take the arguments by torch's names and the shapes of the tensors that the
operator reads, in the order of ONNX, and of those that it writes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isqrt, prod
from typing import Any, TypeAlias

from boundmark.datasets.readers.onnx.flops import SOFTMAX, Rule, flops

Arguments: TypeAlias = Mapping[str, Any]
Attributes: TypeAlias = dict[str, Any]

# Returns attributes, from arguments by torch's names and the shapes of inputs and outputs.
Setter: TypeAlias = Callable[[Arguments, Sequence[Any], Sequence[Any]], Attributes]


def _many(value: Any, length: int) -> tuple[int, ...]:
    """Return a setting for each spatial dimension; torch allows one for all of them."""
    values = tuple(value) if isinstance(value, list | tuple) else (value,)
    return values * length if len(values) == 1 else values


def of_convolution(
    arguments: Arguments, inputs: Sequence[Any], outputs: Sequence[Any]
) -> Attributes:
    """Return the window; padding that torch calls "same" is larger at the end."""
    kernel = inputs[1][2:]
    pads = arguments["padding"]
    dilations = _many(arguments["dilation"], len(kernel))
    if isinstance(pads, str):
        whole = [
            d * (k - 1) if pads == "same" else 0 for d, k in zip(dilations, kernel, strict=True)
        ]
        begins, ends = [x // 2 for x in whole], [x - x // 2 for x in whole]
    else:
        begins = ends = list(_many(pads, len(kernel)))
    return {
        "kernel_shape": tuple(kernel),
        "strides": _many(arguments["stride"], len(kernel)),
        "dilations": dilations,
        "pads": (*begins, *ends),
        "group": arguments["groups"],
    }


def of_pool(arguments: Arguments, inputs: Sequence[Any], outputs: Sequence[Any]) -> Attributes:
    """Return the window; without a stride it moves by its own size.

    A window that is larger than the tensor, which torch allows where sizes are rounded up, is cut.
    """
    dims = len(inputs[0]) - 2
    kernel = _many(arguments["kernel_size"], dims)
    pads = _many(arguments["padding"], dims)
    extents = zip(kernel, inputs[0][-dims:], pads, strict=True)
    return {
        "kernel_shape": tuple(min(window, size + 2 * pad) for window, size, pad in extents),
        "strides": _many(arguments["stride"], dims) if arguments["stride"] else kernel,
        "dilations": _many(arguments.get("dilation", 1), dims),
        "pads": pads * 2,
    }


def of_adaptive_pool(
    arguments: Arguments, inputs: Sequence[Any], outputs: Sequence[Any]
) -> Attributes:
    """Return the window that torch uses if the sizes divide, the largest of its windows if not."""
    dims = len(arguments["output_size"])
    before, after = inputs[0][-dims:], outputs[0][-dims:]
    return {
        "kernel_shape": tuple(-(-b // a) for b, a in zip(before, after, strict=True)),
        "strides": tuple(max(1, b // a) for b, a in zip(before, after, strict=True)),
        "dilations": (1,) * dims,
        "pads": (0,) * 2 * dims,
    }


def axis(arguments: Arguments, inputs: Sequence[Any], outputs: Sequence[Any]) -> Attributes:
    """Return the axis along which tensors are joined."""
    return {"axis": arguments["dim"] % max(1, len(outputs[0]))}


def axes(arguments: Arguments, inputs: Sequence[Any], outputs: Sequence[Any]) -> Attributes:
    """Return the axes that are reduced or normalised."""
    rank = len(inputs[0])
    dim = arguments.get("dim")
    given = tuple(dim) if isinstance(dim, list | tuple) else (dim,)
    # None of them stands for all.
    dims = range(rank) if given in ((), (None,)) else given
    return {"axes": tuple(sorted(x % max(1, rank) for x in dims))}


def last_axes(count: int) -> Setter:
    """Return the function for operators that take this many last axes unless axes are given."""

    def taken(arguments: Arguments, inputs: Sequence[Any], outputs: Sequence[Any]) -> Attributes:
        given = arguments.get("dim")
        if given is None:
            given = tuple(range(-count, 0))
        return axes({"dim": given}, inputs, outputs)

    return taken


def swapped(arguments: Arguments, inputs: Sequence[Any], outputs: Sequence[Any]) -> Attributes:
    """Return a permutation that swaps two dimensions."""
    rank = len(inputs[0])
    order = list(range(rank))
    one = arguments.get("dim0", arguments.get("axis0", 0))
    other = arguments.get("dim1", arguments.get("axis1", 1))
    if rank > 1:
        order[one], order[other] = order[other], order[one]
    return {"perm": tuple(order)}


def permuted(arguments: Arguments, inputs: Sequence[Any], outputs: Sequence[Any]) -> Attributes:
    """Return a permutation of all dimensions."""
    rank = len(inputs[0])
    return {"perm": tuple(x % rank for x in arguments["dims"])}


def sliced(arguments: Arguments, inputs: Sequence[Any], outputs: Sequence[Any]) -> Attributes:
    """Return where a slice of one dimension begins and ends."""
    axis = arguments["dim"] % len(inputs[0])
    extent = inputs[0][axis]
    start = min(extent, (arguments["start"] or 0))
    start = max(0, start + extent) if start < 0 else start
    step = arguments["step"]
    return {
        "axes": (axis,),
        "starts": (start,),
        "ends": (min(extent, start + outputs[0][axis] * step),),
        "steps": (step,),
    }


def transposed_b(arguments: Arguments, inputs: Sequence[Any], outputs: Sequence[Any]) -> Attributes:
    """Return the attribute for weights that are stored as rows of outputs."""
    return {"transB": 1}


def frames(arguments: Arguments, inputs: Sequence[Any], outputs: Sequence[Any]) -> Attributes:
    """Return how many numbers a short transform takes."""
    return {"length": arguments["n_fft"]}


def equation(arguments: Arguments, inputs: Sequence[Any], outputs: Sequence[Any]) -> Attributes:
    """Return the equation of a sum of products."""
    return {"equation": arguments["equation"]}


Shape: TypeAlias = tuple[int, ...]


def _no_attributes(
    arguments: Arguments, inputs: Sequence[Any], outputs: Sequence[Any]
) -> Attributes:
    return {}


@dataclass(frozen=True)
class AtenRule:
    """A rule that makes an operator of a graph from an ATen operator.

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
        Returns the number of operations from the shapes of inputs and outputs and the attributes;
        None to count by the rule for the ONNX type.
    """

    op_type: str
    reads: tuple[str, ...] | None = None
    attributes: Setter = _no_attributes
    count: Rule | None = None

    def flops(
        self, inputs: Sequence[Shape | None], outputs: Sequence[Shape], attributes: Attributes
    ) -> int:
        """Return the number of operations, see `onnx.flops`."""
        if self.count is not None:
            return self.count(inputs, outputs, attributes)
        return flops(self.op_type, inputs, outputs, attributes)


def _gemm(inputs: Sequence[Any], outputs: Sequence[Any], attributes: Arguments) -> int:
    """Count a multiply-add per weight that an output meets; also for inputs of any rank."""
    bias = len(inputs) > 2 and inputs[2] is not None
    return prod(outputs[0]) * (2 * inputs[0][-1] + bias)


def _contraction(inputs: Sequence[Any], outputs: Sequence[Any], attributes: Arguments) -> int:
    """Count a multiply-add per point of the sum; what is summed over is in both inputs."""
    points = prod(outputs[0])
    summed = isqrt(prod(inputs[0]) * prod(inputs[1]) // points) if points else 0
    return 2 * points * summed


def _sum_of_products(inputs: Sequence[Any], outputs: Sequence[Any], attributes: Arguments) -> int:
    """Count multiply-adds of matrices in a batch that are added up, and the addition of the sum."""
    return 2 * prod(inputs[0]) * inputs[1][-1] + prod(outputs[0])


def _twice_forward(inputs: Sequence[Any], outputs: Sequence[Any], attributes: Arguments) -> int:
    """Count a gradient with respect to the input and one to the weights, where they are used."""
    gradient, weight = inputs[0], inputs[2]
    wanted = sum(len(shape) == len(weight) for shape in outputs)
    return wanted * 2 * prod(gradient) * prod(weight[1:])


def _per_input(count: int) -> Rule:
    return lambda inputs, outputs, attributes: count * prod(inputs[0] or ())


def _per_output(count: int) -> Rule:
    return lambda inputs, outputs, attributes: count * prod(outputs[0])


def _per_label(inputs: Sequence[Any], outputs: Sequence[Any], attributes: Arguments) -> int:
    return prod(inputs[1])


def _attention(inputs: Sequence[Any], outputs: Sequence[Any], attributes: Arguments) -> int:
    """Count scores, softmax and weighted sum: query (..., length, width), keys and values alike."""
    query, keys = inputs[0], inputs[1][-2]
    return 2 * keys * (prod(query) + prod(outputs[0])) + SOFTMAX * prod(query[:-1]) * keys


def _recurrent(inputs: Sequence[Any], outputs: Sequence[Any], attributes: Arguments) -> int:
    """Count what each matrix does in a step, and an addition and a function for each gate's unit.

    A layer and direction has two matrices (gates * units, ...), of inputs and of the state.
    """
    matrices = [shape for shape in inputs[1:] if shape is not None and len(shape) == 2]
    return prod(inputs[0][:-1]) * sum(2 * prod(shape) + shape[0] for shape in matrices)


def _distances(inputs: Sequence[Any], outputs: Sequence[Any], attributes: Arguments) -> int:
    """Count a difference, a power and an addition per coordinate of each pair."""
    return 3 * prod(outputs[0]) * inputs[0][-1]


def _search(inputs: Sequence[Any], outputs: Sequence[Any], attributes: Arguments) -> int:
    """Count a comparison per halving of the sorted numbers, which are the second input."""
    return prod(outputs[0]) * (inputs[1][-1] if inputs[1] else 1).bit_length()


def _bag(inputs: Sequence[Any], outputs: Sequence[Any], attributes: Arguments) -> int:
    """Count an addition per element of each row that is gathered."""
    return prod(inputs[1]) * prod(inputs[0][1:])


def _fourier(inputs: Sequence[Any], outputs: Sequence[Any], attributes: Arguments) -> int:
    """Count 5 n log2 n operations of a transform of n numbers, half if one side has only real ones.

    That is what an algorithm of radix two takes; a side of real numbers is told by its length.
    """
    before, after = inputs[0], outputs[0]
    sizes = [max(pair) for pair in zip(before, after, strict=True)]
    length = prod(sizes[axis] for axis in attributes["axes"])
    return 5 * prod(sizes) * (length - 1).bit_length() // (1 if before == after else 2)


def _short_fourier(inputs: Sequence[Any], outputs: Sequence[Any], attributes: Arguments) -> int:
    """Count a transform of real numbers and a window for each frame."""
    length = attributes["length"]
    bins = attributes["length"] // 2 + 1
    frames = prod(outputs[0]) // bins
    return frames * (5 * length * (length - 1).bit_length() // 2 + length)


NOTHING = _per_output(0)

# Operators whose result is their first argument, or a copy that a runtime does not make.
SAME = frozenset(
    {"alias", "clone", "contiguous", "detach", "dropout", "feature_dropout", "lift_fresh_copy"}
    | {"lift_fresh", "lift", "native_dropout", "positive", "detach_", "alias_copy", "resolve_conj"}
    | {"resolve_neg", "_conj", "_neg_view"}
)

# Checks that compute nothing.
CHECKS = frozenset(
    {"_assert_tensor_metadata", "_assert_scalar", "_assert_async", "sym_constrain_range"}
    | {"_functional_assert_async", "_functional_assert_scalar", "sym_constrain_range_for_size"}
    | {"_functional_sym_constrain_range", "_functional_sym_constrain_range_for_size"}
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
    "absolute": "Abs", "acos": "Acos", "acosh": "Acosh", "asin": "Asin", "asinh": "Asinh",
    "atan": "Atan", "atan2": "Atan2", "atanh": "Atanh", "__xor__": "Xor", "bitwise_xor": "Xor",
    "celu": "Celu", "clip": "Clip", "cosh": "Cosh", "divide": "Div", "erfc": "Erf", "exp2": "Pow",
    "expm1": "Exp", "fmod": "Mod", "greater": "Greater", "greater_equal": "GreaterOrEqual",
    "hardshrink": "Shrink", "isfinite": "IsInf", "less": "Less", "less_equal": "LessOrEqual",
    "log10": "Log", "log2": "Log", "log_sigmoid": "LogSigmoid", "logical_xor": "Xor",
    "multiply": "Mul", "nan_to_num": "Where", "negative": "Neg", "not_equal": "Not", "outer": "Mul",
    "selu": "Selu", "sgn": "Sign", "sinh": "Sinh", "softshrink": "Shrink", "square": "Mul",
    "subtract": "Sub", "tan": "Tan", "threshold": "ThresholdedRelu", "true_divide": "Div",
    "trunc": "Floor",
    "__lshift__": "BitShift", "__rshift__": "BitShift", "arccos": "Acos", "arccosh": "Acosh",
    "arcsin": "Asin", "arcsinh": "Asinh", "arctan": "Atan", "arctan2": "Atan2",
    "arctanh": "Atanh", "bitwise_left_shift": "BitShift", "bitwise_right_shift": "BitShift",
    "conj_physical": "Neg", "deg2rad": "Mul", "fix": "Floor", "float_power": "Pow", "frac": "Mod",
    "ger": "Mul", "heaviside": "Where", "isin": "Equal", "isneginf": "IsInf", "isposinf": "IsInf",
    "kron": "Mul", "logit": "Log", "_prelu_kernel": "PRelu", "rad2deg": "Mul", "rrelu": "LeakyRelu",
    "rrelu_with_noise": "LeakyRelu", "sinc": "Sin", "special_expit": "Sigmoid",
    "special_ndtr": "Erf", "_unsafe_masked_index": "Where",
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
    "broadcast_tensors": "Expand", "broadcast_to": "Expand", "diagonal": "Slice",
    "hstack": "Concat", "index_copy": "ScatterElements", "index_fill": "ScatterElements",
    "mT": "Transpose", "masked_scatter": "ScatterElements", "moveaxis": "Transpose",
    "narrow": "Slice", "numpy_T": "Transpose", "ravel": "Reshape", "reflection_pad3d": "Pad",
    "replication_pad1d": "Pad", "replication_pad2d": "Pad", "replication_pad3d": "Pad",
    "scatter_add": "ScatterElements", "scatter_reduce": "ScatterElements",
    "take_along_dim": "GatherElements", "tensor_split": "Split", "tile": "Tile",
    "unsafe_chunk": "Split", "unsafe_split": "Split", "view_as_complex": "Reshape",
    "view_as_real": "Reshape", "vstack": "Concat",
    "_reshape_alias": "Reshape", "_reshape_copy": "Reshape", "_unsafe_index": "GatherND",
    "_unsafe_index_put": "ScatterND", "adjoint": "Transpose", "as_strided_scatter": "ScatterND",
    "atleast_1d": "Reshape", "atleast_2d": "Reshape", "atleast_3d": "Reshape",
    "block_diag": "Concat", "cartesian_prod": "Concat", "channel_shuffle": "Transpose",
    "column_stack": "Concat", "complex": "Concat", "diag": "ScatterElements",
    "diag_embed": "ScatterElements", "diagflat": "ScatterElements", "diagonal_scatter": "ScatterND",
    "dsplit": "Split", "dstack": "Concat", "fft_fftshift": "Concat", "fft_ifftshift": "Concat",
    "fill_diagonal": "ScatterND", "fliplr": "Slice", "flipud": "Slice", "hsplit": "Split",
    "imag": "Slice", "matrix_H": "Transpose",
    "meshgrid": "Expand", "mH": "Transpose", "native_channel_shuffle": "Transpose",
    "pad_sequence": "Concat", "real": "Slice", "rot90": "Transpose", "row_stack": "Concat",
    "slice_inverse": "ScatterND", "take": "Gather", "unsafe_split_with_sizes": "Split",
    "vsplit": "Split",
}  # fmt: skip

# Only the shape or the type of their second argument counts.
_LIKE: Mapping[str, str] = {
    "expand_as": "Expand", "reshape_as": "Reshape", "type_as": "Cast", "view_as": "Reshape",
}  # fmt: skip

_REDUCTIONS: Mapping[str, str] = {
    "sum": "ReduceSum", "mean": "ReduceMean", "amax": "ReduceMax", "amin": "ReduceMin",
    "max": "ReduceMax", "min": "ReduceMin", "argmax": "ArgMax", "argmin": "ArgMin",
    "logsumexp": "ReduceLogSumExp", "linalg_vector_norm": "ReduceL2", "prod": "ReduceProd",
    "all": "ReduceMin", "any": "ReduceMax", "count_nonzero": "ReduceSum", "linalg_norm": "ReduceL2",
    "frobenius_norm": "ReduceL2", "linalg_matrix_norm": "ReduceL2",
    "nanmean": "ReduceMean", "nansum": "ReduceSum", "norm": "ReduceL2",
}  # fmt: skip

_THREE_STEPS: Mapping[str, str] = {"addcdiv": "Addcdiv", "addcmul": "Addcmul", "lerp": "Lerp"}

_RECURRENT: Mapping[str, str] = {"gru": "GRU", "lstm": "LSTM", "rnn_relu": "RNN", "rnn_tanh": "RNN"}

# A packed sequence is called `data`.
_OF_RECURRENT = ("input", "data", "params", "hx")

# What makes new tensors of no input; folded away but for those that take a shape from an input.
_CREATED = (
    "arange blackman_window empty empty_like empty_permuted empty_strided eye fft_fftfreq "
    "fft_rfftfreq full full_like hamming_window hann_window kaiser_window linspace logspace "
    "new_empty new_empty_strided new_full new_ones new_zeros ones ones_like rand rand_like randint "
    "randint_like randn randn_like randperm scalar_tensor tril_indices triu_indices zero zeros "
    "zeros_like"
)

# Some of these are transposed, see `rule_of`.
_CONVOLUTIONS = (
    "_convolution",
    "convolution",
    "convolution_overrideable",
    "cudnn_convolution",
    "mkldnn_convolution",
)

# What torch's own decompositions make of it depends on the device.
_ATTENTIONS = (
    "scaled_dot_product_attention",
    "_scaled_dot_product_attention_math",
    "_scaled_dot_product_cudnn_attention",
    "_scaled_dot_product_efficient_attention",
    "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_fused_attention_overrideable",
)

_MASKS = ("attn_mask", "attn_bias")

_SOFTMAXES = ("softmax", "_softmax", "_safe_softmax", "special_softmax")

# Operations for each element.
_RESIZED: Mapping[str, int] = {
    "upsample_nearest1d": 0, "upsample_nearest2d": 0, "upsample_nearest3d": 0,
    "_upsample_nearest_exact1d": 0, "_upsample_nearest_exact2d": 0, "_upsample_nearest_exact3d": 0,
    "upsample_linear1d": 3, "upsample_bilinear2d": 7, "_upsample_bilinear2d_aa": 7,
    "upsample_trilinear3d": 15, "upsample_bicubic2d": 35, "_upsample_bicubic2d_aa": 35,
}  # fmt: skip

# N stands for the number of spatial dimensions.
_POOLS: Mapping[str, tuple[str, Setter]] = {
    "max_poolNd": ("MaxPool", of_pool),
    "max_poolNd_with_indices": ("MaxPool", of_pool),
    "avg_poolNd": ("AveragePool", of_pool),
    "adaptive_avg_poolNd": ("AveragePool", of_adaptive_pool),
    "adaptive_max_poolNd": ("MaxPool", of_adaptive_pool),
}

RULES: Mapping[str, AtenRule] = {
    **{name: AtenRule(kind) for name, kind in _ELEMENTWISE.items()},
    **{name: AtenRule(kind) for name, kind in _MOVED.items()},
    **{name: AtenRule(kind, ("self",)) for name, kind in _LIKE.items()},
    **{name: AtenRule(kind, attributes=axes) for name, kind in _REDUCTIONS.items()},
    # Sum, difference, square and sum.
    **dict.fromkeys(("var", "var_mean"), AtenRule("Var", ("self",), axes, _per_input(4))),
    **dict.fromkeys(("std", "std_mean"), AtenRule("Std", ("self",), axes, _per_input(4))),
    **dict.fromkeys(_CREATED.split(), AtenRule("ConstantOfShape", reads=())),
    **dict.fromkeys(
        ("conv1d", "conv2d", "conv3d", *_CONVOLUTIONS),
        AtenRule("Conv", ("input", "weight", "bias"), of_convolution),
    ),
    **dict.fromkeys(
        ("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"),
        AtenRule("ConvTranspose", ("input", "weight", "bias"), of_convolution),
    ),
    "linear": AtenRule("Gemm", ("input", "weight", "bias"), transposed_b, _gemm),
    "addmm": AtenRule("Gemm", ("mat1", "mat2", "self"), count=_gemm),
    "addmv": AtenRule("Gemm", ("mat", "vec", "self"), count=_gemm),
    "addr": AtenRule("Gemm", ("vec1", "vec2", "self"), count=_per_output(2)),
    "addbmm": AtenRule("Gemm", ("batch1", "batch2", "self"), count=_sum_of_products),
    "baddbmm": AtenRule("MatMul", ("batch1", "batch2", "self")),
    **dict.fromkeys(
        [
            "matmul",
            "mm",
            "bmm",
            "mv",
            "dot",
            "vdot",
            "linalg_matmul",
            "linalg_vecdot",
            "_int_mm",
            "_scaled_mm",
        ],
        AtenRule("MatMul"),
    ),
    **dict.fromkeys(("inner", "tensordot"), AtenRule("MatMul", count=_contraction)),
    # Rows of the first matrix meet one of several matrices each, those of experts.
    **dict.fromkeys(
        ("_grouped_mm", "transformers.grouped_mm_fallback.default"), AtenRule("MatMul")
    ),
    **{name: AtenRule(kind, _OF_RECURRENT, count=_recurrent) for name, kind in _RECURRENT.items()},
    "einsum": AtenRule("Einsum", attributes=equation),
    **dict.fromkeys(
        _ATTENTIONS, AtenRule("Attention", ("query", "key", "value", *_MASKS), count=_attention)
    ),
    **dict.fromkeys(_SOFTMAXES, AtenRule("Softmax", ("self",), axes)),
    **dict.fromkeys(("log_softmax", "_log_softmax"), AtenRule("LogSoftmax", ("self",), axes)),
    **dict.fromkeys(
        ("layer_norm", "native_layer_norm"),
        AtenRule("LayerNormalization", ("input", "weight", "bias")),
    ),
    **dict.fromkeys(
        ("group_norm", "native_group_norm"),
        AtenRule("GroupNormalization", ("input", "weight", "bias")),
    ),
    "instance_norm": AtenRule("InstanceNormalization", ("input", "weight", "bias")),
    **dict.fromkeys(
        ("rms_norm", "_fused_rms_norm"), AtenRule("RMSNormalization", ("input", "weight"))
    ),
    **dict.fromkeys(
        ("batch_norm", "_native_batch_norm_legit_no_training"),
        AtenRule("BatchNormalization", ("input", "weight", "bias", "running_mean", "running_var")),
    ),
    # Mean and variance are those of the batch: sum, difference, square and sum as well.
    **dict.fromkeys(
        ("_native_batch_norm_legit", "_native_batch_norm_legit_functional", "native_batch_norm"),
        AtenRule("BatchNormalization", ("input", "weight", "bias"), count=_per_input(6)),
    ),
    **{
        name.replace("N", str(dims)): AtenRule(kind, ("self",), window)
        for name, (kind, window) in _POOLS.items()
        for dims in (1, 2, 3)
    },
    **dict.fromkeys(
        ("_adaptive_avg_pool2d", "_adaptive_avg_pool3d"),
        AtenRule("AveragePool", ("self",), of_adaptive_pool),
    ),
    "glu": AtenRule("Glu", count=_per_output(2)),
    "embedding": AtenRule("Gather", ("weight", "indices")),
    **dict.fromkeys(
        ("transpose", "swapaxes", "swapdims", "t"), AtenRule("Transpose", attributes=swapped)
    ),
    "permute": AtenRule("Transpose", attributes=permuted),
    "slice": AtenRule("Slice", attributes=sliced),
    **dict.fromkeys(("cat", "concat", "concatenate"), AtenRule("Concat", attributes=axis)),
    "cumsum": AtenRule("CumSum", ("self",)),
    "cumprod": AtenRule("CumProd", ("self",)),
    **dict.fromkeys(("cummax", "cummin"), AtenRule("CumMax", ("self",), count=_per_input(1))),
    "logcumsumexp": AtenRule("CumSum", ("self",), count=_per_input(3)),
    # ONNX sorts by taking all elements.
    **dict.fromkeys(
        ("topk", "sort", "argsort", "msort"), AtenRule("TopK", ("self",), count=_per_input(1))
    ),
    **dict.fromkeys(("histc", "bincount"), AtenRule("Histogram", ("self",), count=_per_input(1))),
    "one_hot": AtenRule("OneHot", ("self",), count=_per_output(0)),
    **{name: AtenRule(kind, count=_per_output(3)) for name, kind in _THREE_STEPS.items()},
    "diff": AtenRule("Sub", ("self",)),
    **{
        name: AtenRule("Resize", ("self", "input"), count=_per_output(count))
        for name, count in _RESIZED.items()
    },
    **dict.fromkeys(
        ("grid_sampler", "grid_sampler_2d"),
        AtenRule("GridSample", ("input", "grid"), count=_per_output(7)),
    ),
    "grid_sampler_3d": AtenRule("GridSample", ("input", "grid"), count=_per_output(15)),
    "affine_grid_generator": AtenRule("AffineGrid", ("theta",), count=_per_output(6)),
    "col2im": AtenRule("Col2Im", ("self",), count=_per_input(1)),
    **dict.fromkeys(
        ("bucketize", "searchsorted"),
        AtenRule("Bucketize", ("self", "boundaries", "sorted_sequence"), count=_search),
    ),
    **dict.fromkeys(
        ("embedding_bag", "_embedding_bag", "_embedding_bag_forward_only"),
        AtenRule("EmbeddingBag", ("weight", "indices", "offsets"), count=_bag),
    ),
    **dict.fromkeys(
        ("cdist", "_cdist_forward", "_euclidean_dist"),
        AtenRule("Distance", ("x1", "x2"), count=_distances),
    ),
    # Products and squares of both, and their sums.
    "cosine_similarity": AtenRule("CosineSimilarity", ("x1", "x2"), count=_per_input(6)),
    **dict.fromkeys(("cross", "linalg_cross"), AtenRule("Cross", count=_per_output(3))),
    "aminmax": AtenRule("ReduceMax", ("self",), count=_per_input(2)),
    **dict.fromkeys(("logaddexp", "logaddexp2"), AtenRule("Log", count=_per_output(4))),
    **dict.fromkeys(("xlogy", "special_xlogy"), AtenRule("Log", count=_per_output(2))),
    "polar": AtenRule("Polar", count=_per_output(4)),
    **{
        f"fft_{name}{kind}": AtenRule("DFT", ("self",), last_axes(count), _fourier)
        for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
        for kind, count in (("", 1), ("2", 2))
    },
    **{
        f"fft_{name}n": AtenRule("DFT", ("self",), axes, _fourier)
        for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
    },
    **dict.fromkeys(
        ("_fft_c2c", "_fft_r2c", "_fft_c2r"), AtenRule("DFT", ("self",), axes, _fourier)
    ),
    "stft": AtenRule("STFT", ("self", "window"), frames, _short_fourier),
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
    "nll_loss_forward": AtenRule("NegativeLogLikelihoodLoss", ("self", "target"), count=_per_label),
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


def rule_of(packet: str, arguments: Arguments) -> AtenRule | None:
    """Return the rule for an operator, with arguments by name; None if there is none."""
    if packet in _CONVOLUTIONS and arguments.get("transposed"):
        packet = "conv_transpose2d"
    return RULES.get(packet)
