"""The history of runs in one Parquet file, for trends, and the section that draws it."""

import datetime as dt
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from boundmark.problems.errors import StoreError
from boundmark.reports.pages.page import Section
from boundmark.reports.plots import Plot, names_below
from boundmark.reports.plots import looks as looks_of
from boundmark.reports.problem_report import ProblemResults
from boundmark.reports.sections.page_tables import PageColumn, page_table
from boundmark.reports.stored.durable import make_folder, write_durably
from boundmark.reports.stored.parquet import as_frame, read_table
from boundmark.reports.tables.rows import rows
from boundmark.reports.text import MISSING, gap_percent, integer, natural_order

if TYPE_CHECKING:
    from matplotlib.axes import Axes


VERSION = b"1"
VERSION_KEY = b"boundmark_history"

# Name of the row with the best solution and the best bound of each instance.
BEST = "best of all"

HISTORY = pa.schema(
    [
        pa.field("run", pa.string(), nullable=False),
        pa.field("started_at", pa.timestamp("us", tz="UTC"), nullable=False),
        ("commit", pa.string()),
        ("solvers", pa.string()),
        ("suites", pa.string()),
        ("reference_seconds", pa.float64()),
        pa.field("problem", pa.string(), nullable=False),
        pa.field("method", pa.string(), nullable=False),
        ("instances", pa.int64()),
        ("solved", pa.int64()),
        ("mean_gap", pa.float64()),
        ("bounded", pa.int64()),
        ("mean_bound_gap", pa.float64()),
        ("optimal", pa.int64()),
        ("mean_seconds", pa.float64()),
        ("failed", pa.int64()),
    ],
    metadata={VERSION_KEY: VERSION},
)


def read_history(path: Path) -> pd.DataFrame:
    """Return the rows of a history by start; an empty table if the file does not exist."""
    if not path.exists():
        return as_frame(HISTORY.empty_table())
    try:
        table = read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise StoreError(
            f"{path} cannot be read as Parquet; expected a history of runs."
        ) from error
    if (table.schema.metadata or {}).get(VERSION_KEY) != VERSION or table.schema != HISTORY:
        raise StoreError(
            f"{path} is no history of version {VERSION.decode()}; expected a file that "
            "`boundmark report --history` wrote. Begin another one."
        )
    return _ordered(as_frame(table))


def add_to_history(path: Path, rows: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Add a run to a history, in place of its earlier rows, and return all rows."""
    known = read_history(path)
    added = as_frame(pa.Table.from_pylist(list(rows), HISTORY))
    whole = _ordered(pd.concat([known[~known["run"].isin(added["run"])], added]))
    table = pa.Table.from_pandas(whole, HISTORY, preserve_index=False)
    sink = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata(HISTORY.metadata), sink, compression="zstd")
    make_folder(path.parent)
    write_durably(path, sink.getvalue())
    return whole


def start_of(started: str) -> dt.datetime:
    """Return the time that a label's text states."""
    return dt.datetime.fromisoformat(started)


def _ordered(rows: pd.DataFrame) -> pd.DataFrame:
    by = ["started_at", "run", "problem", "method"]
    return rows.sort_values(by, kind="stable").reset_index(drop=True)


def draw_trend(data: pd.DataFrame, axes: "Axes", label: str) -> None:
    """Draw one line per method over the runs, evenly spaced and named below."""
    methods = natural_order(data["method"])
    for method, look in looks_of(methods).items():
        shown = data[data["method"] == method].sort_values("at")
        axes.plot(
            shown["at"], shown["value"], color=look.color, marker=look.marker,
            linestyle=look.linestyle, label=method,
        )  # fmt: skip
    names = data.drop_duplicates("at").sort_values("at")["run"].tolist()
    names_below(axes, names)
    axes.set(ylabel=label)


# Runs shown, the latest ones; the history keeps all.
MOST_RUNS = 30

NOTES = (
    "Mean gap: GM(UB/LB) - 1 of the best solution over the best certified bound, over the "
    "instances that have both. Reference: median CPU milliseconds of a computation that never "
    "changes, measured between the tasks: if it rises, the machine is slower.",
)


def trend_section(results: ProblemResults) -> Section | None:
    """Return the table of earlier runs and its plots; None without a history of this problem.

    Only runs of the same suites on as many instances are on the curves of the latest one.
    """
    history = results.history
    if history is None:
        return None
    own = history[history["problem"] == results.problem]
    best = own[own["method"] == BEST].tail(MOST_RUNS)
    if best.empty:
        return None
    last = best.iloc[-1]
    alike = best[(best["suites"] == last["suites"]) & (best["instances"] == last["instances"])]
    table = page_table("Runs", COLUMNS, [((), rows(best), "")], NOTES)
    names = {run: f"{at:%m-%d %H:%M}\n{commit}" for run, at, commit in _facts(alike)}
    plots = (
        _plot(own, names, "mean_gap", "trend_of_gaps", "Gap of solutions by run", "mean gap (%)"),
        _plot(
            own, names, "mean_bound_gap", "trend_of_bounds", "Gap of bounds by run",
            "best UB over LB, - 1 (%)",
        ),
        _plot(own, names, "mean_seconds", "trend_of_times", "Time by run", "mean seconds"),
    )  # fmt: skip
    return Section("Trends", (table,), plots)


def _facts(alike: pd.DataFrame) -> list[tuple[Any, Any, Any]]:
    return [(row.run, row.started_at, row.commit) for row in rows(alike)]


def _plot(
    own: pd.DataFrame, names: dict[str, str], column: str, name: str, title: str, label: str
) -> Plot:
    shown = own[own["run"].isin(names) & own[column].notna()]
    # A method that ran once has no trend.
    shown = shown[shown.groupby("method")["run"].transform("nunique") > 1]
    if column == "mean_bound_gap":
        shown = shown[shown["method"] != BEST]
    factor = 1.0 if column == "mean_seconds" else 100.0
    data = pd.DataFrame(
        {
            "run": shown["run"].map(names),
            "at": shown["run"].map({run: at for at, run in enumerate(names)}),
            "method": shown["method"],
            "value": factor * shown[column],
        }
    ).reset_index(drop=True)
    caption = (
        "Runs of the same suites on the same number of instances; methods with at least two runs."
    )
    return Plot(name, title, caption, data, partial(draw_trend, label=label), height=3.8)


def _reference(row: Any) -> str:
    seconds = row.reference_seconds
    return MISSING if pd.isna(seconds) else f"{1000 * seconds:.0f}"


COLUMNS = (
    PageColumn("run", lambda row: f"{row.started_at:%Y-%m-%d %H:%M}", is_text=True),
    PageColumn("commit", lambda row: row.commit, is_text=True),
    PageColumn("suites", lambda row: row.suites, is_text=True),
    PageColumn("n", lambda row: integer(row.instances)),
    PageColumn("mean gap (%)", lambda row: gap_percent(row.mean_gap)),
    PageColumn("optimal", lambda row: integer(row.optimal)),
    PageColumn("tasks not ok", lambda row: integer(row.failed)),
    PageColumn("reference", _reference),
)
