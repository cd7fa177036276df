"""The dictionary of all columns of tables: type, unit and a sentence each, from TOML files.

The documentation's page of tables is made of it.
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd
import pyarrow as pa

from boundmark.problems.entry_points import entry_points_of
from boundmark.reports.tables.parameters import PREFIX

FILE = "dictionary.toml"

# What is said of a table, beside those of its columns that mean something of their own.
OF_TABLES = ("about", "columns")

# Sections `columns` and `tables`.
Entries: TypeAlias = Mapping[str, Mapping[str, Any]]


@cache
def common() -> Entries:
    """Return the entries that all problems share."""
    return tomllib.loads((files(__package__) / FILE).read_text(encoding="utf-8"))


@cache
def of_problems() -> Mapping[str, Entries]:
    """Return the entries of each problem's own dictionary, by problem.

    A package says it in a file beside the module that its entry point for reports names: with the
    module's name, `<module>.toml`, or `dictionary.toml`; the common one is no problem's own.
    """
    found: dict[str, Entries] = {}
    shared = Path(__file__).with_name(FILE)
    for point in entry_points_of("boundmark.reports"):
        try:
            spec = find_spec(point.module)
            module = Path(str(spec.origin)) if spec else Path(FILE)
            paths = (module.with_suffix(".toml"), module.with_name(FILE))
            path = next((one for one in paths if one.is_file() and not one.samefile(shared)), None)
            if point.name not in found and spec and path:
                entries = tomllib.loads(path.read_text(encoding="utf-8"))
                found[point.name] = {"columns": {}, "tables": {}, **entries}
        except KeyboardInterrupt:
            raise
        except BaseException:
            # Somebody else's code: `report_of` tells what is wrong with it.
            continue
    return found


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
    """Return the entry of a column; None if there is none."""
    for entries, within in _entries(table):
        for pattern, entry in entries["tables"].items():
            if name in entry and name not in OF_TABLES and fnmatchcase(within, pattern):
                return Column(*entry[name])
    if name.startswith(PREFIX):
        return Column("", "", f"Parameter {name.removeprefix(PREFIX)} of the instance.")
    for entries, _ in _entries(table):
        if name in entries["columns"]:
            return Column(*entries["columns"][name])
    return None


def about(table: str) -> str:
    """Return a sentence on a table's contents; empty if the table is unknown."""
    for entries, within in _entries(table):
        for pattern, entry in entries["tables"].items():
            if fnmatchcase(within, pattern):
                return str(entry["about"])
    return ""


def columns_of(table: str) -> list[str]:
    """Return the columns of a table in their order, as the dictionary declares them."""
    for entries, within in _entries(table):
        for pattern, entry in entries["tables"].items():
            if fnmatchcase(within, pattern) and "columns" in entry:
                return list(entry["columns"])
    raise KeyError(table)


def _entries(table: str) -> Iterator[tuple[Entries, str]]:
    """Yield the problem's entries, then the common ones, each with the table's name there."""
    problem, _, name = table.partition("/")
    if name and problem in of_problems():
        yield of_problems()[problem], name
    yield common(), table


def described(table: str, frame: pd.DataFrame) -> pa.Table:
    """Return a frame with types and metadata of the dictionary, without its index.

    A column that the dictionary does not know stays as it is. Of a field, the metadata are `unit`
    and `meaning`; of the table, `table`, `about`, and `problem` if it is about one.
    """
    found = pa.Table.from_pandas(frame, preserve_index=False)
    for at, field in enumerate(found.schema):
        known = column_of(table, field.name)
        if known is None:
            continue
        values = _cast(found.column(at), TYPES.get(known.type) or _plain(field.type))
        metadata = {"unit": known.unit, "meaning": known.meaning}
        found = found.set_column(at, pa.field(field.name, values.type, metadata=metadata), values)
    problem = table.rpartition("/")[0]
    facts = {"table": table, "about": about(table)} | ({"problem": problem} if problem else {})
    return found.replace_schema_metadata({**(found.schema.metadata or {}), **facts})


def _cast(values: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    """Return values with a type if they fit: reports of other packages may use a name otherwise."""
    try:
        return values.cast(wanted)
    except pa.ArrowInvalid:
        return values


def _plain(given: pa.DataType) -> pa.DataType:
    """Return the type of a column that takes it from the data, without sizes of texts."""
    return pa.string() if pa.types.is_large_string(given) or pa.types.is_null(given) else given
