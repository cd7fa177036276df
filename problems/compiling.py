"""Decorators that compile kernels when they are imported, and keep the result on disk.

A module of kernels holds all kernels that these call: numba's cache on disk does not notice that a
function in another file was edited. Where the cache lies is numba's affair: `NUMBA_CACHE_DIR`, else
beside the module, else, where that cannot be written to, in the user's own cache.
"""

import contextlib
import fcntl
import time
from collections.abc import Callable
from typing import IO, Any, TypeVar, cast

import numba
from numba import types
from numba.core import event

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

# Read-only vector of integers, as the arrays of instances are.
INTEGERS = types.Array(types.int64, 1, "C", readonly=True)

_seconds = 0.0
_is_kept = True


def are_kernels_kept() -> bool:
    """Whether the next process finds on disk what this one has compiled."""
    return _is_kept


def compile_seconds() -> float:
    """Return the seconds for which this process has compiled kernels, or waited for others to."""
    return _seconds


def compiled(signatures: list[Any], **options: Any) -> Callable[[Kernel], Kernel]:
    """Compile a kernel for these signatures, unless it is on disk."""
    # Nobody calls kernels from C, and what would is a tenth of the time.
    options = {"nogil": True, "no_cfunc_wrapper": True, **options}

    def decorate(kernel: Kernel) -> Kernel:
        global _is_kept
        try:
            return _made(kernel, signatures, cache=True, **options)
        except RuntimeError as error:
            if "no locator available" not in str(error):
                raise
            # Nothing can be written anywhere: it is compiled for this process alone.
            _is_kept = False
            return _made(kernel, signatures, **options)

    return decorate


def internal(signatures: list[Any]) -> Callable[[Kernel], Kernel]:
    """Compile a kernel that only kernels call, in nine tenths of the time."""
    return compiled(signatures, no_cpython_wrapper=True)


def inlined(signatures: list[Any]) -> Callable[[Kernel], Kernel]:
    """Compile a kernel that is called every few dozen nanoseconds.

    Other kernels count references to the arrays that they are given, with atomic operations that
    would take as long again; these borrow them, and must not return or allocate any.
    """
    return compiled(signatures, forceinline=True, _nrt=False)


def _made(kernel: Kernel, signatures: list[Any], **options: Any) -> Kernel:
    """Return what numba makes of a kernel; of processes that lack it, one compiles it."""
    global _seconds
    began = time.monotonic()
    with _Turn(kernel.__code__.co_filename) as turn:
        try:
            made = numba.njit(signatures, **options)(kernel)
        except _MadeMeanwhileError:
            made = numba.njit(signatures, **options)(kernel)
    if turn.is_taken:
        _seconds += time.monotonic() - began
    return cast("Kernel", made)


class _MadeMeanwhileError(Exception):
    """Another process was compiling kernels of the same file when this one was about to."""


class _Turn(event.Listener):
    """Takes the lock on a file of kernels when numba begins to compile one of them."""

    def __init__(self, path: str) -> None:
        self.is_taken = False
        self._path = path
        self._file: IO[bytes] | None = None
        self._listening = event.install_listener("numba:compile", self)

    def __enter__(self) -> "_Turn":
        self._listening.__enter__()
        return self

    def __exit__(self, *raised: object) -> None:
        self._listening.__exit__(None, None, None)
        if self._file is not None:
            self._file.close()

    def on_start(self, event: event.Event) -> None:
        """Take the lock, unless this is the second try or a kernel within the first."""
        if self.is_taken:
            return
        self.is_taken = True
        # Some file systems have no locks; then several processes may compile the same.
        with contextlib.suppress(OSError):
            self._file = open(self._path, "rb")  # noqa: SIM115 - it is held until the end
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                fcntl.flock(self._file, fcntl.LOCK_EX)
                raise _MadeMeanwhileError from None

    def on_end(self, event: event.Event) -> None:
        """Keep the lock until the kernel is on disk."""
