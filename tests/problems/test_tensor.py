import pytest

from boundmark.problems.errors import InvalidInputError
from boundmark.problems.tensor import ARITHMETIC_DTYPES, Tensor, arithmetic_dtype


@pytest.mark.parametrize(
    ("shape", "dtype", "size"),
    [
        ((), "float32", 4),
        ((3, 5), "float32", 60),
        ((3, 0, 5), "float32", 0),
        ((3, 5), "bfloat16", 30),
        ((3, 5), "float8e5m2", 15),
        # 15 elements of half a byte, and of a quarter.
        ((3, 5), "int4", 8),
        ((3, 5), "uint2", 4),
        ((3, 5), "float6e2m3", 12),
        ((3, 5), "bool", 15),
        ((3, 5), "complex128", 240),
    ],
)
def test_bytes_by_hand(shape: tuple[int, ...], dtype: str, size: int) -> None:
    """Elements are packed, and the last byte counts in full."""
    assert Tensor("x", shape, dtype).bytes == size


@pytest.mark.parametrize(
    ("dtype", "rate"),
    [
        ("float32", "float32"),
        ("float64", "float64"),
        ("bfloat16", "bfloat16"),
        ("float8e4m3fn", "float8"),
        ("float6e3m2", "float6"),
        ("float4e2m1", "float4"),
        ("uint8", "int8"),
        ("int4", "int4"),
    ],
)
def test_rates_go_by_the_kind_of_arithmetic(dtype: str, rate: str) -> None:
    """Devices have one rate for signed and unsigned integers, and for all formats of a size."""
    assert arithmetic_dtype(dtype) == rate
    assert rate in ARITHMETIC_DTYPES


@pytest.mark.parametrize(
    ("shape", "dtype", "expected"),
    [
        ((3,), "string", "tensor 'x' has elements of type 'string'; expected one of float64"),
        ((3, -1), "int8", r"the shape of tensor 'x' is \[3, -1\]; expected non-negative integers"),
        ((3, 1.5), "int8", r"the shape of tensor 'x' is \[3, 1.5\]; expected non-negative integ"),
    ],
)
def test_bad_tensors_are_named(shape: tuple[int, ...], dtype: str, expected: str) -> None:
    """The error names the tensor."""
    with pytest.raises(InvalidInputError, match=expected):
        Tensor("x", shape, dtype)
