"""The stream of a child's reports: frames of a JSON header and a body of raw bytes.

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


@dataclass(frozen=True)
class Frame:
    """One report: a header with its kind and other fields, and a body."""

    header: dict[str, Any]
    body: bytes

    @property
    def kind(self) -> str:
        """The kind of the message in the frame."""
        kind: str = self.header["kind"]
        return kind


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
    """Cuts a stream of bytes into frames, with at most one frame in memory."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Add bytes of the stream, and yield the frames that are complete now."""
        self._buffer += data
        while len(self._buffer) >= _LENGTHS.size:
            head_length, body_length = _LENGTHS.unpack_from(self._buffer)
            body_start = _LENGTHS.size + head_length
            end = body_start + body_length
            if len(self._buffer) < end:
                return
            header = json.loads(self._buffer[_LENGTHS.size : body_start])
            frame = Frame(header, bytes(self._buffer[body_start:end]))
            del self._buffer[:end]
            yield frame


def shortened(text: str, longest: int) -> str:
    """Return the text as valid UTF-8, cut to a number of bytes."""
    return text.encode(errors="replace")[:longest].decode(errors="ignore")
