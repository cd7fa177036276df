"""Names in the order people expect."""

import re
from collections.abc import Iterable

import pandas as pd


def natural_order(names: Iterable[str]) -> list[str]:
    """Return the distinct names, sorted with numbers by value: random-100 before random-10000."""
    # To go through a column of text one by one takes long.
    distinct = names.unique() if isinstance(names, pd.Series) else names
    return sorted(set(distinct), key=_key)


def _key(name: str) -> tuple[list[tuple[int, str]], str]:
    # Digits and other text alternate, so that numbers only ever meet numbers.
    parts = re.split(r"(\d+)", name)
    return [(int(x), "") if at % 2 else (0, x) for at, x in enumerate(parts)], name
