"""The dictionary of all columns of tables: type, unit and a sentence each, from TOML files.

`boundmark columns` prints it.
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from boundmark.problems.entry_points import entry_points_of
from boundmark.problems.errors import InvalidInputError
from boundmark.reports.history import HISTORY
from boundmark.reports.stored.schema import RESULTS, TRACES
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


class ListedColumn(NamedTuple):
    """A column, and the table or tables that have it, in words."""

    table: str
    name: str
    type: str
    unit: str
    meaning: str


# Tables that are stored with a schema of their own; the dictionary declares all others.
STORED: Mapping[str, pa.Schema] = {"results/*": RESULTS, "traces/*": TRACES, "history": HISTORY}


def all_columns() -> Iterator[ListedColumn]:
    """Yield the columns of stored tables, those of each report's table, and those of several."""
    for table, schema in STORED.items():
        where = f"{table}: {about(table)}"
        for field in schema:
            what = column_of(table, field.name) or Column("", "", "")
            yield ListedColumn(where, field.name, str(field.type), what.unit, what.meaning)
    for problem, entries in {"": common(), **of_problems()}.items():
        for name, entry in entries["tables"].items():
            path = f"{problem}/{name}" if problem else name
            if path in STORED:
                continue
            where = f"tables/{path}.parquet: {entry['about']}"
            own = {
                column: Column(*what) for column, what in entry.items() if column not in OF_TABLES
            }
            listed = {column: column_of(path, column) for column in entry.get("columns", ())}
            for column, known in {**listed, **own}.items():
                if known is not None:
                    yield ListedColumn(where, column, known.type, known.unit, known.meaning)
        where = f"tables of {problem or 'all problems'}"
        for column, entry in entries["columns"].items():
            yield ListedColumn(where, column, *entry)


def columns_of_file(path: Path) -> Iterator[ListedColumn]:
    """Yield the columns of a Parquet file as its metadata describe them."""
    try:
        schema = pq.read_schema(path)
    except FileNotFoundError as error:
        raise InvalidInputError(f"{path} does not exist; expected a Parquet file.") from error
    except (OSError, pa.ArrowInvalid) as error:
        raise InvalidInputError(f"{path} is no Parquet file: {error}.") from error
    for field in schema:
        said = {
            key.decode(errors="replace"): text.decode(errors="replace")
            for key, text in (field.metadata or {}).items()
        }
        unit, meaning = said.get("unit", ""), said.get("meaning", "")
        yield ListedColumn(path.name, field.name, str(field.type), unit, meaning)


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
