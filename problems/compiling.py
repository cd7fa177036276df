"""Decorators that compile kernels when they are imported, and keep the result on disk.

A module of kernels holds all kernels that these call: numba's cache on disk does not notice that a
function in another file was edited.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba import types

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

# Read-only vector of integers, as the arrays of instances are.
INTEGERS = types.Array(types.int64, 1, "C", readonly=True)


def compiled(signatures: list[Any], **options: Any) -> Callable[[Kernel], Kernel]:
    """Compile a kernel for these signatures."""
    decorator = numba.njit(signatures, cache=True, nogil=True, **options)
    return cast("Callable[[Kernel], Kernel]", decorator)


def internal(signatures: list[Any]) -> Callable[[Kernel], Kernel]:
    """Compile a kernel that only kernels call, in five sixths of the time."""
    return compiled(signatures, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def inlined(signatures: list[Any]) -> Callable[[Kernel], Kernel]:
    """Compile a kernel that is called every few dozen nanoseconds.

    Other kernels count references to the arrays that they are given, with atomic operations that
    would take as long again; these borrow them, and must not return or allocate any.
    """
    return compiled(signatures, forceinline=True, _nrt=False)
