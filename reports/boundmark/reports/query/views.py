"""The tables of a results folder by the names that queries know them by."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds

from boundmark.problems.errors import StoreError
from boundmark.reports.dictionary.described import described
from boundmark.reports.stored.schema import RESULTS, TRACES
from boundmark.reports.stored.store import ResultStore
from boundmark.reports.stored.supported import supported_results
from boundmark.reports.text.number_text import count

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
    `<problem>_methods`, unless documents went missing since. Times are in UTC.

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
    reported = _tables(store.directory / "tables")
    notes: tuple[str, ...] = ()
    if len(supported.unsupported):
        notes = (_left_out(supported.unsupported),)
        if reported and not _named(supported.unsupported) <= _told(reported.get(UNSUPPORTED)):
            reported = {}
            notes += (
                "Tables of the report are left out too, since it is older than that; "
                f"`boundmark report {store.directory}` makes a new one.",
            )
    return Views({**reported, **own}, notes)


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


def _told(reported: ds.Dataset | None) -> set[tuple[str, str]]:
    """Return the values that a report left out as unsupported."""
    return set() if reported is None else _named(reported.to_table().to_pandas())


def _named(unsupported: pd.DataFrame) -> set[tuple[str, str]]:
    return set(zip(unsupported["task_id"], unsupported["column"], strict=True))


def _tables(folder: Path) -> dict[str, Any]:
    """Return the tables that reports have made, by name."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*.parquet")):
        if path.name.startswith("."):
            continue
        try:
            found[_view_name(path.relative_to(folder))] = ds.dataset(path, format="parquet")
        except (OSError, pa.ArrowException) as error:
            raise StoreError(
                f"{path} cannot be read as Parquet; expected a file that `boundmark report` wrote."
            ) from error
    return found


def _view_name(path: Path) -> str:
    """Return a name that SQL takes without quotes."""
    return re.sub(r"\W", "_", str(path.with_suffix("")).replace("/", "_"), flags=re.ASCII)
