"""Computation graphs as a model file describes them: tensors, operators, and their kernels.

Kernels are operators that any runtime runs as one. A `ComputationGraph` may name them
(`ComputationGraph.kernels`); the roofline model then costs a kernel as one operation. The time of a
kernel is that of one of its operators, and the others take none: a stage that ends inside a kernel
is costed as if the rest came for free.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from boundmark.problems.arrays import IntArray, frozen, non_negative_integers
from boundmark.problems.dag import Dag
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.operator_types import LOOKUP_OP_TYPES, numbers_in

AttributeValue: TypeAlias = (
    int | float | str | tuple[int, ...] | tuple[float, ...] | tuple[str, ...]
)

# In `ComputationGraph.kernels`: the operator is computed by no kernel.
VIEW = -1

# In `Operator.reads`, where an optional input is left out.
LEFT_OUT = -1


@dataclass(frozen=True, eq=False)
class Operator:
    """A node of a computation graph.

    Attributes
    ----------
    name
        Unique in its graph.
    op_type
        As in ONNX, e.g. ``"Conv"``.
    flops
        Arithmetic operations; a multiply-add counts as two.
    reads
        Numbers of the tensors that it reads, by position as in ONNX, parameters included;
        `LEFT_OUT` where an optional input is not given. Behind the inputs is what it reads
        beside them, such as scales of quantised parameters.
    writes
        Numbers of the tensors that it writes and somebody reads or the model returns.
    attributes
        By name. A window (Conv, ConvTranspose, pooling and their kin) always has ``kernel_shape``,
        ``strides``, ``dilations`` and ``pads``, all begins before all ends. Every ``axis`` and
        ``axes`` counts from 0 up. docs/datasets.md says what else is canonical.
    """

    name: str
    op_type: str
    flops: int
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    attributes: Mapping[str, AttributeValue]

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", MappingProxyType(dict(self.attributes)))


Shape: TypeAlias = tuple[int, ...]

# Bits of one element. Elements of less than a byte are packed.
ELEMENT_BITS: Mapping[str, int] = {
    "float64": 64,
    "float32": 32,
    "float16": 16,
    "bfloat16": 16,
    "float8e4m3fn": 8,
    "float8e4m3fnuz": 8,
    "float8e5m2": 8,
    "float8e5m2fnuz": 8,
    "float8e8m0": 8,
    "float6e2m3": 6,
    "float6e3m2": 6,
    "float4e2m1": 4,
    "int64": 64,
    "int32": 32,
    "int16": 16,
    "int8": 8,
    "int4": 4,
    "int2": 2,
    "uint64": 64,
    "uint32": 32,
    "uint16": 16,
    "uint8": 8,
    "uint4": 4,
    "uint2": 2,
    "bool": 8,
    "complex64": 64,
    "complex128": 128,
}


def arithmetic_dtype(dtype: str) -> str:
    """Return the name under which devices state their rate for a type of elements.

    Signed and unsigned integers have one rate, and so have all kinds of float8, float6 and float4.
    Complex numbers are computed by their parts.
    """
    if dtype.startswith("complex"):
        return f"float{int(dtype.removeprefix('complex')) // 2}"
    for name in ("float8", "float6", "float4"):
        # float64 begins like float6e2m3.
        if dtype.startswith(f"{name}e"):
            return name
    return dtype.removeprefix("u") if dtype.startswith("uint") else dtype


# What a device may state a rate for.
ARITHMETIC_DTYPES = tuple(dict.fromkeys(map(arithmetic_dtype, ELEMENT_BITS)))


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor of known shape.

    Attributes
    ----------
    name
        As in the model.
    shape
        Extent of each dimension; ``()`` for a scalar.
    dtype
        Type of the elements: a key of `ELEMENT_BITS`.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str

    def __post_init__(self) -> None:
        if self.dtype not in ELEMENT_BITS:
            raise InvalidInputError(
                f"tensor {self.name!r} has elements of type {self.dtype!r}; "
                f"expected one of {', '.join(ELEMENT_BITS)}."
            )
        if not all(type(extent) is int and extent >= 0 for extent in self.shape):
            raise InvalidInputError(
                f"the shape of tensor {self.name!r} is {list(self.shape)}; "
                "expected non-negative integers."
            )

    @property
    def elements(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def bytes(self) -> int:
        """Memory that the tensor takes, rounded up to whole bytes."""
        return -(-self.elements * ELEMENT_BITS[self.dtype] // 8)


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
        both; or `VIEW`. Empty if each is a kernel by itself.
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
    def parameter_count(self) -> int:
        """Number of weights, those that are several in a byte taken apart, without their scales."""
        counts = {number: self.tensors[number].elements for number in self.parameters}
        for operator in self.operators:
            for at, each in numbers_in(operator.op_type, operator.attributes).items():
                number = operator.reads[at] if at < len(operator.reads) else LEFT_OUT
                if number in counts and (not each or self.tensors[number].dtype == "uint8"):
                    counts[number] = int(self.tensors[number].elements * each)
        return sum(counts.values())

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


@dataclass
class Kernel:
    """The operators and tensors of one kernel.

    Attributes
    ----------
    bearer
        The operator that bears the cost, that with the most arithmetic.
    members
        Numbers of all its operators.
    reads, parameters, writes
        Numbers of the tensors that enter it, those of the model's parameters, and of those that
        leave it. What stays inside is in none.
    """

    bearer: int
    members: list[int] = field(default_factory=list)
    reads: set[int] = field(default_factory=set)
    parameters: set[int] = field(default_factory=set)
    writes: set[int] = field(default_factory=set)


def kernels_of(graph: ComputationGraph) -> list[Kernel]:
    """Return the kernels in the order of the operators that bear their cost; views are in none.

    Without `ComputationGraph.kernels`, each operator is a kernel by itself.
    """
    bearers = graph.kernels or range(len(graph.operators))
    found: dict[int, Kernel] = {}
    for node, bearer in enumerate(bearers):
        if bearer != VIEW:
            found.setdefault(bearer, Kernel(bearer)).members.append(node)
    readers = _readers(graph, bearers)
    for kernel in found.values():
        made: set[int] = set()
        for node in kernel.members:
            operator = graph.operators[node]
            read = set(operator.reads) - {LEFT_OUT}
            kernel.parameters |= read & graph.parameters
            kernel.reads |= read - graph.parameters
            made.update(operator.writes)
        kernel.reads -= made
        if len(kernel.members) == 1:
            kernel.writes = made
        else:
            kernel.writes = {one for one in made if readers[one] - {kernel.bearer}}
    return sorted(found.values(), key=lambda kernel: kernel.bearer)


def bytes_read(graph: ComputationGraph, kernel: Kernel, tensors: Set[int]) -> int:
    """Return how much a kernel reads of its tensors: of a table, as many elements as it writes."""
    found = dict.fromkeys(tensors, 0)
    for node in kernel.members:
        operator = graph.operators[node]
        is_lookup = operator.op_type in LOOKUP_OP_TYPES
        for at, number in enumerate(operator.reads):
            if number in found:
                size = graph.tensors[number].bytes
                # Scales of a quantised table are looked up with it; the second input says where.
                if is_lookup and at != 1 and operator.writes:
                    table = max(1, graph.tensors[operator.reads[0]].elements)
                    written = graph.tensors[operator.writes[0]].elements
                    size = min(size, -(-size * written // table))
                found[number] = max(found[number], size)
    return sum(found.values())


# Among readers of a tensor: whoever runs the model, to whom it is returned.
_CALLER = -2


def _readers(graph: ComputationGraph, bearers: range | tuple[int, ...]) -> list[Set[int]]:
    """Return for each tensor the kernels that read it; a view stands for itself, by number - n."""
    readers: list[set[int]] = [set() for _ in graph.tensors]
    beyond = len(graph.operators)
    for node, operator in enumerate(graph.operators):
        reader = beyond + node if bearers[node] == VIEW else bearers[node]
        for number in set(operator.reads) - {LEFT_OUT}:
            readers[number].add(reader)
    for number in graph.results:
        readers[number].add(_CALLER)
    return list(readers)


def reader_counts(graph: ComputationGraph) -> IntArray:
    """Return how many kernels, views and callers read each tensor, shape (t,)."""
    bearers = graph.kernels or range(len(graph.operators))
    return frozen(np.array([len(one) for one in _readers(graph, bearers)], np.int64))
