"""Looks columns up by table and name."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

import pyarrow as pa

from boundmark.reports.dictionary.sources import Entries, common, of_problems
from boundmark.reports.tables.parameters import PREFIX

TYPES: Mapping[str, pa.DataType] = {
    "string": pa.string(),
    "int64": pa.int64(),
    "double": pa.float64(),
    "bool": pa.bool_(),
}


@dataclass(frozen=True)
class Column:
    """The entry of a column: type, unit and meaning.

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
    for entries, within in _entries(table):
        for pattern, entry in entries["tables"].items():
            if name in entry and name != "about" and fnmatchcase(within, pattern):
                return Column(*entry[name])
    if name.startswith(PREFIX):
        return Column("", "", f"Parameter {name.removeprefix(PREFIX)} of the instance.")
    for entries, _ in _entries(table):
        if name in entries["columns"]:
            return Column(*entries["columns"][name])
    return None


def about(table: str) -> str:
    """Return what a table holds, in a sentence; empty if nothing is known of it."""
    for entries, within in _entries(table):
        for pattern, entry in entries["tables"].items():
            if fnmatchcase(within, pattern):
                return str(entry["about"])
    return ""


def _entries(table: str) -> Iterator[tuple[Entries, str]]:
    """Yield what the table's problem says, then what is common, and the table's name for each."""
    problem, _, name = table.partition("/")
    if name and problem in of_problems():
        yield of_problems()[problem], name
    yield common(), table
