"""The tensors of a model file as `ordering` needs them: sizes, readers, and what is overwritten."""

from boundmark.problems.arrays import frozen
from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.operator import LEFT_OUT
from boundmark.problems.ordering.graph import OrderingGraph

# An output element needs nothing but the input elements at the same place, or is a copy of one in
# the same order, so that runtimes overwrite an input with it.
ELEMENTWISE = frozenset(
    {"Abs", "Acos", "Acosh", "Add", "And", "Asin", "Asinh", "Atan", "Atanh", "BatchNormalization"}
    | {"Ceil", "Celu", "Clip", "Cos", "Cosh", "Div", "Dropout", "Elu", "Erf", "Exp", "Flatten"}
    | {"Floor", "Gelu", "HardSigmoid", "HardSwish", "Identity", "LeakyRelu", "Log", "Max", "Mean"}
    | {"Min", "Mish", "Mod", "Mul", "Neg", "Not", "Or", "PRelu", "Pow", "Reciprocal", "Relu"}
    | {"Reshape", "Round", "Selu", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Softsign"}
    | {"Sqrt", "Squeeze", "Sub", "Sum", "Swish", "Tan", "Tanh", "ThresholdedRelu", "Unsqueeze"}
    | {"Where", "Xor"}
)


def ordering_graph(graph: ComputationGraph) -> OrderingGraph:
    """Return the tensors of a model, with parameters apart, in whole bytes.

    An operator of a type in `ELEMENTWISE` with one output could overwrite inputs of the same number
    of bytes, but neither the model's inputs, which belong to the caller, nor its results.
    """
    producers = graph.producers.tolist()
    held = [t for t in range(len(graph.tensors)) if t not in graph.parameters]
    number = {tensor: at for at, tensor in enumerate(held)}
    consumers: list[set[int]] = [set() for _ in held]
    overwrites: list[tuple[int, ...]] = []
    results = set(graph.results)
    for node, operator in enumerate(graph.operators):
        read = sorted(set(operator.reads) - {LEFT_OUT} - graph.parameters)
        for tensor in read:
            consumers[number[tensor]].add(node)
        found: list[int] = []
        if operator.op_type in ELEMENTWISE and len(operator.writes) == 1:
            needed = graph.tensors[operator.writes[0]].bytes
            found = [
                number[tensor]
                for tensor in read
                if graph.tensors[tensor].bytes == needed
                and producers[tensor] >= 0
                and tensor not in results
            ]
        overwrites.append(tuple(sorted(found)))
    parameters = {
        tensor
        for operator in graph.operators
        for tensor in operator.reads
        if tensor in graph.parameters
    }
    return OrderingGraph(
        size=frozen([graph.tensors[tensor].bytes for tensor in held]),
        producer=frozen([producers[tensor] for tensor in held]),
        consumers=tuple(tuple(sorted(readers)) for readers in consumers),
        kept=tuple(sorted(number[tensor] for tensor in results if tensor in number)),
        parameter_size=graph.param_bytes,
        parameter_total=sum(graph.tensors[tensor].bytes for tensor in parameters),
        overwrites=tuple(overwrites),
        names=graph.names,
    )
