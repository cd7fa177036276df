"""Computation graphs as a model file describes them: operations, bytes moved, arithmetic done."""

from dataclasses import dataclass

from boundmark.problems.arrays import IntArray, non_negative_integers
from boundmark.problems.dag import Dag
from boundmark.problems.errors import InvalidInputError


@dataclass(frozen=True, eq=False)
class ComputationGraph:
    """A model graph before any device is chosen (papers/mtpp, Section 2.1).

    Each operation has one output tensor, read by any number of consumers. Arrays hold one value a
    node.

    Attributes
    ----------
    names, op_types
        The operations' names (unique) and types, e.g. ``"Conv"``.
    dag
        Edges from producer to consumer.
    flops
        Arithmetic operations; a multiply-add counts as two.
    output_bytes, param_bytes
        Size of the output tensor, and of the constants that the operation reads.
    read_bytes
        Bytes of all input tensors, graph inputs included, parameters excluded.
    dtype
        Type in which the arithmetic is done, e.g. ``"float32"``: selects a device's peak rate.
    """

    names: tuple[str, ...]
    op_types: tuple[str, ...]
    dag: Dag
    flops: IntArray
    output_bytes: IntArray
    param_bytes: IntArray
    read_bytes: IntArray
    dtype: str = "float32"

    def __post_init__(self) -> None:
        if not self.names:
            raise InvalidInputError("the graph has no nodes; expected at least one.")
        if len(set(self.names)) < len(self.names):
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise InvalidInputError(f"node name {twice!r} occurs twice; expected unique names.")
        if len(self.op_types) != len(self.names):
            raise InvalidInputError(
                f"op_types has {len(self.op_types)} values; "
                f"expected one for each of the {len(self.names)} nodes."
            )
        for field in ("flops", "output_bytes", "param_bytes", "read_bytes"):
            array = non_negative_integers(getattr(self, field), field, self.names)
            object.__setattr__(self, field, array)
