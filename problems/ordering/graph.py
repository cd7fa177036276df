"""A model's operators and the tensors that they hold in memory for one another."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from boundmark.problems.arrays import IntArray, frozen, non_negative_integers
from boundmark.problems.computation_graph import LEFT_OUT, ComputationGraph
from boundmark.problems.dag import Dag
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.ticks import LARGEST_TOTAL

# As a tensor's producer: it is an input of the model, and there from the start.
INPUT = -1


@dataclass(frozen=True, eq=False)
class OrderingGraph:
    """Operators, tensors and parameters with their sizes in bytes.

    Attributes
    ----------
    size
        Bytes of each of the T tensors, shape (T,).
    producer
        The operator that writes each tensor, or `INPUT`, shape (T,).
    consumers
        The operators that read each tensor, ascending.
    kept
        Tensors that stay in memory to the end, such as the model's results, ascending.
    parameter_size
        Bytes of the distinct parameters that each of the n operators reads, shape (n,).
    parameter_total
        Bytes of all distinct parameters; operators may share some.
    overwrites
        For each operator the tensors, ascending, that it could overwrite with its only output.
    names
        One name per operator, for people; not part of an instance's identity.
    """

    size: IntArray
    producer: IntArray
    consumers: tuple[tuple[int, ...], ...]
    kept: tuple[int, ...]
    parameter_size: IntArray
    parameter_total: int
    overwrites: tuple[tuple[int, ...], ...]
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.names:
            raise InvalidInputError("the graph has no operators; expected at least one.")
        labels = tuple(map(str, range(len(self.consumers))))
        object.__setattr__(self, "size", non_negative_integers(self.size, "size", labels))
        object.__setattr__(self, "producer", frozen(self.producer, "producer"))
        object.__setattr__(
            self,
            "parameter_size",
            non_negative_integers(self.parameter_size, "parameter_size", self.names),
        )
        _check_tensors(self)
        # Refuse cycles when the graph is made.
        _ = self.dag
        _check_overwrites(self)
        _check_total(self)

    @property
    def nodes(self) -> int:
        """Number of operators, n."""
        return len(self.names)

    @cached_property
    def dag(self) -> Dag:
        """Edges from the operator that writes a tensor to those that read it."""
        edges = [
            (producer, consumer)
            for producer, readers in zip(self.producer.tolist(), self.consumers, strict=True)
            for consumer in readers
            if producer != INPUT
        ]
        return Dag.from_edges(self.nodes, edges, self.names)

    @cached_property
    def reads(self) -> tuple[tuple[int, ...], ...]:
        """The tensors that each operator reads, ascending."""
        found: list[list[int]] = [[] for _ in range(self.nodes)]
        for tensor, readers in enumerate(self.consumers):
            for reader in readers:
                found[reader].append(tensor)
        return tuple(map(tuple, found))

    @cached_property
    def writes(self) -> tuple[tuple[int, ...], ...]:
        """The tensors that each operator writes, ascending."""
        found: list[list[int]] = [[] for _ in range(self.nodes)]
        for tensor, producer in enumerate(self.producer.tolist()):
            if producer != INPUT:
                found[producer].append(tensor)
        return tuple(map(tuple, found))


def _check_tensors(graph: OrderingGraph) -> None:
    tensors, last = len(graph.consumers), graph.nodes - 1
    if graph.producer.shape != (tensors,):
        raise InvalidInputError(
            f"producer has the shape {graph.producer.shape}; expected ({tensors},)."
        )
    for tensor, producer in enumerate(graph.producer.tolist()):
        if not INPUT <= producer <= last:
            raise InvalidInputError(
                f"producer of tensor {tensor} is {producer}; expected 0 to {last}, or -1 for an "
                "input of the model."
            )
    for tensor, readers in enumerate(graph.consumers):
        _check_ascending(readers, f"consumers of tensor {tensor}", last)
    _check_ascending(graph.kept, "kept", tensors - 1)


def _check_ascending(numbers: Sequence[int], what: str, last: int) -> None:
    is_known = all(0 <= number <= last for number in numbers)
    if not is_known or any(u >= w for u, w in itertools.pairwise(numbers)):
        raise InvalidInputError(
            f"{what} is {list(numbers)}; expected ascending numbers from 0 to {last}."
        )


def _check_overwrites(graph: OrderingGraph) -> None:
    if len(graph.overwrites) != graph.nodes:
        raise InvalidInputError(
            f"overwrites has {len(graph.overwrites)} lists; expected one for each of the "
            f"{graph.nodes} operators."
        )
    for node, given in enumerate(graph.overwrites):
        _check_ascending(given, f"overwrites of operator {node}", len(graph.consumers) - 1)
        for tensor in given:
            name = graph.names[node]
            if tensor not in graph.reads[node] or graph.producer[tensor] == INPUT:
                raise InvalidInputError(
                    f"operator {name!r} overwrites tensor {tensor}; expected one that it reads "
                    "and that an operator writes."
                )
            written = graph.writes[node]
            if len(written) != 1 or graph.size[written[0]] > graph.size[tensor]:
                raise InvalidInputError(
                    f"operator {name!r} overwrites tensor {tensor}; expected its only output to "
                    "be no larger."
                )
            if tensor in graph.kept:
                raise InvalidInputError(
                    f"operator {name!r} overwrites tensor {tensor}, which is kept to the end."
                )


def _check_total(graph: OrderingGraph) -> None:
    if type(graph.parameter_total) is not int or graph.parameter_total < 0:
        raise InvalidInputError(
            f"parameter_total is {graph.parameter_total!r}; expected a non-negative integer."
        )
    largest = max(graph.parameter_size.tolist())
    if largest > graph.parameter_total:
        raise InvalidInputError(
            f"an operator reads {largest} bytes of parameters, and parameter_total is "
            f"{graph.parameter_total}; expected no less."
        )
    total = graph.nodes * (sum(graph.size.tolist()) + graph.parameter_total)
    if total > LARGEST_TOTAL:
        raise InvalidInputError(
            f"{graph.nodes} operators could hold {total:.3g} bytes together; expected at most "
            "2^53, so use a larger unit."
        )


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
