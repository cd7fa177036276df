"""Read untrusted files: regular ones only, up to a limit, with errors that name the file.

The checker reads what it checks by the same rules, in code of its own.
"""

import errno
import gzip
import io
import os
import re
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from boundmark.problems.errors import InvalidInputError

# Largest stored document, and largest payload when decompressed, in bytes.
LARGEST_FILE = 2**27

# Largest model with its weights, in bytes: no message of protobuf is larger.
LARGEST_MODEL = 2**31

# Times as large as it is, a file may become: text of tools shrinks to a tenth or twentieth.
MOST_INFLATION = 100


class RefusedFileError(OSError):
    """Raised for a file that is refused unread; `strerror` is the reason."""

    def __init__(self, number: int, reason: str) -> None:
        super().__init__(number, reason)

    def __str__(self) -> str:
        return str(self.strerror)


def open_regular(path: str | Path, flags: int = os.O_RDONLY) -> int:
    """Open a regular file, or the one that a link leads to, and return its descriptor."""
    # Opening a pipe must not block.
    descriptor = os.open(path, flags | os.O_NONBLOCK, 0o666)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
        if not stat.S_ISREG(mode):
            raise RefusedFileError(errno.EINVAL, "it is no regular file")
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def read_regular(path: str | Path, most_bytes: int = LARGEST_FILE) -> bytes:
    """Return the content of a regular file."""
    with open(open_regular(path), "rb") as file:
        return _whole(file, most_bytes)


def _whole(file: BinaryIO, most_bytes: int) -> bytes:
    if os.fstat(file.fileno()).st_size > most_bytes:
        raise RefusedFileError(errno.EFBIG, f"it has more than {most_bytes >> 20} MiB")
    return file.read()


def most_inflated(packed: int, most_bytes: int) -> int:
    """Return how many bytes at most are taken from so many that are compressed."""
    return min(most_bytes, max(LARGEST_FILE, MOST_INFLATION * packed))


def decompressed(content: bytes, most_bytes: int = LARGEST_FILE) -> bytes:
    """Return the decompressed content of a gzip file, up to a limit."""
    most_bytes = most_inflated(len(content), most_bytes)
    try:
        found = gzip.GzipFile(fileobj=io.BytesIO(content)).read(most_bytes + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise RefusedFileError(errno.EINVAL, "it cannot be decompressed") from error
    if len(found) > most_bytes:
        reason = f"it has more than {most_bytes >> 20} MiB when decompressed"
        raise RefusedFileError(errno.EFBIG, reason)
    return found


def read_bytes(
    path: str | Path, expected: str = "a file with a graph", most_bytes: int = LARGEST_MODEL
) -> bytes:
    """Return the contents of a regular file that is not empty.

    Parameters
    ----------
    expected
        What should be in it, for the error.

    Raises
    ------
    InvalidInputError
        If there is no such file, it has more bytes, or nothing can be read from it.
    """
    with opened(path, expected) as file:
        return _whole(file, most_bytes)


@contextmanager
def opened(path: str | Path, expected: str) -> Iterator[BinaryIO]:
    """Open a regular file that is not empty; errors of the block name it, as by `naming`."""
    try:
        with os.fdopen(open_regular(path), "rb") as file, naming(path):
            start = file.read(LONGEST_MARK)
            if not start:
                raise InvalidInputError(f"{path} is empty; expected {expected}.")
            refuse_stand_in(start)
            file.seek(0)
            yield file
    except FileNotFoundError as error:
        raise InvalidInputError(f"{path} does not exist; expected {expected}.") from error
    except IsADirectoryError as error:
        raise InvalidInputError(f"{path} is a directory; expected {expected}.") from error
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read: {error.strerror}.") from error


TORCH_TRACE = "a trace of torch.profiler"
ONNXRUNTIME_PROFILE = "a profile of onnxruntime"

# Bytes by which files of profiling tools are told.
MARK_OF_TOOL = 4096

# Bytes that tell what stands in a file's place.
LONGEST_MARK = 64


def refuse_stand_in(start: bytes) -> None:
    """Refuse what downloads leave in the place of a file."""
    if start.startswith(b"version https://git-lfs.github.com/spec/"):
        raise InvalidInputError(
            "it is a pointer of Git LFS; expected the file itself, which `git lfs pull` fetches."
        )
    if start.lstrip().lower().startswith((b"<!doctype html", b"<html")):
        raise InvalidInputError(
            "it is a page in HTML, as of a failed download; expected the file itself."
        )


@contextmanager
def naming(place: str | Path) -> Iterator[None]:
    """Prefix errors of the block with a file's name, or a place in it, unless they begin with it.

    What Python raises for content that is too large, too deep or beyond the range of numbers
    becomes such an error, too: so no reader has to think of it.
    """
    try:
        yield
    except InvalidInputError as error:
        if not str(error).startswith((f"{place} ", f"{place}: ")):
            error.args = (f"{place}: {error}",)
        raise
    except MemoryError as error:
        raise InvalidInputError(
            f"{place}: it takes more memory than there is; expected less of it."
        ) from error
    except RecursionError as error:
        raise InvalidInputError(f"{place}: it is nested too deeply to be read.") from error
    except ArithmeticError as error:
        raise InvalidInputError(
            f"{place}: its numbers cannot be computed with ({error}); expected others."
        ) from error


_OTHER_TRACE = "a trace of another tool in Chrome's format"

# What is in the beginning of files that tools for profiling write, and what they are.
_TOOL_FILES = (
    (rb'\A\s*\{[^{}\[\]]*"(schemaVersion|deviceProperties|traceEvents)"', TORCH_TRACE),
    (rb'\A\s*\[\s*\{\s*"cat"\s*:\s*"(Session|Node|Api)"', ONNXRUNTIME_PROFILE),
    (rb'\A\s*\[\s*\{[^{}\[\]]*"ph"\s*:\s*"', _OTHER_TRACE),
    (rb'\A\s*\{[^\[\]]*"traceEvents"\s*:', _OTHER_TRACE),
    (rb'\A\s*\[\s*\{\s*"count"\s*:\s*\d+\s*\}', "a layer profile of trtexec"),
    # Lines about what is being done may stand before these.
    (
        rb'^\s*"?(Time ?\(%\)|(API )?Start ?\(n?s(ec)?\)|NVTX Range"?,|(Name|Range)"?,.*\(ns\))'
        rb"|^ *\*\* .*\(\w+\):\s*$",
        "a table of nsys stats",
    ),
    (rb'^"?ID"?,"?Process ID"?,"?Process Name', "a table of Nsight Compute"),
    (rb"\ASQLite format 3", "an SQLite database, as Nsight Systems exports"),
)


def is_gzip(content: bytes) -> bool:
    """Whether a file's content is compressed by gzip."""
    return content.startswith(b"\x1f\x8b")


def tool_file(content: bytes) -> str | None:
    """Return what a file is by its beginning if a profiling tool has written it.

    Examples
    --------
    >>> tool_file(b"Start (ns),Duration (ns),CorrId,GrdX")
    'a table of nsys stats'
    >>> tool_file(b'{"nodes": []}')
    """
    start = content[:MARK_OF_TOOL]
    if is_gzip(start):
        try:
            start = zlib.decompressobj(wbits=31).decompress(start, MARK_OF_TOOL)
        except zlib.error:
            return None
    return next(
        (what for pattern, what in _TOOL_FILES if re.search(pattern, start, re.MULTILINE)), None
    )


def refuse_tool_file(content: bytes, expected: str) -> None:
    """Refuse a file that a profiling tool has written, and say what it is good for."""
    what = tool_file(content)
    if what is None:
        return
    if what == TORCH_TRACE:
        use = "`boundmark profile MODEL.pt2 --from FILE` joins it to a model"
    elif what == ONNXRUNTIME_PROFILE:
        use = "`boundmark profile MODEL.onnx --from FILE` joins it to a model"
    else:
        use = (
            "its times cannot be joined to operators: run `boundmark profile` there, or record a "
            "trace of torch.profiler or a profile of onnxruntime"
        )
    raise InvalidInputError(f"it is {what}; expected {expected}. {use[0].upper()}{use[1:]}.")


def refuse_file_of_tool(path: str | Path, expected: str) -> None:
    """Refuse a file on disk as `refuse_tool_file` does; only its beginning is read."""
    with opened(path, expected) as file:
        refuse_tool_file(file.read(MARK_OF_TOOL), expected)
