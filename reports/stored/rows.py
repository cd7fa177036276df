"""One task's row and trace as the content of Parquet files."""

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from boundmark.problems.errors import StoreError
from boundmark.reports.stored.schema import RESULTS, TRACES, VERSION
from boundmark.reports.stored.statuses import STATUSES, TRACE_KINDS


def result_shard(row: Mapping[str, Any]) -> Any:
    """Return a task's row as a file with the columns of `schema.RESULTS`.

    Raises
    ------
    StoreError
        If a column is unknown, or a value does not fit its column.
    """
    if row.get("status") not in STATUSES:
        raise StoreError(
            f"status of task {row.get('task_id')!r} is {row.get('status')!r}; "
            f"expected one of {', '.join(STATUSES)}."
        )
    return _shard(_table([{**row, "started_at": _time(row)}], RESULTS))


def trace_shard(task_id: Any, trace: Sequence[Mapping[str, Any]]) -> Any:
    """Return what a task reported as a file with the columns of `schema.TRACES`.

    Raises
    ------
    StoreError
        If a column or kind is unknown, or a value does not fit its column.
    """
    events = [{"task_id": task_id, **event} for event in trace]
    for event in events:
        if event.get("kind") not in TRACE_KINDS:
            raise StoreError(
                f"kind of a trace event of task {task_id!r} is {event.get('kind')!r}; "
                f"expected one of {', '.join(TRACE_KINDS)}."
            )
    return _shard(_table(events, TRACES))


def _time(row: Mapping[str, Any]) -> dt.datetime:
    value = row.get("started_at")
    try:
        time = dt.datetime.fromisoformat(value) if isinstance(value, str) else value
        if isinstance(time, dt.datetime) and time.tzinfo is not None:
            return time
    except ValueError:
        pass
    raise StoreError(f"started_at is {value!r}; expected a time with its zone.")


def _table(rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    names = set(schema.names)
    for row in rows:
        for name in row:
            if name not in names:
                raise StoreError(f"{name!r} is no column of schema version {VERSION}.")
    arrays = []
    for field in schema:
        values = [row.get(field.name) for row in rows]
        if not field.nullable and None in values:
            raise StoreError(f"column {field.name!r} is missing; expected a {field.type}.")
        try:
            arrays.append(pa.array(values, field.type))
        except (pa.ArrowException, ValueError, OverflowError, TypeError) as error:
            raise StoreError(
                f"column {field.name!r} does not take {values!r:.200}; expected {field.type}."
            ) from error
    return pa.Table.from_arrays(arrays, schema=schema)


def _shard(table: pa.Table) -> Any:
    # One row: compression, dictionaries and statistics only cost time.
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="none", use_dictionary=False, write_statistics=False)
    return sink.getvalue()
