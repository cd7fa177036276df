"""Types of operators that cost models treat alike, named as in ONNX."""

# What an inference runtime turns into metadata or drops: no kernel is launched and no byte moves.
# Their outputs are views of their inputs (Flatten, Identity, Reshape, Squeeze, Unsqueeze, and
# Dropout outside training), or are known before the model runs (Constant, ConstantOfShape, Shape).
# Transpose and Slice are not among them, since runtimes copy what they yield.
FREE_OP_TYPES = frozenset(
    {"Constant", "ConstantOfShape", "Dropout", "Flatten", "Identity", "Reshape", "Shape"}
    | {"Squeeze", "Unsqueeze"}
)

# One output element of each depends on one element of every input. Normalisation over a batch is
# among them since a trained model's is a scale and a shift.
ELEMENTWISE_OP_TYPES = frozenset(
    {"Abs", "Add", "And", "BatchNormalization", "Cast", "Ceil", "Clip", "Cos", "Div", "Elu"}
    | {"Equal", "Erf", "Exp", "Floor", "Gelu", "Greater", "GreaterOrEqual", "HardSigmoid"}
    | {"HardSwish", "LeakyRelu", "Less", "LessOrEqual", "Log", "Max", "Min", "Mish", "Mod", "Mul"}
    | {"Neg", "Not", "Or", "PRelu", "Pow", "Reciprocal", "Relu", "Round", "Rsqrt", "Selu"}
    | {"Sigmoid", "Sign", "Sin", "Softplus", "Softsign", "Sqrt", "Sub", "Swish", "Tanh", "Where"}
    | {"Xor"}
)

# Where tensors have strides, as in PyTorch: outputs that are views of the first input, if its
# elements are in the right order in memory.
STRIDED_VIEW_OP_TYPES = frozenset(
    {"Dropout", "Expand", "Flatten", "Identity", "Reshape", "Slice", "Split", "Squeeze"}
    | {"Transpose", "Unsqueeze"}
)
