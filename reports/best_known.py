"""Records of the best known cost and bound of each instance, and who found them when.

An instance is known by its hash. Records are the library's entries, which come with the package;
their solutions and certificates are in the library, and a record has the hashes of these.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd
import pyarrow as pa

from boundmark.reports.pages.page import Cell, Section, Table
from boundmark.reports.sections.page_tables import PageColumn, page_table
from boundmark.reports.stored.parquet import as_frame
from boundmark.reports.tables.rows import are_same, best_rows
from boundmark.reports.tables.rows import rows as rows_of
from boundmark.reports.tables.tasks import distinct_labels
from boundmark.reports.text import count, integer

# One row per instance, in the order of `SORTED`.
BestKnown: TypeAlias = pd.DataFrame

SORTED = ["problem", "dataset", "instance", "device", "instance_params", "instance_sha256"]

_INSTANCE = ("instance_sha256", "problem", "dataset", "instance", "device", "instance_params")

_FACTS = ("method", "date")

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
    ]
)


@dataclass(frozen=True)
class Improvements:
    """A comparison of results with the best known ones of the same instances.

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


@cache
def shipped() -> BestKnown:
    """Return the records of the library's entries, which packages come with, too."""
    # In a checkout as in a package, `library` is beside the folder of this layer.
    path = Path(__file__).resolve().parents[1] / "library" / "entries.jsonl"
    entries = map(json.loads, path.read_text().splitlines())
    rows = [one | {"instance_params": json.dumps(one["parameters"])} for one in entries]
    return _ordered(as_frame(pa.Table.from_pylist(rows, schema=SCHEMA)))


def of_results(results: pd.DataFrame) -> BestKnown:
    """Return the records that follow from a folder's results."""
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
        records[f"{value}_date"] = best["started_at"].dt.strftime("%Y-%m-%d")
    return _ordered(records.reset_index())


def with_best_known(certified: pd.DataFrame, known: BestKnown) -> pd.DataFrame:
    """Return the certified table with the best known bound of each instance, and the gap to it.

    That is the folder's own bound where the record is not higher. Records have no documents here,
    so they enter no other column.
    """
    recorded = certified["instance_sha256"].map(known.set_index("instance_sha256")["bound"])
    both = pd.DataFrame({"own": certified["bound"], "recorded": recorded.astype("Int64")})
    bound = both.astype("Int64").max(axis=1).astype("Int64")
    ratio = certified["objective"].astype("float64") / bound.where(bound > 0).astype("float64")
    gap = ratio.where(certified["objective"] != bound, 1.0) - 1
    return certified.assign(best_known_bound=bound, gap_to_best_known=gap)


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
    """Return the section that compares with the best known results; None without records."""
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
        PageColumn("best known cost", lambda row: integer(row.objective_known)),
        PageColumn("bound", lambda row: _cell(row.bound, row.bound_known, -1)),
        PageColumn("best known bound", lambda row: integer(row.bound_known)),
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
