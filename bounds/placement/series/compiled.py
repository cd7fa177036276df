"""The checker's own search of a module, compiled: it refutes exactly what the checker refutes.

Nothing is written twice: the functions of `boundmark.bounds.checker.placement.module_search` and
`module_devices` are compiled as they are, with arrays for lists, and take exactly as many steps.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
from numba import types

from boundmark.bounds.checker.placement import module_data, module_devices, module_search
from boundmark.bounds.checker.placement.module_data import Module, Scratch
from boundmark.problems.compiling import compiled

_NUMBER = types.int64
_ROW = types.int64[::1]
MODULE = types.NamedTuple(  # type: ignore[no-untyped-call]
    [_NUMBER if field is int else _ROW for field in Module.__annotations__.values()], Module
)
SCRATCH = types.NamedUniTuple(  # type: ignore[no-untyped-call]
    _ROW, len(Scratch._fields), Scratch
)

# Callees before callers.
_SIGNATURES = {
    "fill": types.void(MODULE, SCRATCH, types.boolean),
    "narrow": types.boolean(MODULE, SCRATCH, _NUMBER, _NUMBER),
    "is_too_much": types.boolean(SCRATCH, _NUMBER, _NUMBER),
    "put": _NUMBER(SCRATCH, *[_NUMBER] * 5),
    "is_overloaded": types.boolean(MODULE, SCRATCH, _NUMBER),
    "one_of_each": _NUMBER(MODULE, SCRATCH, _NUMBER),
    "most_urgent": _NUMBER(MODULE, SCRATCH),
    "list_items": types.void(MODULE, SCRATCH),
    "delay": types.boolean(SCRATCH, _NUMBER, _NUMBER, _NUMBER),
    "settle": _NUMBER(SCRATCH, _NUMBER, _NUMBER, _NUMBER),
    "is_port_overloaded": types.boolean(MODULE, SCRATCH, _NUMBER),
    "conflict": _NUMBER(SCRATCH),
    "order": _NUMBER(MODULE, SCRATCH, _NUMBER, _NUMBER),
    "search": _NUMBER(MODULE, SCRATCH, _NUMBER, _NUMBER),
}


_MODULES = (module_data, module_devices, module_search)


def _compiled() -> Callable[[Module, Scratch, int, int], int]:
    """Return the search, in which all calls are of compiled functions.

    Nothing in it allocates, so references need not be counted (`_nrt`; numba has it, but does not
    document it). Each call would count those to all arrays, with atomic instructions that take
    most of the time.
    """
    scope: dict[str, Any] = {}
    for module in _MODULES:
        scope |= vars(module)
    version = _version()
    for name, signature in _SIGNATURES.items():
        function = FunctionType(scope[name].__code__, scope, name)
        function.__qualname__ = f"{name}_{version}"
        scope[name] = compiled([signature], _nrt=False)(function)
    found: Callable[[Module, Scratch, int, int], int] = scope["search"]
    return found


def _version() -> str:
    """Return a hash of the sources and of how they are compiled here.

    numba compiles a function anew if its own file has changed. What it calls is part of it, too.
    """
    files = [*(str(module.__file__) for module in _MODULES), __file__]
    sources = (Path(file).read_bytes() for file in files)
    return hashlib.sha256(b"".join(sources)).hexdigest()[:12]


search = _compiled()


def as_arrays(module: Module) -> Module:
    """Return a module as the compiled search takes it."""
    fields: list[Any] = [
        field if isinstance(field, int) else np.array(field, dtype=np.int64) for field in module
    ]
    return Module(*fields)


def zeros(size: int) -> Any:
    """Return an array of zeros."""
    return np.zeros(size, dtype=np.int64)
