"""Records of the best known cost and bound of each instance, and who found them when.

An instance is known by its hash. Records that come with the package are those of the library; their
solutions and certificates are there, others stay in the results folder that they come from. A
record has their hashes.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from boundmark.problems.errors import StoreError
from boundmark.reports.pages.page import Cell, Section, Table
from boundmark.reports.sections.page_tables import PageColumn, page_table
from boundmark.reports.stored.durable import write_durably
from boundmark.reports.stored.parquet import as_frame, read_table
from boundmark.reports.tables.rows import are_same, best_rows
from boundmark.reports.tables.rows import rows as rows_of
from boundmark.reports.tables.tasks import distinct_labels
from boundmark.reports.text import count, integer

VERSION_KEY = b"boundmark_best_known"
VERSION = b"1"

# One row per instance, in the order of `SORTED`.
BestKnown: TypeAlias = pd.DataFrame

SORTED = ["problem", "dataset", "instance", "device", "instance_params", "instance_sha256"]

_INSTANCE = ("instance_sha256", "problem", "dataset", "instance", "device", "instance_params")

_FACTS = ("method", "version", "date")

SCHEMA = pa.schema(
    [
        *(pa.field(name, pa.string()) for name in _INSTANCE),
        pa.field("nodes", pa.int64()),
        pa.field("edges", pa.int64()),
        pa.field("objective", pa.int64()),
        pa.field("solution_sha256", pa.string()),
        *(pa.field(f"objective_{name}", pa.string()) for name in _FACTS),
        pa.field("bound", pa.int64()),
        pa.field("certificate_sha256", pa.string()),
        *(pa.field(f"bound_{name}", pa.string()) for name in _FACTS),
    ],
    metadata={VERSION_KEY: VERSION},
)


@dataclass(frozen=True)
class Improvements:
    """How results compare with the best known ones of the same instances.

    Attributes
    ----------
    known
        Number of instances with results that there was a record of.
    solutions, bounds
        Those of them with a lower cost, or a higher bound, than recorded.
    added
        Number of instances that there was no record of.
    """

    known: int
    solutions: tuple[str, ...]
    bounds: tuple[str, ...]
    added: int

    @property
    def sentence(self) -> str:
        """A sentence on results that are better than the best known; empty if there are none."""
        found = [
            f"{count(len(names), what)} ({', '.join(names[:3])}{', ...' * (len(names) > 3)})"
            for names, what in ((self.solutions, "solution"), (self.bounds, "bound"))
            if names
        ]
        verb = "is" if len(self.solutions) + len(self.bounds) == 1 else "are"
        return f"{' and '.join(found)} {verb} better than the best known." if found else ""


def read_records(path: Path) -> BestKnown:
    """Read records; there are none in a file that does not exist.

    Raises
    ------
    StoreError
        If the file is damaged, or of another version.
    """
    if not path.exists():
        return as_frame(SCHEMA.empty_table())
    try:
        table = read_table(path)
        names = table.schema.names
    except (OSError, pa.ArrowException) as error:
        raise StoreError(f"{path} cannot be read as Parquet: {error}.") from error
    found = (table.schema.metadata or {}).get(VERSION_KEY)
    if found != VERSION or names != SCHEMA.names:
        raise StoreError(
            f"{path} holds no records of version {VERSION.decode()}; another version of boundmark "
            "wrote it, or something else."
        )
    try:
        return as_frame(table.cast(SCHEMA))
    except (ValueError, pa.ArrowException) as error:
        raise StoreError(f"{path} has a column of another type: {error}.") from error


def write_records(path: Path, records: BestKnown) -> None:
    """Create or replace a file of records.

    Raises
    ------
    StoreError
        If it cannot be written.
    """
    table = pa.Table.from_pandas(records, schema=SCHEMA, preserve_index=False)
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", store_schema=True)
    write_durably(path, sink.getvalue())


# The library's entries, a line of JSON each; `hatch_build.py` makes it for packages.
LIBRARY_RECORDS = "library_records.jsonl"


@cache
def library_entries() -> tuple[Mapping[str, Any], ...]:
    """Return the entries of the checkout's library, or in a package those it was built with."""
    # In a checkout, this folder and the library are side by side.
    beside = Path(__file__).resolve().parents[1] / "library"
    if (beside / "library.toml").is_file():
        texts = [path.read_text() for path in sorted(beside.glob("*/*.json"))]
    else:
        texts = (files(__package__) / LIBRARY_RECORDS).read_text().splitlines()
    return tuple(json.loads(text) for text in texts)


@cache
def shipped() -> BestKnown:
    """Return the records that follow from the library.

    Where a better bound is kept as a recipe, since its certificate is too large, it is the record.
    """
    rows = []
    for entry in library_entries():
        bounds = [entry[name] for name in ("bound", "beyond") if entry[name]]
        best = max(bounds, key=lambda one: int(one["value"]), default=None)
        row = {name: entry[name] for name in ("nodes", "edges", *_INSTANCE) if name in entry}
        row["instance_params"] = json.dumps(entry["parameters"])
        for value, digest, found in (
            ("objective", "solution_sha256", entry["solution"]),
            ("bound", "certificate_sha256", best),
        ):
            if found:
                row[value], row[digest] = found["value"], found["sha256"]
                facts = (found["method"], found["boundmark"], found["date"])
                row |= {f"{value}_{name}": fact for name, fact in zip(_FACTS, facts, strict=True)}
        rows.append(row)
    return _ordered(as_frame(pa.Table.from_pylist(rows, schema=SCHEMA)))


def of_results(results: pd.DataFrame) -> BestKnown:
    """Return the records that follow from a folder's results.

    Parameters
    ----------
    results
        As `verified_results` returns them.
    """
    ours = version("boundmark")
    rows = results.assign(device=results["device"].fillna(""))
    records = rows.drop_duplicates("instance_sha256").set_index("instance_sha256")
    records = records[[*_INSTANCE[1:], "nodes", "edges"]]
    for value, column, digest, highest in (
        ("objective", "objective", "solution_sha256", False),
        ("bound", "bound_certified", "certificate_sha256", True),
    ):
        best = best_rows(rows, column, highest=highest).set_index("instance_sha256")
        records[value] = best[column]
        records[digest] = best[digest]
        records[f"{value}_method"] = best["method"]
        records[f"{value}_version"] = pd.Series(ours, index=best.index)
        records[f"{value}_date"] = best["started_at"].dt.strftime("%Y-%m-%d")
    return _ordered(records.reset_index())


def merged(known: BestKnown, found: BestKnown) -> BestKnown:
    """Return the better of two records of each instance; of equal values, the one known.

    Raises
    ------
    StoreError
        If a cost is below a bound, so that one of the two is wrong.
    """
    both = pd.concat([known, found], ignore_index=True)
    best = both.drop_duplicates("instance_sha256").set_index("instance_sha256")
    for value, digest, ascending in (
        ("objective", "solution_sha256", True),
        ("bound", "certificate_sha256", False),
    ):
        columns = [value, digest, *(f"{value}_{name}" for name in _FACTS)]
        having = both[both[value].notna()].sort_values(value, ascending=ascending, kind="stable")
        chosen = having.drop_duplicates("instance_sha256").set_index("instance_sha256")[columns]
        best = best.drop(columns=columns).join(chosen)
    wrong = best[(best["objective"] < best["bound"]).fillna(False).astype(bool)]
    if len(wrong):
        row = wrong.iloc[0]
        raise StoreError(
            f"instance {row['dataset']}/{row['instance']} {row['instance_params']}: a cost of "
            f"{row['objective']} ({row['objective_method']}) is below a bound of {row['bound']} "
            f"({row['bound_method']}); one of the two is wrong, so nothing is recorded."
        )
    return _ordered(best.reset_index())


def improvements(known: BestKnown, found: BestKnown) -> Improvements:
    """Compare results with the best known ones."""
    pairs = found.merge(known, on="instance_sha256", suffixes=("", "_known"))
    return Improvements(
        known=len(pairs),
        solutions=_names(pairs[_is_better(pairs["objective"], pairs["objective_known"])]),
        bounds=_names(pairs[_is_better(-pairs["bound"], -pairs["bound_known"])]),
        added=len(found) - len(pairs),
    )


def _is_better(own: "pd.Series[Any]", known: "pd.Series[Any]") -> "pd.Series[bool]":
    """Whether a cost is lower than the known one, or is the first known."""
    return (own < known).fillna(own.notna() & known.isna()).astype(bool)


def _names(rows: pd.DataFrame) -> tuple[str, ...]:
    labels = rows["dataset"] + "/" + rows["instance"] + " " + rows["instance_params"].map(in_words)
    return tuple(distinct_labels(labels, rows["instance_sha256"]).tolist())


def in_words(instance_params: str) -> str:
    """Return an instance's parameters, stored as JSON, in the form k=4."""
    return " ".join(f"{name}={value}" for name, value in json.loads(instance_params).items())


def _ordered(records: pd.DataFrame) -> BestKnown:
    ordered = records.sort_values(SORTED, kind="stable").reset_index(drop=True)
    table = pa.Table.from_pandas(ordered[SCHEMA.names], schema=SCHEMA, preserve_index=False)
    return as_frame(table)


def best_known_section(known: BestKnown, found: BestKnown) -> Section | None:
    """Return the section that compares with the best known results; None without records.

    Parameters
    ----------
    known
        The records that come with the package.
    found
        What the folder's results amount to.
    """
    pairs = found.merge(known, on="instance_sha256", suffixes=("", "_known"))
    if pairs.empty:
        return None
    better = improvements(known, found)
    cost, bound = ("objective", "objective_known"), ("bound", "bound_known")
    sentences = [
        "Records of the best known costs and bounds come with the package. They were verified "
        "when they were found, and name solutions and certificates by hash, without these files. "
        "So records are not re-checked here, and enter no gap.",
        f"There are records of {count(better.known, 'instance')} of {len(found):,}.",
        f"This folder has the best known cost on {_equal(pairs, *cost)} of them, and the best "
        f"known bound on {_equal(pairs, *bound)}.",
        better.sentence,
    ]
    rows = [row for row in rows_of(pairs) if not _agrees(row)]
    tables = (_table(rows),) if rows else ()
    return Section("Best known", tables, paragraphs=(" ".join(filter(None, sentences)),))


def _equal(pairs: pd.DataFrame, one: str, other: str) -> int:
    return int((pairs[one] == pairs[other]).fillna(False).sum())


def _agrees(row: Any) -> bool:
    return are_same(row.objective, row.objective_known) and are_same(row.bound, row.bound_known)


def _table(rows: Sequence[Any]) -> Table:
    columns = (
        PageColumn("instance", lambda row: f"{row.dataset}/{row.instance}", is_text=True),
        PageColumn("parameters", lambda row: in_words(row.instance_params), is_text=True),
        PageColumn("cost", lambda row: _cell(row.objective, row.objective_known, 1)),
        PageColumn("best known", lambda row: integer(row.objective_known)),
        PageColumn("bound", lambda row: _cell(row.bound, row.bound_known, -1)),
        PageColumn("best known", lambda row: integer(row.bound_known)),
        PageColumn("found by", _credit, is_text=True),
    )
    notes = (
        "Costs and bounds are in ticks. The last column names the methods that found the record's "
        "cost and bound, and the days.",
    )
    title = "Results that differ from the best known"
    return page_table(title, columns, [((), rows, "")], notes)


def _cell(own: Any, known: Any, sign: int) -> Cell:
    """Return a cost (sign 1) or a bound (sign -1), marked where it is better than the known one."""
    is_better = not pd.isna(own) and (pd.isna(known) or sign * own < sign * known)
    return Cell(integer(own), best=bool(is_better))


def _credit(row: Any) -> str:
    found = [
        f"{method} ({date})"
        for method, date in (
            (row.objective_method_known, row.objective_date_known),
            (row.bound_method_known, row.bound_date_known),
        )
        if isinstance(method, str)
    ]
    return "; ".join(found)
