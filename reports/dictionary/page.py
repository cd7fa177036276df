"""The dictionary as a page of the documentation: `python -m boundmark.reports.dictionary.page`."""

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from boundmark.reports.best_known.records import SCHEMA as BEST_KNOWN
from boundmark.reports.dictionary import OF_TABLES, Column, column_of, common, of_problems
from boundmark.reports.stored.history import HISTORY
from boundmark.reports.stored.schema import RESULTS, TRACES, VERSION

# Those that are stored as they are declared; of others, the dictionary says what they hold.
DECLARED: Mapping[str, pa.Schema] = {
    "results/*": RESULTS,
    "traces/*": TRACES,
    "history": HISTORY,
    "best_known": BEST_KNOWN,
}

HEAD = f"""# Tables

Every column of the Parquet files that boundmark writes, with type and unit. This page is made by
`python -m boundmark.reports.dictionary.page FILE` from `dictionary.toml` and the schemas of
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
    parts = [HEAD]
    for table, schema in DECLARED.items():
        rows = _rows(_declared(table, schema))
        parts.append(f"## `{table}`\n\n{tables[table]['about']}\n\n{rows}")
    parts.append(REPORTS)
    parts.extend(_table(name, entry) for name, entry in tables.items() if name not in DECLARED)
    for problem, entries in sorted(of_problems().items()):
        parts.extend(
            _table(f"{problem}/{name}", entry) for name, entry in entries["tables"].items()
        )
        parts.append(f"Columns of `{problem}`:\n\n{_rows(_known(entries['columns']))}")
    parts.append(f"## Columns\n\n{_rows(_known(columns))}")
    return "\n".join(part.rstrip() + "\n" for part in parts)


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
