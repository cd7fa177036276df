"""Only regular files of a bearable size are read, whatever else lies in their place."""

import gzip
import os
from pathlib import Path

import pytest

from boundmark.problems.errors import InvalidInputError
from boundmark.problems.files import RefusedFileError, decompressed, read_bytes, read_regular


def test_a_file_and_a_link_to_it(tmp_path: Path) -> None:
    """Links may lead to regular files."""
    (tmp_path / "file").write_bytes(b"abc")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    assert read_regular(tmp_path / "file") == read_regular(str(tmp_path / "link")) == b"abc"


@pytest.mark.parametrize("name", ["pipe", "device", "link to a pipe"])
def test_what_is_no_file(tmp_path: Path, name: str) -> None:
    """Nobody waits for a pipe, and nothing is read from a device."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/null")
    (tmp_path / "link to a pipe").symlink_to(tmp_path / "pipe")
    with pytest.raises(RefusedFileError, match="it is no regular file"):
        read_regular(tmp_path / name)
    with pytest.raises(InvalidInputError, match=f"{name} cannot be read: it is no regular file"):
        read_bytes(tmp_path / name)


def test_what_is_not_there(tmp_path: Path) -> None:
    """Callers tell these cases apart."""
    with pytest.raises(FileNotFoundError):
        read_regular(tmp_path / "none")
    with pytest.raises(IsADirectoryError):
        read_regular(tmp_path)
    with pytest.raises(InvalidInputError, match="is a directory; expected a file"):
        read_bytes(tmp_path)


def test_what_is_too_large(tmp_path: Path) -> None:
    """The largest size itself is read."""
    path = tmp_path / "large"
    path.write_bytes(bytes(2**20 + 1))
    assert len(read_regular(path, 2**20 + 1)) == 2**20 + 1
    with pytest.raises(RefusedFileError, match="it has more than 1 MiB"):
        read_regular(path, 2**20)
    with pytest.raises(InvalidInputError, match="large cannot be read: it has more than 1 MiB"):
        read_bytes(path, most_bytes=2**20)


def test_gigabytes_behind_a_small_file() -> None:
    """They are not all decompressed before they are refused."""
    small = gzip.compress(bytes(2**20 + 1))
    assert len(decompressed(small, 2**20 + 1)) == 2**20 + 1
    with pytest.raises(RefusedFileError, match="it has more than 1 MiB when decompressed"):
        decompressed(small, 2**20)


@pytest.mark.parametrize(
    "content",
    [b"abc", gzip.compress(bytes(100), mtime=0)[:-9], b"\x1f\x8b"],
    # The time is in the compressed bytes.
    ids=["plain", "truncated", "head only"],
)
def test_what_is_damaged(content: bytes) -> None:
    """A sentence, whatever gzip raises."""
    with pytest.raises(RefusedFileError, match="it cannot be decompressed"):
        decompressed(content)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 9\n",
            "a pointer of Git",
        ),
        (b"\n<!DOCTYPE HTML><html>404</html>", "a page in HTML, as of a failed download"),
        (b"<html>", "a page in HTML"),
    ],
)
def test_what_downloads_leave_in_a_file_s_place(
    tmp_path: Path, content: bytes, expected: str
) -> None:
    """Nobody has to find out why a file that is there cannot be parsed."""
    (tmp_path / "model.onnx").write_bytes(content)
    with pytest.raises(InvalidInputError, match=f"model.onnx: it is {expected}.*; expected the"):
        read_bytes(tmp_path / "model.onnx")
