"""Feature columns for whatever graph, so that a policy trained on some can place others."""

from boundmark.heuristics.placement.learned.features import (
    POSITION_WIDTH,
    FeatureChoice,
    FeatureLayout,
)

# Those of at least two graphs of the zoo or of onnx-light; others share one column.
OP_TYPES = (
    *("Add", "Attention", "AveragePool", "BatchNormalization", "Cast", "Clip", "Concat", "Conv"),
    *("Div", "Dropout", "Einsum", "Expand", "Flatten", "Gather", "GatherGrad", "Gelu", "Gemm"),
    *("GlobalAveragePool", "GroupNormalization", "IsInf", "LRN", "LayerNormalization"),
    *("LayerNormalizationGrad", "LogSoftmax", "LogSoftmaxGrad", "MatMul", "MaxPool", "Mul", "Neg"),
    *("NegativeLogLikelihoodLoss", "NegativeLogLikelihoodLossGrad", "Pad", "Pow", "ReduceL2"),
    *("ReduceMax", "ReduceMean", "ReduceSum", "Relu", "Reshape", "Resize", "Rsqrt", "Sigmoid"),
    *("Slice", "Softmax", "SoftmaxGrad", "Split", "Squeeze", "Sum", "Swish", "Tanh", "TanhGrad"),
    *("Transpose", "Unsqueeze", "Where"),
)

# Numbers of producers and of consumers; more of them share one column.
DEGREES = tuple(range(9))

# Of outputs; fewer than one in a thousand tensors of the zoo and of onnx-light has more dimensions.
RANK = 6


def shared_layout(choice: FeatureChoice, raw_shapes: bool) -> FeatureLayout:
    """Return the layout that all graphs have in common."""
    degrees = DEGREES if choice.structure else ()
    return FeatureLayout(
        op_types=OP_TYPES if choice.types else (),
        in_degrees=degrees,
        out_degrees=degrees,
        rank=RANK if choice.shapes else 0,
        fractal=choice.structure,
        positions=POSITION_WIDTH if choice.positions else 0,
        raw_shapes=raw_shapes,
        has_others=True,
    )
