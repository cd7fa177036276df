import itertools
import os
import threading

from hypothesis import given
from hypothesis import strategies as st

from boundmark.benchmarks.running.execution.frames import (
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
