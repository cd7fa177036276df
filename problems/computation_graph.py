"""Computation graphs as a model file describes them: operations, tensors, arithmetic done."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from boundmark.problems.arrays import IntArray, frozen, non_negative_integers
from boundmark.problems.dag import Dag
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.kernel_groups import VIEW
from boundmark.problems.operator import LEFT_OUT, Operator
from boundmark.problems.tensor import Tensor


@dataclass(frozen=True, eq=False)
class ComputationGraph:
    """A model graph before any device is chosen ([MTPP24], Section 2.1).

    A tensor is written by one operator, or is a parameter, or else an input of the model.

    Attributes
    ----------
    operators
        The n nodes.
    tensors
        The t tensors that operators read or write, numbered in the order in which the operators
        name them, what an operator reads before what it writes.
    parameters
        Numbers of the tensors that do not depend on the model's inputs.
    results
        Numbers of the tensors that the model returns, of those that operators write.
    dtype
        Type in which the arithmetic is done, e.g. ``"float32"``: selects a device's peak rate.
    notes
        What was taken for granted when the graph was read, as sentences.
    kernels
        For each operator, the number of the one that bears the cost of the kernel that computes
        both; or `kernel_groups.VIEW`. Empty if each is a kernel by itself.
    """

    operators: tuple[Operator, ...]
    tensors: tuple[Tensor, ...]
    parameters: frozenset[int]
    results: tuple[int, ...]
    dtype: str = "float32"
    notes: tuple[str, ...] = ()
    kernels: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not self.operators:
            raise InvalidInputError("the graph has no nodes; expected at least one.")
        often = Counter(self.names)
        if len(often) < len(self.names):
            twice = next(name for name, count in often.items() if count > 1)
            raise InvalidInputError(f"node name {twice!r} occurs twice; expected unique names.")
        _check_numbers(self)
        _check_kernels(self)
        # Refuse cycles and sizes beyond 64 bits when the graph is made.
        _ = self.dag, self.flops, self.output_bytes, self.param_bytes, self.read_bytes

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The operators' names, unique."""
        return tuple(operator.name for operator in self.operators)

    @cached_property
    def op_types(self) -> tuple[str, ...]:
        """The operators' types, e.g. ``"Conv"``."""
        return tuple(operator.op_type for operator in self.operators)

    @cached_property
    def producers(self) -> IntArray:
        """Number of the operator that writes each tensor, shape (t,), or -1."""
        producers = [-1] * len(self.tensors)
        for node, operator in enumerate(self.operators):
            for tensor in operator.writes:
                producers[tensor] = node
        return frozen(producers)

    @cached_property
    def inputs(self) -> tuple[int, ...]:
        """Numbers of the model's inputs that operators read."""
        return tuple(
            tensor
            for tensor, producer in enumerate(self.producers.tolist())
            if producer < 0 and tensor not in self.parameters
        )

    @cached_property
    def dag(self) -> Dag:
        """Edges from the operator that writes a tensor to those that read it."""
        producers = self.producers.tolist()
        edges = [
            (producers[tensor], node)
            for node, operator in enumerate(self.operators)
            for tensor in operator.reads
            if tensor != LEFT_OUT and producers[tensor] >= 0
        ]
        return Dag.from_edges(len(self.operators), edges, self.names)

    @cached_property
    def flops(self) -> IntArray:
        """Arithmetic operations of each operator, shape (n,)."""
        values = [operator.flops for operator in self.operators]
        return non_negative_integers(values, "flops", self.names)

    @cached_property
    def output_bytes(self) -> IntArray:
        """Size of all tensors that each operator writes, shape (n,)."""
        return self._sizes("output_bytes", (operator.writes for operator in self.operators))

    @cached_property
    def param_bytes(self) -> IntArray:
        """Size of all distinct parameters that each operator reads, shape (n,).

        A parameter that two operators read counts in both.
        """
        read = (set(operator.reads) & self.parameters for operator in self.operators)
        return self._sizes("param_bytes", read)

    @cached_property
    def read_bytes(self) -> IntArray:
        """Size of all other distinct tensors that each operator reads, shape (n,)."""
        read = (set(operator.reads) - self.parameters - {LEFT_OUT} for operator in self.operators)
        return self._sizes("read_bytes", read)

    def _sizes(self, field: str, groups: Iterable[Iterable[int]]) -> IntArray:
        sizes = [sum(self.tensors[number].bytes for number in group) for group in groups]
        return non_negative_integers(sizes, field, self.names)


def _check_numbers(graph: ComputationGraph) -> None:
    """Refuse tensors that do not exist, and tensors with several origins."""
    known = range(len(graph.tensors))
    writers: dict[int, str] = {}
    for operator in graph.operators:
        read = (number for number in operator.reads if number != LEFT_OUT)
        for number in (*read, *operator.writes):
            if number not in known:
                raise InvalidInputError(
                    f"node {operator.name!r} names tensor {number}; "
                    f"expected numbers from 0 to {len(known) - 1}."
                )
        for number in operator.writes:
            if number in writers or number in graph.parameters:
                other = repr(writers[number]) if number in writers else "the parameters"
                raise InvalidInputError(
                    f"tensor {graph.tensors[number].name!r} comes from {other} and "
                    f"{operator.name!r}; expected one origin."
                )
            writers[number] = operator.name
    for number in (*graph.parameters, *graph.results):
        if number not in known:
            raise InvalidInputError(
                f"tensor {number} is a parameter or a result; "
                f"expected numbers from 0 to {len(known) - 1}."
            )


def _check_kernels(graph: ComputationGraph) -> None:
    """Refuse kernels whose cost is borne by an operator of another one."""
    if not graph.kernels:
        return
    count = len(graph.operators)
    if len(graph.kernels) != count:
        raise InvalidInputError(
            f"kernels has {len(graph.kernels)} entries; expected one for each of {count} operators."
        )
    for name, bearer in zip(graph.names, graph.kernels, strict=True):
        is_known = bearer == VIEW or (0 <= bearer < count and graph.kernels[bearer] == bearer)
        if not is_known:
            raise InvalidInputError(
                f"the kernel of node {name!r} is {bearer}; expected {VIEW}, or the number of an "
                "operator whose own it is."
            )
