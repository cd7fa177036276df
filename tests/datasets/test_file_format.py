from pathlib import Path

import pytest

from boundmark.datasets.file_format import FileFormat, formats
from boundmark.datasets.resolve import known_suffixes, load_file
from boundmark.problems.errors import InvalidInputError


def told(name: str, first: bytes | None) -> FileFormat:
    """Return a format whose files hold its name, told by their first byte if one is given."""
    recognises = None if first is None else (lambda content: content.startswith(first))
    return FileFormat(name, (".jobs",), lambda path: name, recognises)


def known(monkeypatch: pytest.MonkeyPatch, *others: FileFormat) -> None:
    """Register some formats behind ours."""
    for one in others:
        monkeypatch.setitem(formats(), one.name, one)


@pytest.mark.parametrize(
    ("content", "expected"), [(b"ab", "a"), (b"b", "b"), (b"c", "rest"), (b"d", "rest")]
)
def test_content_tells_formats_with_one_suffix_apart(
    content: bytes, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What none recognises is for the first that does not ask."""
    path = tmp_path / "some.JOBS"
    path.write_bytes(content)
    known(monkeypatch, told("rest", None), told("late", None), told("a", b"a"), told("b", b"b"))
    assert load_file(path) == expected


def test_what_no_format_recognises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence names file and formats."""
    path = tmp_path / "some.jobs"
    path.write_bytes(b"c")
    known(monkeypatch, told("a", b"a"), told("b", b"b"))
    with pytest.raises(InvalidInputError, match=r"some\.jobs is not recognised; expected a or b"):
        load_file(path)


def test_suffixes_of_formats_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each once; stored instances can always be read."""
    known(monkeypatch, told("a", b"a"), told("b", b"b"))
    assert known_suffixes() == (
        ".csv", ".gguf", ".jobs", ".json", ".onnx", ".pbtxt", ".pt2", ".txt", ".xls",
        ".xml",
    )  # fmt: skip
