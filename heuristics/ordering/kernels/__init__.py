"""Compiled kernels, with signatures, so that importing compiles them and running never does."""
