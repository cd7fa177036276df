"""One operation of a model: the tensors that it reads and writes, and its attributes."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

AttributeValue: TypeAlias = (
    int | float | str | tuple[int, ...] | tuple[float, ...] | tuple[str, ...]
)

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
        `LEFT_OUT` where an optional input is not given.
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
