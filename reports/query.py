"""SQL over the tables of a results folder."""

import difflib
import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa

from boundmark.problems.errors import BoundmarkError, StoreError, extra_with
from boundmark.problems.files import read_regular
from boundmark.reports.dictionary import described
from boundmark.reports.stored.checked_results import (
    Checks,
    SupportedResults,
    checked_results,
    ignore,
)
from boundmark.reports.stored.manifest import read_note, rows_digest
from boundmark.reports.stored.parquet import table_of
from boundmark.reports.stored.schema import RESULTS, TRACES
from boundmark.reports.stored.store import ResultStore
from boundmark.reports.text import count

if TYPE_CHECKING:
    import duckdb

UNSUPPORTED = "unsupported"

# Names that an error suggests instead of one that is no table's.
MOST_NEAR = 3


@dataclass(frozen=True)
class Views:
    """The views of a folder that queries see.

    Attributes
    ----------
    tables
        What DuckDB can read, by name.
    notes
        Sentences on what was left out.
    """

    tables: dict[str, Any]
    notes: tuple[str, ...]


def views_of(store: ResultStore, on_check: Callable[[Checks], None] = ignore) -> Views:
    """Return the tables of a folder by name.

    `results` and `traces` have one row per task and per event, without the costs and bounds that no
    document supports or the checker rejects, which are rows of `unsupported`. What a report has
    made of them, `tables/certified.parquet` and `tables/<problem>/methods.parquet`, is `certified`
    and `<problem>_methods`, unless they, rows or documents were changed since. Times are in UTC.

    Raises
    ------
    StoreError
        If a file cannot be read.
    """
    supported = checked_results(store, on_check=on_check)
    results = pa.Table.from_pandas(supported.results, RESULTS, preserve_index=False)
    at = results.schema.get_field_index("started_at")
    # DuckDB needs another package to return times with a zone.
    start = results.column(at).cast(pa.timestamp("us"))
    own: dict[str, Any] = {
        "results": results.set_column(at, "started_at", start),
        "traces": pa.Table.from_pandas(supported.traces, TRACES, preserve_index=False),
        UNSUPPORTED: described(UNSUPPORTED, supported.unsupported),
    }
    notes = (_left_out(supported.unsupported),) if len(supported.unsupported) else ()
    reported, more = _reported(store.directory, supported)
    return Views({**reported, **own}, (*notes, *more))


def _left_out(unsupported: pd.DataFrame) -> str:
    """Return how many costs and bounds are missing, and why the first one is."""
    bounds = int((unsupported["column"] == "bound_certified").sum())
    costs = len(unsupported) - bounds
    first = unsupported.iloc[0]
    return (
        f"{count(bounds, 'certified bound')} and {count(costs, 'verified cost')} left out, because "
        f"no document supports them or the checker rejects it: see the table {UNSUPPORTED}. "
        f"The first is the {first['column']} of task {first['task_id']} ({first['method']}): "
        f"{first['reason']}."
    )


def _reported(directory: Path, supported: SupportedResults) -> tuple[dict[str, Any], list[str]]:
    """Return the tables that a report made of these very rows, by name, and what was left out."""
    folder = directory / "tables"
    paths = [path for path in sorted(folder.rglob("*.parquet")) if not path.name.startswith(".")]
    if not paths:
        return {}, []
    note = read_note(directory)
    if note is None or note.rows != rows_digest(supported):
        reason = (
            "an older version made them, and they do not say of what"
            if note is None
            else "rows or documents have changed since they were made"
        )
        told = f"Tables of the report are left out, because {reason}; "
        return {}, [f"{told}`boundmark report {directory}` makes new ones."]
    found: dict[str, Any] = {}
    notes = []
    for path in paths:
        name = path.relative_to(directory).as_posix()
        try:
            content = read_regular(path)
            is_ours = hashlib.sha256(content).hexdigest() == note.tables.get(name)
            table = table_of(content) if is_ours else None
        except OSError as error:
            notes.append(f"{path} is left out: {error.strerror}.")
            continue
        if table is not None:
            found[_view_name(path.relative_to(folder))] = table
        else:
            notes.append(
                f"{path} is left out: it is not what the last report wrote; `boundmark report "
                f"{directory}` makes a new one."
            )
    return found, notes


def _view_name(path: Path) -> str:
    """Return a name that SQL takes without quotes."""
    return re.sub(r"\W", "_", str(path.with_suffix("")).replace("/", "_"), flags=re.ASCII)


# Queries may come from others: no files, no network, no extensions.
SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
}

# DuckDB works through long queries with recursion, for which its own limits are no match.
LONGEST_QUERY = 10_000

# What a query may call in the place of a table. Most others open files or change how DuckDB works:
# one of them logs to a file, which is not allowed, and takes the process down when that fails.
TABLE_FUNCTIONS = frozenset(
    {"duckdb_columns", "duckdb_functions", "duckdb_settings", "duckdb_tables", "duckdb_types"}
    | {"duckdb_views", "generate_series", "json_each", "json_tree", "pragma_table_info", "range"}
    | {"repeat", "unnest"}
)


@dataclass(frozen=True)
class Answer:
    """The answer to a query: names of columns, rows of values, and notes on rows left out."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    notes: tuple[str, ...]


def query_folder(directory: Path, sql: str, on_check: Callable[[Checks], None] = ignore) -> Answer:
    """Run an SQL query on the tables of a results folder.

    Parameters
    ----------
    on_check
        Called with what is checked until now, after every check.

    Raises
    ------
    BoundmarkError
        If DuckDB is not installed.
    StoreError
        If the folder cannot be read, or the query fails, or does anything but read tables.
    """
    try:
        import duckdb
    except ImportError as error:
        raise BoundmarkError(
            f"queries need DuckDB, which is not installed{extra_with('duckdb')}."
        ) from error
    views = views_of(ResultStore.open(directory), on_check)
    with duckdb.connect(":memory:", config=SETTINGS) as connection:
        try:
            for name, table in views.tables.items():
                connection.register(name, table)
            _check_query(connection, sql)
            cursor = connection.execute(sql)
            # Nothing, or a comment, has no answer.
            columns = tuple(str(x[0]) for x in (cursor.description or ())) if cursor else ()
            rows = tuple(cursor.fetchall()) if columns else ()
        except duckdb.Error as error:
            told = "".join(f"\n{note}" for note in views.notes)
            hint = _hint(str(error), views.tables)
            raise StoreError(f"the query failed: {error}\n{hint}{told}") from error
    return Answer(columns, rows, views.notes)


def _hint(error: str, tables: Collection[str]) -> str:
    """Return which tables have names like the one that is missing, and how to list all."""
    missing = re.search(r"Table with name (\w+) does not exist", error)
    near = difflib.get_close_matches(missing[1], tables, MOST_NEAR, 0.6) if missing else []
    like = f"Tables with such names are {', '.join(near)}. " if near else ""
    return f"{like}SHOW TABLES lists all {len(tables)} tables, DESCRIBE NAME the columns of one."


def _check_query(connection: "duckdb.DuckDBPyConnection", sql: str) -> None:
    """Refuse anything but one query that only reads tables.

    Raises
    ------
    StoreError
        If the text holds another statement, several, or a function of tables that is not known.
    duckdb.Error
        If the text is no SQL.
    """
    import duckdb

    if len(sql) > LONGEST_QUERY:
        raise StoreError(f"the query has {len(sql)} characters; expected at most {LONGEST_QUERY}.")
    statements = connection.extract_statements(sql)
    if not statements:
        raise StoreError(
            "the query is empty; expected one such as SELECT * FROM results, or SHOW TABLES."
        )
    for statement in statements:
        if statement.type != duckdb.StatementType.SELECT:
            raise StoreError(
                f"the query has a statement of type {statement.type.name}, which is disabled; "
                "expected one that reads tables: SELECT, FROM, WITH, VALUES, SHOW, DESCRIBE or "
                "SUMMARIZE."
            )
    if len(statements) > 1:
        raise StoreError(f"the query has {len(statements)} statements; expected one.")
    found = connection.execute("select json_serialize_sql(?)", [sql]).fetchone()
    assert found is not None
    try:
        tree = json.loads(found[0])
    except RecursionError as error:
        raise StoreError("the query is nested too deeply; expected a simpler one.") from error
    if tree["error"]:
        raise StoreError(f"the query cannot be examined: {tree['error_message']}.")
    for function in _table_functions(tree):
        if function.lower() not in TABLE_FUNCTIONS:
            raise StoreError(
                f"the query calls {function!r} for a table, which is disabled; "
                f"expected one of {', '.join(sorted(TABLE_FUNCTIONS))}."
            )


def _table_functions(tree: Any) -> Iterator[str]:
    """Yield the names of the functions of tables that a serialized query calls, at any depth."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
        elif isinstance(node, dict):
            waiting += node.values()
            if node.get("type") == "TABLE_FUNCTION":
                yield str(node["function"]["function_name"])


__all__ = ["Answer", "query_folder"]
