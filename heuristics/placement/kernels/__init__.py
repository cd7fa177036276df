"""Compiled kernels, with signatures, so that importing compiles them and running never does.

Each module is closed under its own calls, because numba's disk cache does not notice a callee that
was edited in another file.
"""
