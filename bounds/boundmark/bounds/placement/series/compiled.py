"""The checker's own search of a module, compiled: what it refutes here, the checker refutes.

Nothing is written twice: the functions of `boundmark.bounds.checker.placement.module_search` are
compiled as they are, with arrays for lists, and take exactly as many steps. They are all in one
file, which is what numba's disk cache looks at.
"""

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numba
import numpy as np
from numba import types

from boundmark.bounds.checker.placement import module_search as written
from boundmark.bounds.checker.placement.module_search import Module, Scratch

_NUMBER = types.int64
_ROW = types.int64[::1]
MODULE = types.NamedTuple(  # type: ignore[no-untyped-call]
    [_NUMBER if field is int else _ROW for field in Module.__annotations__.values()], Module
)
SCRATCH = types.NamedUniTuple(  # type: ignore[no-untyped-call]
    _ROW, len(Scratch._fields), Scratch
)

# In an order in which each one only calls those before.
_SIGNATURES = {
    "fill_heads": types.void(MODULE, SCRATCH),
    "fill_tails": types.void(MODULE, SCRATCH),
    "narrow": types.boolean(MODULE, SCRATCH, _NUMBER, _NUMBER),
    "is_too_much": types.boolean(SCRATCH, _NUMBER, _NUMBER),
    "put": _NUMBER(SCRATCH, *[_NUMBER] * 5),
    "is_overloaded": types.boolean(MODULE, SCRATCH, _NUMBER),
    "most_urgent": _NUMBER(MODULE, SCRATCH),
    "list_items": types.void(MODULE, SCRATCH),
    "delay": types.boolean(SCRATCH, _NUMBER, _NUMBER, _NUMBER),
    "settle": _NUMBER(SCRATCH, _NUMBER, _NUMBER, _NUMBER),
    "is_port_overloaded": types.boolean(MODULE, SCRATCH, _NUMBER),
    "conflict": _NUMBER(SCRATCH),
    "order": _NUMBER(MODULE, SCRATCH, _NUMBER, _NUMBER),
    "search": _NUMBER(MODULE, SCRATCH, _NUMBER, _NUMBER),
}


def _compiled() -> Callable[[Module, Scratch, int, int], int]:
    """Return the search, in which all calls are of compiled functions."""
    scope: dict[str, Any] = dict(vars(written))
    for name, signature in _SIGNATURES.items():
        function = FunctionType(getattr(written, name).__code__, scope, name)
        scope[name] = numba.njit([signature], cache=True, nogil=True)(function)
    found: Callable[[Module, Scratch, int, int], int] = scope["search"]
    return found


search = _compiled()


def as_arrays(module: Module) -> Module:
    """Return a module as the compiled search takes it."""
    fields: list[Any] = [
        field if isinstance(field, int) else np.array(field, dtype=np.int64) for field in module
    ]
    return Module(*fields)


def zeros(size: int) -> Any:
    """Return room for as many integers."""
    return np.zeros(size, dtype=np.int64)
