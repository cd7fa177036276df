import itertools
import os
import struct
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boundmark.benchmarks.running.execution.frames import (
    BadReportError,
    Frame,
    FrameReader,
    encode,
    write_all,
)

frames = st.lists(
    st.builds(
        Frame,
        st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5), max_size=3).map(
            lambda header: {**header, "kind": "report"}
        ),
        st.binary(max_size=50),
    ),
    max_size=5,
)


@given(sent=frames, cuts=st.lists(st.integers(0, 500)), lost=st.integers(0, 20))
def test_frames_arrive_whole_or_not_at_all(sent: list[Frame], cuts: list[int], lost: int) -> None:
    """However the stream is cut into pieces and wherever it ends, whole frames are what arrives."""
    stream = b"".join(encode(frame.header, frame.body) for frame in sent)
    stream = stream[: max(0, len(stream) - lost)]
    reader = FrameReader()
    received = []
    marks = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    for start, end in itertools.pairwise(marks):
        received += reader.feed(stream[start:end])
    assert received == sent[: len(received)]
    rest = sum(len(encode(frame.header, frame.body)) for frame in sent[: len(received) + 1])
    assert len(received) == len(sent) or rest > len(stream)


@pytest.mark.parametrize(
    ("lengths", "header", "message"),
    [
        ((2**31, 0), b"", "one has 2147483648 [+] 0 bytes; expected at most 65536"),
        ((2, 2**31), b"", "one has 2 [+] 2147483648 bytes"),
        ((3, 0), b"{[}", "no JSON"),
        ((2, 0), b"\xff\xfe", "no JSON"),
        ((60_000, 0), b"[" * 60_000, "no JSON"),
        ((6_000, 0), b"1" * 6_000, "no JSON"),
        ((2, 0), b"[]", "without a kind"),
        ((2, 0), b"{}", "without a kind"),
        ((10, 0), b'{"kind":5}', "without a kind"),
    ],
)
def test_garbage_is_recognised(lengths: tuple[int, int], header: bytes, message: str) -> None:
    """Bytes that cannot be frames raise instead of being waited on for ever."""
    with pytest.raises(BadReportError, match=message):
        list(FrameReader().feed(struct.pack("<II", *lengths) + header))


@pytest.mark.parametrize("limits", [{"most_frames": 5}, {"most_bytes": 150}])
def test_no_stream_is_without_end(limits: dict[str, int]) -> None:
    """The frames before the limit arrive; then there is an error, however the bytes come."""
    frame = encode({"kind": "report"}, b"x" * 10)
    reader = FrameReader(**limits)
    received: list[Frame] = []

    def feed_for_ever() -> None:
        while True:
            received.extend(reader.feed(frame))

    with pytest.raises(BadReportError, match="too many; expected at most"):
        feed_for_ever()
    assert len(received) in (4, 5)


def test_a_frame_that_never_ends_is_not_kept() -> None:
    """What is announced as too large is refused before it comes."""
    reader = FrameReader(largest_body=1000)
    assert list(reader.feed(struct.pack("<II", 2, 1000))) == []
    with pytest.raises(BadReportError, match=r"expected at most 65536 \+ 1000"):
        list(FrameReader(largest_body=1000).feed(struct.pack("<II", 2, 1001)))


def test_write_all_writes_what_a_pipe_takes_in_parts() -> None:
    """A write larger than the pipe is complete once the reader has read."""
    reading, writing = os.pipe()

    def write() -> None:
        write_all(writing, b"x" * 300_000)
        os.close(writing)

    thread = threading.Thread(target=write)
    thread.start()
    with open(reading, "rb") as file:
        assert len(file.read()) == 300_000
    thread.join()
