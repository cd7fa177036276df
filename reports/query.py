"""SQL over what a results folder holds."""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from boundmark.problems.errors import BoundmarkError, StoreError
from boundmark.reports.dictionary import described
from boundmark.reports.stored.made_from import read_note, rows_digest
from boundmark.reports.stored.schema import RESULTS, TRACES
from boundmark.reports.stored.store import ResultStore
from boundmark.reports.stored.supported import SupportedResults, supported_results
from boundmark.reports.text import count

UNSUPPORTED = "unsupported"


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


def views_of(store: ResultStore) -> Views:
    """Return the tables of a folder by name.

    `results` and `traces` have one row per task and per event, without the costs and bounds that no
    document supports, which are rows of `unsupported`. What a report has made of them,
    `tables/certified.parquet` and `tables/<problem>/methods.parquet`, is `certified` and
    `<problem>_methods`, unless they, rows or documents were changed since. Times are in UTC.

    Raises
    ------
    StoreError
        If a file cannot be read.
    """
    supported = supported_results(store)
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
        f"no document supports them: see the table {UNSUPPORTED}. The first is the "
        f"{first['column']} of task {first['task_id']} ({first['method']}): {first['reason']}."
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
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() == note.tables.get(name):
            found[_view_name(path.relative_to(folder))] = pq.read_table(pa.BufferReader(content))
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


@dataclass(frozen=True)
class Answer:
    """The answer to a query: names of columns, rows of values, and what tables leave out."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    notes: tuple[str, ...]


def query_folder(directory: Path, sql: str) -> Answer:
    """Return what an SQL query finds in the tables of a results folder.

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
    views = views_of(ResultStore.open(directory))
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


__all__ = ["Answer", "query_folder"]
