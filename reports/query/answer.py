"""Runs one query with DuckDB, which gets to see the folder's tables and nothing else."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boundmark.problems.errors import BoundmarkError, StoreError
from boundmark.reports.query.views import views_of
from boundmark.reports.stored.checked_results import Checks, ignore
from boundmark.reports.stored.store import ResultStore

if TYPE_CHECKING:
    import duckdb

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
    """The answer to a query: names of columns, rows of values, and what tables leave out."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    notes: tuple[str, ...]


def query_folder(directory: Path, sql: str, on_check: Callable[[Checks], None] = ignore) -> Answer:
    """Return what an SQL query finds in the tables of a results folder.

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
            "queries need DuckDB, which is not installed; expected the extra `query`: "
            "pip install 'boundmark[query]'."
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
            known = ", ".join(sorted(views.tables))
            told = "".join(f"\n{note}" for note in views.notes)
            raise StoreError(
                f"the query failed: {error}\nTables of {directory}: {known}.{told}"
            ) from error
    return Answer(columns, rows, views.notes)


def _check_query(connection: "duckdb.DuckDBPyConnection", sql: str) -> None:
    """Refuse what is not one query that only reads tables.

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
    for statement in statements:
        if statement.type != duckdb.StatementType.SELECT:
            raise StoreError(
                f"the query has a statement of type {statement.type.name}, which is disabled; "
                "expected one that reads tables: SELECT, FROM, WITH, VALUES, SHOW, DESCRIBE or "
                "SUMMARIZE."
            )
    if len(statements) > 1:
        raise StoreError(f"the query has {len(statements)} statements; expected one.")
    if not statements:
        return
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
