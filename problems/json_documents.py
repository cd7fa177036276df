"""JSON documents: canonical text and hash, strict reading, also of TOML, and checks of fields."""

import hashlib
import itertools
import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeGuard

from boundmark.problems.errors import InvalidInputError, quoted


def canonical_json(value: Any) -> str:
    """Return the JSON text with sorted keys and no white space, the same on every machine."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def sha256_hex(text: str) -> str:
    """Return the SHA-256 of a text's UTF-8 bytes as 64 hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


# Values of a document, with the commas in its texts: the largest of ours have a tenth of it.
MOST_VALUES = 2**24

# A file of devices or of a suite in TOML, whose reader takes 4 us for a byte.
LARGEST_TOML = 2**20

# Names with dots between them; the reader's time grows with the square of their number.
_LONG_KEY = re.compile(r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){100}""")

# More digits than Python makes a number of, and the name of the field that they stand in.
_LONG_NUMBER = re.compile(r"""([\w-]*)(?<!\d)["']?\s*[:=]?[\s[]*[-+]?\d[\d_]{4299}""")


def json_object(content: bytes) -> Mapping[str, Any]:
    """Parse a JSON text in UTF-8 and return its object."""
    value = json_value(content, without_repetition)
    if not isinstance(value, dict):
        raise InvalidInputError(f"expected an object, found {quoted(value)}.")
    return value


def json_value(
    content: bytes, of_pairs: Callable[[list[tuple[str, Any]]], Any] | None = None
) -> Any:
    """Parse a JSON text in UTF-8 and return its value."""
    # A value of three bytes takes seventy, and no signal ends the parser.
    if sum(map(content.count, (b"[", b"{", b","))) > MOST_VALUES:
        raise InvalidInputError(f"the JSON has more than {MOST_VALUES:,} values.")
    try:
        # Python would take UTF-16 and a byte order mark, too, which the checker does not.
        return json.loads(content.decode(), object_pairs_hook=of_pairs)
    except RecursionError as error:
        raise InvalidInputError("the JSON is nested too deeply to be read.") from error
    except ValueError as error:
        raise InvalidInputError(f"expected JSON; {_in_one_line(error, content)}.") from error


def toml_table(content: bytes, of_decimal: Callable[[str], Any] = float) -> dict[str, Any]:
    """Parse a text in TOML and return its table."""
    if len(content) > LARGEST_TOML:
        raise InvalidInputError(f"the TOML has more than {LARGEST_TOML >> 20} MiB.")
    try:
        text = content.decode("utf-8-sig")
        if _LONG_KEY.search(text):
            raise RecursionError
        return tomllib.loads(text, parse_float=of_decimal)
    except RecursionError as error:
        raise InvalidInputError("the TOML is nested too deeply to be read.") from error
    except ValueError as error:
        raise InvalidInputError(f"expected TOML; {_in_one_line(error, content)}.") from error


def without_repetition(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return the fields of a JSON object, for `json.loads`, which would keep the last of equals."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise InvalidInputError(f"an object has {quoted(twice)} twice; expected it once.")
    return found


def _in_one_line(error: ValueError, content: bytes) -> str:
    """Return what is wrong with a text; of a number that is too long, the field's name, too."""
    if isinstance(error, json.JSONDecodeError):
        return f"line {error.lineno}, column {error.colno}: {error.msg}"
    if isinstance(error, tomllib.TOMLDecodeError | UnicodeDecodeError):
        return str(error)
    found = _LONG_NUMBER.search(content.decode())
    where = f"{found[1]} has" if found and found[1] else "there is"
    return f"{where} a number of more than 4,300 digits"


def check_format(document: Mapping[str, Any], expected: str) -> None:
    """Refuse a document of another format."""
    if document.get("format") != expected:
        raise InvalidInputError(f"format is {document.get('format')!r}; expected {expected!r}.")


def check_fields(document: Mapping[str, Any], fields: Sequence[str]) -> None:
    """Refuse a document that lacks a field."""
    for field in fields:
        if field not in document:
            raise InvalidInputError(f"{field} is missing; expected {', '.join(fields)}.")


def refuse_other_fields(document: Mapping[str, Any], known: Sequence[str]) -> None:
    """Refuse a document with a field that nobody reads, and that may have been meant to count."""
    for field in document:
        if field not in known:
            raise InvalidInputError(
                f"there is a field {quoted(field)}; expected only {', '.join(known)}."
            )


def check_lists(document: Mapping[str, Any], fields: Sequence[str]) -> None:
    """Refuse a document with something else than lists in some fields."""
    for field in fields:
        if not isinstance(document[field], list):
            raise InvalidInputError(f"{field} is not a list; expected one.")


def check_integer_lists(document: Mapping[str, Any], fields: Sequence[str]) -> None:
    """Refuse a document with something else than lists of integers in some fields."""
    for field in fields:
        if not is_integer_list(document[field]):
            raise InvalidInputError(f"{field} is not a list of integers.")


def check_integer_tables(document: Mapping[str, Any], fields: Sequence[str]) -> None:
    """Refuse a document with something else than lists of equally long lists of integers."""
    for field in fields:
        if not is_integer_table(document[field]):
            raise InvalidInputError(f"{field} is not a table of integers.")


def check_groups(document: Mapping[str, Any], fields: Sequence[str]) -> None:
    """Refuse a document with something else than lists of lists of integers, of any lengths."""
    for field in fields:
        for group in document[field]:
            if not is_integer_list(group):
                raise InvalidInputError(
                    f"an entry of {field} is {quoted(group)}; expected a list of integers."
                )


def check_edges(edges: Sequence[Any], ends: str) -> None:
    """Refuse a list with something else than ascending pairs of integers, each once.

    So an instance has one document, whose hash is its name.
    """
    for edge in edges:
        if not is_integer_list(edge) or len(edge) != 2:
            raise InvalidInputError(f"edge {edge!r} is not a pair of {ends}.")
    for before, after in itertools.pairwise(edges):
        if before >= after:
            raise InvalidInputError(
                f"edge {after} comes after {before}; expected ascending edges, each once."
            )


def is_integer_list(value: Any) -> TypeGuard[list[int]]:
    """Whether a value is a list of integers; True and False do not count as integers."""
    return isinstance(value, list) and all(type(item) is int for item in value)


def is_integer_table(value: Any) -> TypeGuard[list[list[int]]]:
    """Whether a value is a list of lists of integers that are equally long."""
    return isinstance(value, list) and all(
        is_integer_list(row) and len(row) == len(value[0]) for row in value
    )
