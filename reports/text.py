"""Format words and numbers for readers."""

import hashlib
import math
import re
from collections.abc import Iterable
from typing import Any

MISSING = "–"


def _is_missing(value: Any) -> bool:
    if value is None or isinstance(value, int | float | str):
        return value is None or value != value
    # Takes as long to import as many a search.
    import pandas as pd

    return bool(pd.isna(value))


def text(value: Any) -> str:
    """Return a text, empty where it is missing."""
    return "" if _is_missing(value) else str(value)


def integer(value: Any) -> str:
    """Return an integer with thousands separators."""
    return MISSING if _is_missing(value) else f"{int(value):,}"


def decimal(value: Any, digits: int) -> str:
    """Return a number with a fixed number of decimals."""
    return MISSING if _is_missing(value) else f"{value:,.{digits}f}"


def amount(value: float) -> str:
    """Return a number: whole and large ones to the last digit, others with four digits."""
    is_long = float(value).is_integer() or abs(value) >= 1000
    return f"{value:,.0f}" if is_long else f"{value:,.4g}"


def percent(ratio: Any) -> str:
    """Return a ratio such as 0.032 in percent with one decimal, without the sign %."""
    if _is_missing(ratio):
        return MISSING
    if 0 < ratio < 0.0005:
        return "< 0.1"
    return f"{100 * ratio:,.1f}"


OPTIMAL = "optimal"

# A percent sign for sentences that may be broken into lines.
PERCENT = "\N{NO-BREAK SPACE}%"


def gap_percent(gap: Any, sign: str = "", digits: int = 1) -> str:
    """Return a certified gap such as 0.032 in percent; only one of exactly 0 is "optimal".

    Below 0.1 % there are two decimals, so that what is nearly optimal is not shown as 0.
    """
    if _is_missing(gap):
        return MISSING
    if gap == 0:
        return OPTIMAL
    if 0 < gap < 0.00005:
        return f"< 0.01{sign}"
    return f"{100 * gap:,.{2 if abs(gap) < 0.00095 else digits}f}{sign}"


def seconds(value: Any) -> str:
    """Return seconds with three decimals."""
    if _is_missing(value):
        return MISSING
    return "< 0.001" if 0 < value < 0.0005 else f"{value:,.3f}"


def size(value: Any) -> str:
    """Return bytes in GiB, or in MiB below one."""
    if _is_missing(value):
        return MISSING
    gib = float(value) / 2**30
    return f"{gib:.3g} GiB" if gib >= 1 else f"{gib * 1024:.3g} MiB"


def count(number: int, singular: str, plural: str | None = None) -> str:
    """Return a number and its noun: "1 task", "3 tasks"."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def plain(value: Any) -> str:
    """Return a number without superfluous zeros: 20, 0.5."""
    if _is_missing(value):
        return MISSING
    return f"{value:g}" if math.isfinite(value) else str(value)


def natural_order(names: Iterable[str]) -> list[str]:
    """Return the distinct names, sorted with numbers by value: random-100 before random-10000."""
    # To go through a column of text one by one takes long.
    distinct = names.unique() if hasattr(names, "unique") else names
    return sorted(set(distinct), key=_key)


def _key(name: str) -> tuple[list[tuple[int, str]], str]:
    # Digits and other text alternate, so that numbers only ever meet numbers.
    parts = re.split(r"(\d+)", name)
    return [(int(x), "") if at % 2 else (0, x) for at, x in enumerate(parts)], name


def visible(text: str) -> str:
    """Return the text with characters that cannot be seen or encoded written as escapes.

    Lines stay lines.
    """
    if text.isprintable():
        return text
    return "".join(c if _is_visible(c) else ascii(c)[1:-1] for c in text)


def _is_visible(character: str) -> bool:
    # Blanks that do not break are the report's own.
    return character.isprintable() or character in "\n\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}"


def file_name(text: str) -> str:
    """Return letters, digits, dashes and underscores; different texts have different names."""
    cleaned = re.sub(r"[^A-Za-z0-9_-]+", "_", text)
    return (
        cleaned
        if cleaned == text and text
        else f"{cleaned}_{hashlib.sha256(text.encode(errors='backslashreplace')).hexdigest()[:8]}"
    )
