"""Results folders altered by hand such that they state something their documents do not support."""

import json
import random
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from boundmark.benchmarks.running.execution.task import Task
from boundmark.reports.stored.schema import RESULTS, TRACES

DOCUMENTS = {
    "instance_sha256": "instances",
    "solution_sha256": "solutions",
    "certificate_sha256": "certificates",
}
VALUES = {"solution_sha256": "objective", "certificate_sha256": "bound_certified"}


def read_rows(folder: Path, schema: pa.Schema = RESULTS, kind: str = "results") -> pd.DataFrame:
    """Return all rows of a finished run's folder."""
    table = pq.read_table(folder / kind / "merged.parquet", schema=schema)
    return table.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)


def write_rows(
    folder: Path, rows: pd.DataFrame, schema: pa.Schema = RESULTS, kind: str = "results"
) -> None:
    """Replace all rows of a folder."""
    table = pa.Table.from_pandas(rows, schema=schema, preserve_index=False)
    pq.write_table(table.replace_schema_metadata(schema.metadata), folder / kind / "merged.parquet")


def copy_folder(source: Path, target: Path) -> None:
    """Copy a results folder; documents are linked, since alterations replace or remove them."""
    shutil.copytree(source, target, copy_function=_link_or_copy)


def _link_or_copy(source: str, target: str) -> None:
    if source.endswith((".json", ".json.gz")):
        Path(target).hardlink_to(source)
    else:
        shutil.copy2(source, target)


def _some_row(rows: pd.DataFrame, column: str, dice: random.Random) -> int:
    return dice.choice(rows.index[rows[column].notna()].tolist())


def _null(folder: Path, dice: random.Random) -> str:
    rows = read_rows(folder)
    column = dice.choice([*VALUES, *VALUES.values(), "bound_kind", "nodes", "edges"])
    row = _some_row(rows, column, dice)
    rows.loc[row, column] = None
    write_rows(folder, rows)
    return f"{column} of row {row}"


def _value(folder: Path, dice: random.Random) -> str:
    rows = read_rows(folder)
    column = dice.choice(["objective", "bound_certified", "nodes", "edges", "seed", "threads"])
    row = _some_row(rows, column, dice)
    rows.loc[row, column] += dice.choice([-1, 1, 1000])
    write_rows(folder, rows)
    return f"{column} of row {row}"


def _bound_to_objective(folder: Path, dice: random.Random) -> str:
    rows = read_rows(folder)
    best = rows.groupby("instance_sha256")["objective"].transform("min")
    wrong = rows.index[rows["bound_certified"].notna() & (rows["bound_certified"] != best)]
    row = dice.choice(wrong.tolist())
    rows.loc[row, "bound_certified"] = best[row]
    write_rows(folder, rows)
    return f"row {row}"


def _swapped_hashes(folder: Path, dice: random.Random) -> str:
    rows = read_rows(folder)
    column = dice.choice(list(DOCUMENTS))
    one = _some_row(rows, column, dice)
    # Two solutions of one instance with one cost support each other's row.
    facts = rows[["instance_sha256", *([VALUES[column]] if column in VALUES else [])]]
    is_other = rows[column].notna() & (facts != facts.loc[one]).any(axis=1)
    other = dice.choice(rows.index[is_other].tolist())
    rows.loc[[one, other], column] = rows.loc[[other, one], column].to_numpy()
    write_rows(folder, rows)
    return f"{column} of rows {one} and {other}"


def _foreign_hash(folder: Path, dice: random.Random) -> str:
    rows = read_rows(folder)
    column = dice.choice(list(DOCUMENTS))
    row = _some_row(rows, column, dice)
    rows.loc[row, column] = dice.choice(["0" * 64, "../../etc/passwd", "", "A" * 64, "\x1b[31m"])
    write_rows(folder, rows)
    return f"{column} of row {row}"


def _text(folder: Path, dice: random.Random) -> str:
    rows = read_rows(folder)
    column, text = dice.choice(
        [
            ("status", "fine"),
            ("bound_kind", "proof/1"),
            ("problem", "packing"),
            ("method", "oracle"),
            ("params", "{"),
            ("instance_params", '{"k": 1000}'),
            ("task_id", "0" * 64),
        ]
    )
    row = _some_row(rows, column, dice)
    rows.loc[row, column] = text
    write_rows(folder, rows)
    return f"{column} of row {row}"


def _removed_file(folder: Path, dice: random.Random) -> str:
    column = dice.choice(list(DOCUMENTS))
    digest = read_rows(folder)[column].dropna().sample(random_state=dice.randrange(2**32)).iloc[0]
    path = folder / DOCUMENTS[column] / f"{digest}.json"
    path.unlink()
    return path.name


def _swapped_files(folder: Path, dice: random.Random) -> str:
    kind = dice.choice(list(DOCUMENTS.values()))
    one, other = dice.sample(sorted((folder / kind).glob("*.json")), 2)
    text = one.read_bytes()
    one.unlink()
    one.write_bytes(other.read_bytes())
    other.unlink()
    other.write_bytes(text)
    return f"{one.name} and {other.name}"


def _changed_file(folder: Path, dice: random.Random) -> str:
    kind = dice.choice(list(DOCUMENTS.values()))
    path = dice.choice(sorted((folder / kind).glob("*.json")))
    text = path.read_text()
    at = dice.choice([i for i, letter in enumerate(text) if letter.isdigit()])
    path.unlink()
    path.write_text(text[:at] + str((int(text[at]) + dice.randint(1, 9)) % 10) + text[at + 1 :])
    return f"{path.name} at {at}"


def _trace(folder: Path, dice: random.Random) -> str:
    events = read_rows(folder, TRACES, "traces")
    event = dice.choice(events.index.tolist())
    better = -1 if events.loc[event, "kind"] == "solution" else 1
    final = events.loc[events["task_id"] == events.loc[event, "task_id"], "value"]
    events.loc[event, "value"] = (final.min() if better < 0 else final.max()) + better
    write_rows(folder, events, TRACES, "traces")
    return f"event {event}"


def _swapped_methods(folder: Path, dice: random.Random) -> str:
    """Give what two methods found to each other, traces included; everything else still fits."""
    rows = read_rows(folder)
    column = dice.choice(list(VALUES))
    one = _some_row(rows, column, dice)
    is_other = rows[column].notna() & (rows["method"] != rows.loc[one, "method"])
    other = dice.choice(rows.index[is_other].tolist())
    who = ["method", "method_kind", "method_version", "params"]
    rows.loc[[one, other], who] = rows.loc[[other, one], who].to_numpy()
    events = read_rows(folder, TRACES, "traces")
    renamed = {rows.loc[at, "task_id"]: identified(rows.loc[at]) for at in (one, other)}
    rows["task_id"] = rows["task_id"].replace(renamed)
    write_rows(folder, rows)
    events["task_id"] = events["task_id"].replace(renamed)
    write_rows(folder, events, TRACES, "traces")
    return f"{column} of rows {one} and {other}"


def identified(row: "pd.Series[Any]") -> str:
    """Return the identity of the task that a row describes."""
    return Task(
        params=json.loads(row["params"]),
        **{name: row[name] for name in ("instance_sha256", "problem", "method")},
        **{
            name: int(row[name])
            for name in ("method_version", "seed", "memory_limit_bytes", "threads")
        },
        time_limit_seconds=float(row["time_limit_seconds"]),
    ).task_id


ALTERATIONS: Mapping[str, Callable[[Path, random.Random], str]] = {
    "null": _null,
    "value": _value,
    "bound set to the best objective": _bound_to_objective,
    "swapped hashes": _swapped_hashes,
    "foreign hash": _foreign_hash,
    "text": _text,
    "removed file": _removed_file,
    "swapped files": _swapped_files,
    "changed file": _changed_file,
    "trace": _trace,
    "swapped methods": _swapped_methods,
}
