"""Numbers as readers see them: as many digits as mean something."""

import math
from typing import Any

import pandas as pd

MISSING = "–"


def integer(value: Any) -> str:
    """Return an integer with thousands separators."""
    return MISSING if pd.isna(value) else f"{int(value):,}"


def decimal(value: Any, digits: int) -> str:
    """Return a number with a fixed number of decimals."""
    return MISSING if pd.isna(value) else f"{value:,.{digits}f}"


def percent(ratio: Any) -> str:
    """Return a ratio such as 0.032 in percent with one decimal, without the sign %."""
    if pd.isna(ratio):
        return MISSING
    if 0 < ratio < 0.0005:
        return "<0.1"
    return f"{100 * ratio:,.1f}"


def seconds(value: Any) -> str:
    """Return seconds with three decimals."""
    if pd.isna(value):
        return MISSING
    return "<0.001" if 0 < value < 0.0005 else f"{value:,.3f}"


def size(value: Any) -> str:
    """Return bytes in GiB, or in MiB below one."""
    if pd.isna(value):
        return MISSING
    gib = float(value) / 2**30
    return f"{gib:.3g} GiB" if gib >= 1 else f"{gib * 1024:.3g} MiB"


def count(number: int, singular: str, plural: str | None = None) -> str:
    """Return a number and its noun: "1 task", "3 tasks"."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def plain(value: Any) -> str:
    """Return a number without superfluous zeros: 20, 0.5."""
    if pd.isna(value):
        return MISSING
    return f"{value:g}" if math.isfinite(value) else str(value)
