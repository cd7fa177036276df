"""The tables of a results folder by the names that queries know them by."""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from boundmark.problems.regular_file import read_regular
from boundmark.reports.dictionary.described import described
from boundmark.reports.stored.checked_results import Checks, checked_results, ignore
from boundmark.reports.stored.limited_tables import table_of
from boundmark.reports.stored.made_from import read_note, rows_digest
from boundmark.reports.stored.schema import RESULTS, TRACES
from boundmark.reports.stored.store import ResultStore
from boundmark.reports.stored.supported import SupportedResults
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
