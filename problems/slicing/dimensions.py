"""In which dimension operators are sliced: output channels, or height of the feature map.

[MEMORIANOVA24], Section 3.3.1, compares two numbers k1 and k2 that are "calculated from relevant
parameters"; the table that defines them is missing from the text. Here, k1 is what each further
device has to hold if channels are sliced, which is a copy of the input, and k2 is what it has to
hold if the height is sliced, which is a copy of the parameters. As printed, channels are sliced if
k1 < k2. Operators that do not mix channels follow the operator whose output they read, since
another dimension than its would move the whole tensor.
"""

from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.operator import LEFT_OUT, Operator
from boundmark.problems.slicing.edge import CHANNELS, HEIGHT

# They sum over all channels of their input, of a group at least.
MIXING = frozenset(
    {"Conv", "ConvInteger", "ConvTranspose", "DeformConv", "QLinearConv"}
    | {"Gemm", "MatMul", "MatMulInteger", "QLinearMatMul"}
)

# Where a tensor has no such dimension.
NO_HEIGHT = -1

CHANNEL_DIMENSION = 1


def height_dimensions(graph: ComputationGraph) -> list[int]:
    """Return which dimension of each tensor is its height; `NO_HEIGHT` if none is.

    It is the third of images, and followed through reshapes and transpositions.
    """
    found = [2 if len(tensor.shape) == 4 else NO_HEIGHT for tensor in graph.tensors]
    for node in graph.dag.topological_order.tolist():
        operator = graph.operators[node]
        if operator.op_type not in ("Reshape", "Transpose") or operator.reads[:1] in (
            (),
            (LEFT_OUT,),
        ):
            continue
        source = operator.reads[0]
        for target in operator.writes:
            found[target] = _followed(graph, operator, found[source], source, target)
    return found


def _followed(
    graph: ComputationGraph, operator: Operator, height: int, source: int, target: int
) -> int:
    """Return where a reshape or transposition puts the height."""
    before, after = graph.tensors[source].shape, graph.tensors[target].shape
    if height == NO_HEIGHT:
        return NO_HEIGHT
    if operator.op_type == "Transpose":
        permutation = operator.attributes["perm"]
        assert isinstance(permutation, tuple)
        return permutation.index(height)
    tail = len(before) - height
    place = len(after) - tail
    is_kept = place > CHANNEL_DIMENSION and after[place:] == before[height:]
    return place if is_kept else NO_HEIGHT


def sliced_dimensions(graph: ComputationGraph, heights: list[int]) -> list[int]:
    """Return `CHANNELS` or `HEIGHT` for each operator."""
    producers = graph.producers.tolist()
    chosen = [CHANNELS] * len(graph.operators)
    for node in graph.dag.topological_order.tolist():
        operator = graph.operators[node]
        if not operator.writes or heights[operator.writes[0]] == NO_HEIGHT:
            continue
        output = graph.tensors[operator.writes[0]]
        if output.shape[heights[operator.writes[0]]] == 1:
            continue
        read = [tensor for tensor in operator.reads if tensor != LEFT_OUT]
        data = [tensor for tensor in read if tensor not in graph.parameters]
        if operator.op_type in MIXING:
            k1 = sum(graph.tensors[tensor].bytes for tensor in set(data))
            k2 = sum(graph.tensors[tensor].bytes for tensor in set(read) & graph.parameters)
            chosen[node] = CHANNELS if k1 < k2 else HEIGHT
            continue
        written = [tensor for tensor in data if producers[tensor] >= 0]
        largest = max(written, key=lambda tensor: graph.tensors[tensor].bytes, default=None)
        chosen[node] = HEIGHT if largest is None else chosen[producers[largest]]
        if chosen[node] == CHANNELS and output.shape[CHANNEL_DIMENSION] == 1:
            chosen[node] = HEIGHT
    return chosen
