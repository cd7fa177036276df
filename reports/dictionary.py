"""The dictionary of all columns of tables: type, unit and a sentence each, from TOML files.

`python -m boundmark.reports.dictionary FILE` writes it as a page of the documentation.
"""

import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd
import pyarrow as pa

from boundmark.problems.plugins import entry_points_of
from boundmark.reports.stored.schema import RESULTS, TRACES, VERSION
from boundmark.reports.tables.parameters import PREFIX

FILE = "dictionary.toml"

# What is said of a table, beside those of its columns that mean something of their own.
OF_TABLES = ("about", "columns")

# Sections `columns` and `tables`.
Entries: TypeAlias = Mapping[str, Mapping[str, Any]]


@cache
def common() -> Entries:
    """Return what tables of any problem have in common."""
    return tomllib.loads((files(__package__) / FILE).read_text(encoding="utf-8"))


@cache
def of_problems() -> Mapping[str, Entries]:
    """Return what tables of single problems have, by problem, as far as their packages say it.

    A package says it in a file beside the module that its entry point for reports names: with the
    module's name, `<module>.toml`, or `dictionary.toml`.
    """
    found: dict[str, Entries] = {}
    for point in entry_points_of("boundmark.reports"):
        try:
            spec = find_spec(point.module)
            module = Path(str(spec.origin)) if spec else Path(FILE)
            paths = (module.with_suffix(".toml"), module.with_name(FILE))
            path = next(filter(Path.is_file, paths), None)
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
    """Return what is known of a column, None if nothing is.

    Parameters
    ----------
    table
        Its path below `tables/` without ending, e.g. ``"<problem>/methods"``.
    """
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
    """Return what a table holds, in a sentence; empty if nothing is known of it."""
    for entries, within in _entries(table):
        for pattern, entry in entries["tables"].items():
            if fnmatchcase(within, pattern):
                return str(entry["about"])
    return ""


def columns_of(table: str) -> list[str]:
    """Return the columns of a table in their order, as the dictionary declares them.

    Raises
    ------
    KeyError
        If it declares none.
    """
    for entries, within in _entries(table):
        for pattern, entry in entries["tables"].items():
            if fnmatchcase(within, pattern) and "columns" in entry:
                return list(entry["columns"])
    raise KeyError(table)


def _entries(table: str) -> Iterator[tuple[Entries, str]]:
    """Yield what the table's problem says, then what is common, and the table's name for each."""
    problem, _, name = table.partition("/")
    if name and problem in of_problems():
        yield of_problems()[problem], name
    yield common(), table


def described(table: str, frame: pd.DataFrame) -> pa.Table:
    """Return a frame with types and metadata of the dictionary, without its index.

    A column that the dictionary does not know stays as it is. Of a field, the metadata are `unit`
    and `meaning`; of the table, `table`, `about`, and `problem` if it is about one.

    Parameters
    ----------
    table
        Its path below `tables/` without ending, e.g. ``"<problem>/methods"``.
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
    """Return the type of a column whose type is that of the data: text is text, of any length."""
    return pa.string() if pa.types.is_large_string(given) or pa.types.is_null(given) else given


HEAD = f"""# Tables

Every column of the Parquet files that boundmark writes, with type and unit. This page is made by
`python -m boundmark.reports.dictionary FILE` from `dictionary.toml` and the schemas of
stored files (schema version {VERSION}); do not edit it. The same texts are in the files themselves,
as metadata `unit` and `meaning` of their fields, and a table's problem and purpose as metadata
`problem` and `about`. Ticks are the integer unit of an instance; `tick` in `certified` says what it
is: nanoseconds, bytes, or nothing in particular. Device, problem and parameters are columns where
rows of several stand together. [Statistics](statistics.md) defines how numbers are computed, and
`boundmark query "DESCRIBE certified" DIR` lists columns too ([user guide](user-guide.md)).
"""

REPORTS = """## Tables of reports

`boundmark report` writes these into `tables/`; `*` stands for a problem, or for a parameter by
which a table is divided. Their columns are in the list below; what a table means by a column in
another way is said here. `param_` and a name is that parameter of the instance, an integer or text.
"""


def page() -> str:
    """Return the page as Markdown."""
    tables, columns = common()["tables"], common()["columns"]
    declared = declared_schemas()
    parts = [HEAD]
    for table, schema in declared.items():
        rows = _rows(_declared(table, schema))
        parts.append(f"## `{table}`\n\n{tables[table]['about']}\n\n{rows}")
    parts.append(REPORTS)
    parts.extend(_table(name, entry) for name, entry in tables.items() if name not in declared)
    for problem, entries in sorted(of_problems().items()):
        parts.extend(
            _table(f"{problem}/{name}", entry) for name, entry in entries["tables"].items()
        )
        parts.append(f"Columns of `{problem}`:\n\n{_rows(_known(entries['columns']))}")
    parts.append(f"## Columns\n\n{_rows(_known(columns))}")
    return "\n".join(part.rstrip() + "\n" for part in parts)


def declared_schemas() -> Mapping[str, pa.Schema]:
    """Return the tables that are stored as they are declared; of others, see the dictionary."""
    # These two know results, whose tables are made with this dictionary.
    from boundmark.reports.best_known import SCHEMA
    from boundmark.reports.stored.history import HISTORY

    return {"results/*": RESULTS, "traces/*": TRACES, "history": HISTORY, "best_known": SCHEMA}


def _table(name: str, entry: Mapping[str, Any]) -> str:
    own = {column: what for column, what in entry.items() if column not in OF_TABLES}
    special = f"\n\n{_rows(_known(own))}" if own else ""
    named = ", ".join(f"`{column}`" for column in entry.get("columns", ()))
    columns = f" Columns: {named}." if named else ""
    return f"### `tables/{name}.parquet`\n\n{entry['about']}{columns}{special}"


def _known(entries: Mapping[str, Any]) -> Iterable[tuple[str, Column]]:
    return ((name, Column(*entry)) for name, entry in entries.items())


def _declared(table: str, schema: pa.Schema) -> Iterable[tuple[str, Column]]:
    for field in schema:
        known = column_of(table, field.name)
        assert known is not None, f"{table} has a column {field.name} without a meaning"
        yield field.name, Column(str(field.type), known.unit, known.meaning)


def _rows(columns: Iterable[tuple[str, Column]]) -> str:
    lines = ["| column | type | unit | meaning |", "| --- | --- | --- | --- |"]
    for name, column in columns:
        kind = column.type or "that of the data"
        lines.append(f"| `{name}` | {kind} | {column.unit} | {column.meaning} |")
    return "\n".join(lines)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
