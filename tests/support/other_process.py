"""Calls functions in a process of their own, which stays for the next call.

CP-SAT (ortools) and HiGHS (highspy) cannot be loaded by one process.
"""

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


@cache
def _process() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(max_workers=1, mp_context=multiprocessing.get_context("spawn"))


def call(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return what a module's function returns there; arguments and result are pickled."""
    return _process().submit(function, *args, **kwargs).result()
