"""Tensors: a shape, and a type of elements that says how many bytes they take."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from boundmark.problems.errors import InvalidInputError

Shape: TypeAlias = tuple[int, ...]

# Of one element. Elements of less than a byte are packed.
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
    """Return under which name devices state their rate for a type of elements.

    Signed and unsigned integers have one rate, and so have all kinds of float8, float6 and float4.
    """
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
