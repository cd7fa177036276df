from collections.abc import Callable

import pytest

from boundmark.problems.errors import InvalidInputError
from boundmark.problems.json_documents import (
    check_edges,
    check_fields,
    check_format,
    check_groups,
    check_integer_lists,
    check_integer_tables,
    check_lists,
    json_object,
)


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (lambda: check_format({}, "f/1"), "format is None; expected 'f/1'."),
        (lambda: check_format({"format": "f/2"}, "f/1"), "format is 'f/2'; expected 'f/1'."),
        (lambda: check_fields({"a": 0}, ("a", "b")), "b is missing; expected a, b."),
        (lambda: check_lists({"a": [], "b": {}}, ("a", "b")), "b is not a list; expected one."),
        (
            lambda: check_integer_lists({"a": [1], "b": [1, True]}, ("a", "b")),
            "b is not a list of integers.",
        ),
        (
            lambda: check_integer_tables({"a": [[1], [2, 3]]}, ("a",)),
            "a is not a table of integers.",
        ),
        (
            lambda: check_groups({"a": [[1], [2, 3]], "b": [[], "4"]}, ("a", "b")),
            "an entry of b is '4'; expected a list of integers.",
        ),
        (
            lambda: check_edges([[0, 1], [2]], "node numbers"),
            "edge [2] is not a pair of node numbers.",
        ),
        (lambda: check_edges([[0, 1, 2]], "ids"), "edge [0, 1, 2] is not a pair of ids."),
        (lambda: check_edges([[0, True]], "ids"), "edge [0, True] is not a pair of ids."),
        (lambda: check_edges(["01"], "ids"), "edge '01' is not a pair of ids."),
    ],
)
def test_what_is_wrong_is_named(check: Callable[[], None], message: str) -> None:
    """The error says which field or entry it is, and what was expected."""
    with pytest.raises(InvalidInputError) as raised:
        check()
    assert str(raised.value) == message


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
        (b"9" * 10_000, "expected JSON; there is a number of more than 4,300 digits"),
        (b'{"a": [1, ' + b"9" * 10_000 + b"]}", "expected JSON; there is a number of more"),
        (
            b'{"a": -' + b"9" * 10_000 + b"}",
            "expected JSON; a has a number of more than 4,300 digits",
        ),
        (b"[" + b"[]," * 2**23 + b"[]]", "the JSON has more than 16,777,216 values"),
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
