"""The stream in which a child reports: frames of a JSON header and a body that stays as it is.

The receiver can thus forward or drop a document without decoding it. A frame that was cut short,
because its writer died, is dropped.
"""

import json
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_LENGTHS = struct.Struct("<II")
LARGEST_FRAME = 2**30


class DamagedStreamError(Exception):
    """What came is no sequence of frames, e.g. because two processes wrote at once."""


@dataclass(frozen=True)
class Frame:
    """One report."""

    header: dict[str, Any]
    body: bytes


def encode(header: dict[str, Any], body: bytes = b"") -> bytes:
    """Return a frame's bytes."""
    head = json.dumps(header).encode()
    return _LENGTHS.pack(len(head), len(body)) + head + body


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of the data, however often that takes."""
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]


class FrameReader:
    """Cuts a stream of bytes into frames."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Yield the frames that these bytes complete.

        Raises
        ------
        DamagedStreamError
            If the bytes cannot be frames.
        """
        self._buffer += data
        while len(self._buffer) >= _LENGTHS.size:
            head_length, body_length = _LENGTHS.unpack_from(self._buffer)
            if head_length + body_length > LARGEST_FRAME:
                raise DamagedStreamError(f"a frame of {head_length + body_length} bytes")
            body_start = _LENGTHS.size + head_length
            end = body_start + body_length
            if len(self._buffer) < end:
                break
            try:
                header = json.loads(self._buffer[_LENGTHS.size : body_start])
            except ValueError as error:
                raise DamagedStreamError(str(error)) from error
            frame = Frame(header, bytes(self._buffer[body_start:end]))
            del self._buffer[:end]
            yield frame
