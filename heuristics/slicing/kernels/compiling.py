"""Decorators that compile the kernels when they are imported, and keep the result on disk."""

from functools import partial

import numba

# Each takes a list of signatures.
compiled = partial(numba.njit, cache=True, nogil=True)

# Not for calls from Python, which saves a sixth of the time to compile.
internal = partial(compiled, no_cpython_wrapper=True, no_cfunc_wrapper=True)
