from typing import Any

import pytest

from boundmark.bounds import checker
from boundmark.bounds.checker.values import fields, integer, integers, number, numbers, pairs


@pytest.mark.parametrize(
    ("value", "quote"),
    [
        (None, "null"),
        (True, "true"),
        (False, "false"),
        (-12, "-12"),
        (2**128 - 1, "340282366920938463463374607431768211455"),
        (2**128, "an integer of more than 128 bits"),
        pytest.param(10**5000, "an integer of more than 128 bits", id="huge"),
        ("plain", "'plain'"),
        ("\x1b[2J\r\n\u202e[red]", r"'\x1b[2J\r\n\u202e[red]'"),
        ("\ud800", r"'\ud800'"),
        ("x" * 40, "'" + "x" * 40 + "'"),
        ("x" * 41, "'" + "x" * 40 + "'..."),
        pytest.param("x" * 10**6, "'" + "x" * 40 + "'...", id="long"),
        ([1], "a list"),
        ({"a": 1}, "an object"),
        (1.5, "what is no JSON that this checker reads"),
    ],
)
def test_quotes_are_short_and_printable(value: Any, quote: str) -> None:
    """Whatever a file says, a message is one line without control characters."""
    assert checker.quoted(value) == quote
    assert quote.isascii()
    assert quote.isprintable()


def test_names_of_files_are_printable() -> None:
    """What moves the cursor gets its number; other characters stay."""
    assert checker.printable("a b\u00e9\n\x1b.json") == "a b\u00e9\\n\\x1b.json"


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (True, "x is not an integer from 0 to 9, but true"),
        (None, "x is not an integer from 0 to 9, but null"),
        (1.0, "x is not an integer from 0 to 9, but what is no JSON"),
        (10, "x is not an integer from 0 to 9, but 10"),
        (-1, "x is not an integer from 0 to 9, but -1"),
        ("", "x is not an integer from 0 to 9, but ''"),
        ("+1", "x is not an integer"),
        (" 1", "x is not an integer"),
        ("1\n", "x is not an integer"),
        ("\u0661", "x is not an integer"),
        ("0" * 41, "x is not an integer"),
        ([1], "x is not an integer from 0 to 9, but a list"),
    ],
)
def test_what_is_no_integer(value: Any, reason: str) -> None:
    """Integers are JSON integers or short decimal texts; nothing is converted silently."""
    with pytest.raises(checker.Rejected, match=reason):
        integer(value, "x", 0, 9)
    with pytest.raises(checker.Rejected, match=r"x is not an integer|an entry of x"):
        integers([1, value], "x", 0, 9)


def test_texts_become_integers() -> None:
    """What is returned has integers only, whatever the file had."""
    assert integer("007", "x", 0, 9) == 7
    assert integers([1, "2"], "x", 0, 9) == [1, 2]


def test_what_an_instance_has_is_no_text() -> None:
    """Its document has one form, and so one hash."""
    assert number(7, "x", 0, 9) == 7
    assert numbers([1, 2], "x", 0, 9) == [1, 2]
    assert numbers([], "x", 0, 9) == []
    assert pairs([[0, 1], [1, 2]], "x", 0, 9) == [(0, 1), (1, 2)]
    with pytest.raises(checker.Rejected, match="x is not an integer from 0 to 9, but '7'"):
        number("7", "x", 0, 9)
    for read, value in ((numbers, [1, "2"]), (pairs, [[0, 1], [1, "2"]])):
        with pytest.raises(checker.Rejected, match="an entry of x is not an integer from 0 to 9"):
            read(value, "x", 0, 9)
    for value in (10, -1, True, None, [1]):
        with pytest.raises(checker.Rejected, match="x is not an integer from 0 to 9"):
            number(value, "x", 0, 9)
        with pytest.raises(checker.Rejected, match="an entry of x is not an integer from 0 to 9"):
            numbers([value], "x", 0, 9)
    with pytest.raises(checker.Rejected, match="x is not a list, but 3"):
        numbers(3, "x", 0, 9)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ([], "x is not an object with the fields a, b, but a list"),
        ({"a": 1}, "x is not an object with the fields a, b: it lacks b"),
        ({"a": 1, "b": 1, "\n": 1}, r"x is not an object with the fields a, b: it has '.n'"),
    ],
)
def test_fields_are_exact(value: Any, reason: str) -> None:
    """A field that is missing or unknown is named."""
    with pytest.raises(checker.Rejected, match=reason):
        fields(value, "x", {"a", "b"})
