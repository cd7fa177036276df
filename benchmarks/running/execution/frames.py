"""The stream of a child's reports: frames of a JSON header and a body of raw bytes.

The receiver can thus forward or drop a document without decoding it. A frame that was cut short,
because its writer died, is dropped. A receiver trusts nothing: what is no frame, too large, or too
much, ends the stream.
"""

import json
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_LENGTHS = struct.Struct("<II")

LARGEST_HEADER = 2**16
LARGEST_BODY = 2**27
# Of one stream, all together.
MOST_FRAMES = 100_000
MOST_BYTES = 2**32


class BadReportError(Exception):
    """The other side sent a malformed report; the message is a clause about it."""


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
    """Cuts a stream of bytes into frames, with at most one frame in memory.

    Parameters
    ----------
    largest_body, most_frames, most_bytes
        What the stream may hold in one frame, and in all.
    """

    def __init__(
        self,
        largest_body: int = LARGEST_BODY,
        most_frames: int = MOST_FRAMES,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._buffer = bytearray()
        self._largest_body = largest_body
        self._frames_left = most_frames
        self._bytes_left = most_bytes
        self._most = f"{most_frames} reports and {most_bytes} bytes"

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Add bytes of the stream, and yield the frames that are complete now.

        Raises
        ------
        BadReportError
            If the bytes cannot be frames, or are more than the stream may hold.
        """
        self._buffer += data
        self._bytes_left -= len(data)
        while len(self._buffer) >= _LENGTHS.size:
            head_length, body_length = _LENGTHS.unpack_from(self._buffer)
            if head_length > LARGEST_HEADER or body_length > self._largest_body:
                raise BadReportError(
                    f"one has {head_length} + {body_length} bytes; expected at most "
                    f"{LARGEST_HEADER} + {self._largest_body}"
                )
            body_start = _LENGTHS.size + head_length
            end = body_start + body_length
            if len(self._buffer) < end:
                break
            header = _header(bytes(self._buffer[_LENGTHS.size : body_start]))
            frame = Frame(header, bytes(self._buffer[body_start:end]))
            del self._buffer[:end]
            self._frames_left -= 1
            if self._frames_left < 0:
                break
            yield frame
        if self._frames_left < 0 or self._bytes_left < 0:
            raise BadReportError(f"they are too many; expected at most {self._most}")


def _header(text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadReportError(f"one has a header that is no JSON ({error})") from error
    if not isinstance(header, dict) or not isinstance(header.get("kind"), str):
        raise BadReportError("one has a header without a kind")
    return header


def shortened(text: str, longest: int) -> str:
    """Return the text as valid UTF-8, cut to a number of bytes."""
    return text.encode(errors="replace")[:longest].decode(errors="ignore")
