"""Calls functions in a process of their own, which stays for the next call.

CP-SAT (ortools) and HiGHS (highspy) cannot be loaded by one process.
"""

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


@cache
def _process() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(max_workers=1, mp_context=multiprocessing.get_context("spawn"))


def call(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return what a function returns there; it, its arguments and its result are pickled.

    Functions of test modules cannot be: those are not on the import path.
    """
    try:
        return _process().submit(function, *args, **kwargs).result()
    except BrokenProcessPool:
        # The next test gets a new process.
        _process.cache_clear()
        raise


def leave() -> None:
    """End the process; the next call starts another one."""
    _process().shutdown()
    _process.cache_clear()
