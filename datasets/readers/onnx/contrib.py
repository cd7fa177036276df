"""Operators that onnxruntime adds to ONNX (domain com.microsoft): output types and operations.

Known are those that onnxruntime-genai, Optimum and onnxruntime's quantisation tool write into
models; others are custom operators, which cost their bytes. Inputs have the positions that
onnxruntime's ContribOperators.md gives them. Operations are those of the float operators that these
stand for: what is packed, fused or quantised inside an operator counts nothing, except where
activations are quantised at run time.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import onnx.helper
from onnx import NodeProto, TensorProto

from boundmark.datasets.readers.onnx import flops as onnx_flops
from boundmark.datasets.readers.onnx.contrib_types import (
    Call,
    Types,
    as_onnx,
    attended,
    attending,
    broadcast,
    carried,
    concatenated,
    embedded,
    gathered,
    grouped,
    like,
    linear_attention_types,
    multi_head,
    normalised,
    of_weights,
    paged,
    paged_types,
    products,
    projected,
    projecting,
    recurrent_types,
    self_attended,
    simplified,
    turned,
    updating_states,
    widened,
    with_elements,
)
from boundmark.datasets.readers.onnx.flops import (
    ROTATION,
    SOFTMAX,
    Attributes,
    Inputs,
    Outputs,
    Rule,
    convolution,
    given,
    nothing,
    optional,
    per_input,
    per_output,
    pool,
)
from boundmark.datasets.readers.onnx.operators import ONNX_ERRORS, ONNXRUNTIME, KnownType, domain_of

# onnxruntime puts SimplifiedLayerNormalization into ONNX's own domain, which now has the others.
_IN_ONNX = frozenset({"CausalConvWithState", "LinearAttention", "SimplifiedLayerNormalization"})


@dataclass(frozen=True)
class Definition:
    """The types and the arithmetic of an operator.

    Attributes
    ----------
    types
        Returns the types of the outputs; the last ones may be missing.
    flops
        Counts the operations.
    typed_by
        Position of the input in whose type the arithmetic is done.
    """

    types: Types
    flops: Rule
    typed_by: int = 0


def definition(domain: str, op_type: str) -> Definition | None:
    """Return the definition of an operator; None if it is none of onnxruntime's, or not known."""
    is_known = domain == ONNXRUNTIME or (not domain_of(domain) and op_type in _IN_ONNX)
    return _DEFINITIONS.get(op_type) if is_known else None


def flops(
    domain: str, op_type: str, inputs: Inputs, outputs: Outputs, attributes: Attributes
) -> int:
    """Return the number of operations of a node, of ONNX's own operators too: `flops.flops`."""
    found = definition(domain, op_type)
    rule = None if found is None else found.flops
    return onnx_flops.flops(op_type, inputs, outputs, attributes, rule)


def has_rule(domain: str, op_type: str) -> bool:
    """Whether the operations of a type are counted by a rule of its own."""
    return definition(domain, op_type) is not None or onnx_flops.has_rule(op_type)


def typed_by(node: NodeProto) -> str:
    """Return the name of the tensor in whose type a node's arithmetic is done.

    Nodes without inputs make numbers, of the type of their output.
    """
    found = definition(node.domain, node.op_type)
    at = 0 if found is None else found.typed_by
    return next(name for name in (*node.input[at:], *node.input, *node.output) if name)


def output_types(
    node: NodeProto,
    types: Mapping[str, KnownType],
    integers: Callable[[str], tuple[int, ...] | None],
) -> Sequence[KnownType | None]:
    """Return the types of a node's outputs; none if they do not follow from what is known."""
    found = definition(node.domain, node.op_type)
    if found is None or any(name and name not in types for name in node.input):
        return ()
    call = Call(
        [types.get(name) for name in node.input],
        {one.name: _plain(onnx.helper.get_attribute_value(one)) for one in node.attribute},
        lambda at: integers(node.input[at]) if at < len(node.input) else None,
    )
    try:
        return [_checked(kind) for kind in found.types(call)]
    except (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError, *ONNX_ERRORS):
        # A constant is none that is known, or the node is not what its definition says.
        return ()


def _checked(kind: KnownType | None) -> KnownType | None:
    if kind is not None and min(kind[0], default=0) < 0:
        raise ValueError(kind)
    return kind


def _plain(value: Any) -> Any:
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def _also(rule: Rule, *positions: int, attribute: str = "") -> Rule:
    """Return a rule that counts one operation more per output for each thing that is fused in."""

    def counted(inputs: Inputs, outputs: Outputs, attributes: Attributes) -> int:
        more = sum(optional(inputs, at) is not None for at in positions)
        more += bool(attributes.get(attribute))
        return rule(inputs, outputs, attributes) + more * prod(outputs[0])

    return counted


def _sum(*rules: Rule) -> Rule:
    return lambda inputs, outputs, attributes: sum(
        rule(inputs, outputs, attributes) for rule in rules
    )


def _multiplied(inputs: Inputs, outputs: Outputs, attributes: Attributes) -> int:
    """Count a multiply-add per output and column of the first input."""
    return 2 * turned(given(inputs, 0), attributes, "A")[-1] * prod(outputs[0])


def _carrying(inputs: Inputs, outputs: Outputs, attributes: Attributes) -> int:
    """Count a multiply-add per element and weight of its channel, bias and activation."""
    bias = optional(inputs, 2) is not None
    bends: bool = attributes.get("activation", "none") != "none"
    return prod(given(inputs, 0)) * (2 * prod(given(inputs, 1)[2:]) + bias + bends)


def _quantised_recurrence(inputs: Inputs, outputs: Outputs, attributes: Attributes) -> int:
    """Count as for LSTM, whose weights are (directions, gates * units, input)."""
    weights = [(shape[0], shape[2], shape[1]) for shape in (given(inputs, 1), given(inputs, 2))]
    return onnx_flops.flops("LSTM", [inputs[0], *weights], outputs, attributes)


def _experts(weights_at: Sequence[int], *, is_packed: bool) -> Rule:
    """Return a rule that counts a softmax over all experts, and the chosen ones of each token."""

    def rule(inputs: Inputs, outputs: Outputs, attributes: Attributes) -> int:
        data, experts = given(inputs, 0), given(inputs, 1)[-1]
        counts = []
        for number, at in enumerate(weights_at, 1):
            shape = optional(inputs, at) or (0, 0)
            usual = attributes.get("expert_weight_bits", 4)
            bits = attributes.get(f"fc{number}_expert_weight_bits", usual) if is_packed else 8
            counts.append(prod(shape[1:]) * 8 // bits)
        units = counts[1] // data[-1]
        is_gated = bool(counts[2]) or counts[0] > counts[1]
        each = 2 * sum(counts) + (1 + is_gated) * units
        tokens = prod(data[:-1])
        chosen: int = attributes.get("k", 1)
        return tokens * (SOFTMAX * experts + chosen * each)

    return rule


# Smallest, largest, and rounding.
_QUANTISE = per_input(3)

_NORM, _RMS_NORM = per_output(7), per_output(4)

_DEFINITIONS: Mapping[str, Definition] = {
    # Elementwise.
    **dict.fromkeys(
        ("Gelu", "QuickGelu", "QLinearLeakyRelu", "QLinearSigmoid"),
        Definition(like(0), per_output(1)),
    ),
    "FastGelu": Definition(like(0), _also(per_output(1), 1)),
    "BiasGelu": Definition(like(0), per_output(2)),
    **dict.fromkeys(("QLinearAdd", "QLinearMul"), Definition(broadcast(0, 3), per_output(1))),
    "QLinearWhere": Definition(broadcast(0, 1, 4), per_output(1), typed_by=1),
    # Quantisation.
    "QuantizeLinear": Definition(with_elements(like(0), 2, TensorProto.UINT8), per_output(1)),
    "DequantizeLinear": Definition(with_elements(like(0), 1), per_output(1)),
    # Normalisation.
    "SimplifiedLayerNormalization": Definition(simplified, _RMS_NORM),
    "SkipSimplifiedLayerNormalization": Definition(normalised, _also(_RMS_NORM, 1, 3)),
    "SkipLayerNormalization": Definition(normalised, _also(_NORM, 1, 4)),
    # With the activation of the gate, and the product.
    "GatedRMSNorm": Definition(like(0), per_output(6)),
    # With the sum of the embeddings.
    "EmbedLayerNormalization": Definition(embedded(2), _also(_NORM, 2, 4), typed_by=2),
    "QEmbedLayerNormalization": Definition(embedded(8), _also(_NORM, 2, 4), typed_by=8),
    "QLinearSoftmax": Definition(like(0), per_output(SOFTMAX)),
    # Products.
    "MatMulNBits": Definition(widened("N"), _also(_multiplied, 5)),
    "MatMulBnb4": Definition(widened("N"), _multiplied),
    "MatMulBlockQuantizedFp4Weight": Definition(of_weights(1), _also(_multiplied, 5)),
    "MatMulBlockQuantizedFp8Weight": Definition(of_weights(1), _also(_multiplied, 4)),
    "FusedMatMul": Definition(products(), _multiplied),
    "GemmFastGelu": Definition(products(), _sum(_also(_multiplied, 2), per_output(1))),
    "FusedGemm": Definition(products(), _also(_multiplied, 2, attribute="activation")),
    "QGemm": Definition(with_elements(products(3), 8, TensorProto.FLOAT), _also(_multiplied, 6)),
    "MatMulIntegerToFloat": Definition(with_elements(products(), 2), _also(_multiplied, 6)),
    "DynamicQuantizeMatMul": Definition(
        products(), _sum(_QUANTISE, _also(_multiplied, 4)), typed_by=1
    ),
    "DynamicQuantizeLSTM": Definition(
        recurrent_types, _sum(_QUANTISE, _quantised_recurrence), typed_by=1
    ),
    "MoE": Definition(like(0), _experts((2, 4, 6), is_packed=False)),
    "QMoE": Definition(like(0), _experts((2, 5, 8), is_packed=True)),
    # Images.
    "FusedConv": Definition(
        as_onnx("Conv", 0, 1, 2), _also(convolution(1, 2), 3, attribute="activation")
    ),
    "QLinearConv": Definition(with_elements(as_onnx("Conv", 0, 3), 7), convolution(3, 8)),
    "QLinearAveragePool": Definition(as_onnx("AveragePool", 0), pool),
    "QLinearGlobalAveragePool": Definition(as_onnx("GlobalAveragePool", 0), per_input(1)),
    # Attention.
    "GroupQueryAttention": Definition(attended(grouped(3), 3, 6), attending(grouped(3))),
    "SparseAttention": Definition(attended(grouped(3), 3, 7), attending(grouped(3))),
    "MultiHeadAttention": Definition(attended(multi_head, 6), attending(multi_head, bias_at=3)),
    "PagedAttention": Definition(paged_types, attending(paged)),
    "Attention": Definition(self_attended(4), projecting(projected(4))),
    "QAttention": Definition(self_attended(8, element_at=3), projecting(projected(8))),
    "LinearAttention": Definition(linear_attention_types, updating_states),
    "CausalConvWithState": Definition(carried, _carrying),
    "RelativePositionBias": Definition(
        lambda call: [
            ((1, call.shape(0)[1], *call.constant(1), *call.constant(2)), call.kind(0)[1])
        ],
        nothing,
    ),
    **dict.fromkeys(
        ("MRotaryEmbedding", "RotaryEmbedding"), Definition(like(0), per_output(ROTATION))
    ),
    # What moves data.
    "GatherBlockQuantized": Definition(gathered, per_output(1), typed_by=2),
    "QLinearConcat": Definition(concatenated, nothing),
}
