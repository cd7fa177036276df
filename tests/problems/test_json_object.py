import pytest

from boundmark.problems.errors import InvalidInputError
from boundmark.problems.json_object import json_object


def test_object() -> None:
    """An object is returned as it is."""
    assert json_object(b'{"a": [1, 2.5, null]}') == {"a": [1, 2.5, None]}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"{", "expected JSON; line 1, column 2: Expecting property name"),
        (b'{"a":\n}', "expected JSON; line 2, column 1: Expecting value"),
        (b"\xff\xff", "expected JSON; 'utf-"),
        (b"[" * 100_000, "the JSON is nested too deeply to be read"),
        (b'{"a": ' * 100_000 + b"1" + b"}" * 100_000, "the JSON is nested too deeply to be read"),
        (b"9" * 10_000, "expected JSON; Exceeds the limit"),
        (b"[1, 2]", r"expected an object, found \[1, 2\]"),
        (b"null", "expected an object, found None"),
        (b'{"k": 2, "work": [], "k": 3}', "an object has 'k' twice; expected it once"),
        (b'{"a": [{"k": 2, "k": 2}]}', "an object has 'k' twice; expected it once"),
    ],
)
def test_anything_else_is_one_sentence(content: bytes, expected: str) -> None:
    """No text that a user may write ends in a traceback."""
    with pytest.raises(InvalidInputError, match=expected) as raised:
        json_object(content)
    assert "\n" not in str(raised.value)
