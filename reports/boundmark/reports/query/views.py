"""The tables of a results folder by the names that queries know them by."""

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from boundmark.problems.errors import StoreError
from boundmark.reports.stored.schema import RESULTS, TRACES
from boundmark.reports.stored.store import ResultStore


def views_of(store: ResultStore) -> dict[str, Any]:
    """Return the tables of a folder by name.

    `results` and `traces` have one row per task and per event. What a report has made of them,
    `tables/certified.parquet` and `tables/<problem>/methods.parquet`, is `certified` and
    `<problem>_methods`. Times are in UTC.

    Raises
    ------
    StoreError
        If a file cannot be read.
    """
    results = pa.Table.from_pandas(store.results(), RESULTS, preserve_index=False)
    at = results.schema.get_field_index("started_at")
    # DuckDB needs another package to return times with a zone.
    start = results.column(at).cast(pa.timestamp("us"))
    views: dict[str, Any] = {
        "results": results.set_column(at, "started_at", start),
        "traces": pa.Table.from_pandas(store.traces(), TRACES, preserve_index=False),
    }
    folder = store.directory / "tables"
    for path in sorted(folder.rglob("*.parquet")):
        name = _view_name(path.relative_to(folder))
        if name in views or path.name.startswith("."):
            continue
        try:
            views[name] = ds.dataset(path, format="parquet")
        except (OSError, pa.ArrowException) as error:
            raise StoreError(
                f"{path} cannot be read as Parquet; expected a file that `boundmark report` wrote."
            ) from error
    return views


def _view_name(path: Path) -> str:
    """Return a name that SQL takes without quotes."""
    return re.sub(r"\W", "_", str(path.with_suffix("")).replace("/", "_"), flags=re.ASCII)
