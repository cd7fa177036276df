"""Runs one query with DuckDB, which gets to see the folder's tables and nothing else."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from boundmark.problems.errors import BoundmarkError, StoreError
from boundmark.reports.query.views import views_of
from boundmark.reports.stored.checked_results import Checks, ignore
from boundmark.reports.stored.store import ResultStore

# Queries may come from others: no files, no network, no extensions.
SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
}


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
        If the folder cannot be read, or the query fails.
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
