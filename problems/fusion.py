"""Which operations a runtime runs in one kernel with the operation before them."""

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.operator import LEFT_OUT

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


def fused_into(graph: ComputationGraph) -> IntArray:
    """Return into which operation each one is fused, shape (n,); -1 for those that are not.

    That is its producer, if it is elementwise, reads one tensor that is computed, of as many
    elements as it writes, and nobody else reads that or gets it as a result of the model.
    """
    readers = [0] * len(graph.tensors)
    for operator in graph.operators:
        for number in set(operator.reads) - {LEFT_OUT}:
            readers[number] += 1
    for number in graph.results:
        readers[number] += 1
    producers = graph.producers.tolist()
    into = [-1] * len(graph.operators)
    for node, operator in enumerate(graph.operators):
        if operator.op_type not in ELEMENTWISE_OP_TYPES or len(operator.writes) != 1:
            continue
        computed = set(operator.reads) - {LEFT_OUT} - graph.parameters
        if len(computed) != 1:
            continue
        (read,) = computed
        (written,) = operator.writes
        same_size = graph.tensors[read].elements == graph.tensors[written].elements
        if producers[read] >= 0 and readers[read] == 1 and same_size:
            into[node] = producers[read]
    return frozen(into)
