"""Looks columns up by table and name."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Any

import pyarrow as pa

from boundmark.reports.tables.parameters import PREFIX

TYPES: Mapping[str, pa.DataType] = {
    "string": pa.string(),
    "int64": pa.int64(),
    "double": pa.float64(),
    "bool": pa.bool_(),
}


@dataclass(frozen=True)
class Column:
    """What is known of a column.

    Attributes
    ----------
    type
        As a name of `TYPES`; empty where it is that of the data.
    unit
        Empty where numbers have none.
    """

    type: str
    unit: str
    meaning: str


def column_of(table: str, name: str) -> Column | None:
    """Return what is known of a column, None if nothing is.

    Parameters
    ----------
    table
        Its path below `tables/` without ending, e.g. ``"<problem>/methods"``.
    """
    for pattern, entry in _dictionary()["tables"].items():
        if name in entry and name != "about" and fnmatchcase(table, pattern):
            return Column(*entry[name])
    if name.startswith(PREFIX):
        return Column("", "", f"Parameter {name.removeprefix(PREFIX)} of the instance.")
    entry = _dictionary()["columns"].get(name)
    return Column(*entry) if entry else None


def about(table: str) -> str:
    """Return what a table holds, in a sentence; empty if nothing is known of it."""
    for pattern, entry in _dictionary()["tables"].items():
        if fnmatchcase(table, pattern):
            return str(entry["about"])
    return ""


@cache
def _dictionary() -> dict[str, Any]:
    text = (files(__package__) / "dictionary.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
