"""Merge results folders of several hosts or times into one."""

import hashlib
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from boundmark.problems.errors import StoreError
from boundmark.problems.files import RefusedFileError, decompressed, read_regular
from boundmark.reports.stored.durable import PARTIAL_SUFFIX
from boundmark.reports.stored.store import ResultStore
from boundmark.reports.stored.verified_results import supported_results
from boundmark.reports.tables.rows import are_same
from boundmark.reports.tables.tasks import certified_table
from boundmark.reports.text import MISSING

# What a task found. Rows that agree in these columns are duplicates, whatever their times.
FACTS = ("status", "objective", "bound_certified", "bound_claimed")


@dataclass(frozen=True)
class Conflict:
    """A task whose rows in two folders differ.

    Attributes
    ----------
    task
        Its name in words, with its identifier.
    kept, left
        What the row that is kept says, and what the other one does, in words.
    """

    task: str
    kept: str
    left: str

    @property
    def sentence(self) -> str:
        """The conflict in one line."""
        return f"{self.task}: kept {self.kept}, not {self.left}"


@dataclass(frozen=True)
class ChosenRows:
    """One row per task.

    Attributes
    ----------
    rows
        Columns of `schema.RESULTS`, and `source`, the place of the row's folder among all.
    duplicates
        Number of rows that say what a kept one says.
    """

    rows: pd.DataFrame
    duplicates: int
    conflicts: tuple[Conflict, ...]


def choose_rows(parts: Sequence[tuple[Path, pd.DataFrame, Collection[str]]]) -> ChosenRows:
    """Return one row per task: of several, one with its documents, that ended ok, the latest."""
    rows = pd.concat(
        [
            part.assign(
                source=at,
                has_documents=~part["task_id"].isin(list(unsupported)),
                ended_ok=part["status"] == "ok",
            )
            for at, (_, part, unsupported) in enumerate(parts)
        ],
        ignore_index=True,
    )
    by = ["task_id", "has_documents", "ended_ok", "started_at", "source"]
    ordered = rows.sort_values(by, kind="stable").drop(columns=["has_documents", "ended_ok"])
    kept = ordered.drop_duplicates("task_id", keep="last")
    others = ordered.drop(kept.index)
    by_task = kept.set_index("task_id")
    paths = [path for path, *_ in parts]
    conflicts, duplicates = [], 0
    for row in others.to_dict("records"):
        winner = by_task.loc[row["task_id"]].to_dict()
        if all(are_same(row[name], winner[name]) for name in FACTS):
            duplicates += 1
        else:
            conflicts.append(Conflict(_task(row), _said(winner, paths), _said(row, paths)))
    return ChosenRows(kept.reset_index(drop=True), duplicates, tuple(conflicts))


def _task(row: Mapping[Any, Any]) -> str:
    seed = "" if pd.isna(row["seed"]) else f", seed {row['seed']}"
    return (
        f"{row['problem']} {row['dataset']}/{row['instance']} {row['instance_params']}, "
        f"{row['method']}{seed} (task {row['task_id']})"
    )


def _said(row: Mapping[Any, Any], paths: Sequence[Path]) -> str:
    values = [
        f"{word} {MISSING if pd.isna(row[name]) else row[name]}"
        for word, name in (("cost", "objective"), ("bound", "bound_certified"))
    ]
    claim = [] if pd.isna(row["bound_claimed"]) else [f"claim {row['bound_claimed']}"]
    host = "" if pd.isna(row["host"]) else f" of {row['host']}"
    said = ", ".join([str(row["status"]), *values, *claim])
    return f"{said}{host} in {paths[row['source']]}"


# Folders whose files are named after the hash of their content, and those whose files are not.
BY_HASH = ("instances", "solutions", "certificates")
BY_NAME = ("labels", "environments", "machine")


def copy_documents(source: Path, target: Path) -> dict[str, str]:
    """Copy the documents that a results folder lacks from another one."""
    left = {}
    for folder in (*BY_HASH, *BY_NAME):
        (target / folder).mkdir(exist_ok=True)
        for path in sorted((source / folder).glob("*.json*")):
            copy = target / folder / path.name
            if path.name.startswith(".") or path.is_dir():
                continue
            if copy.exists() and folder != "machine":
                continue
            try:
                content = read_regular(path)
                digest = _hash_of(path, content) if folder in BY_HASH else None
            except OSError as error:
                left[f"{folder}/{path.name}"] = str(error.strerror)
                continue
            if digest not in (None, path.name.partition(".")[0]):
                left[f"{folder}/{path.name}"] = "it was changed"
                continue
            if folder == "machine":
                copy = _unused(copy, content)
            copy.write_bytes(content)
    return left


def _unused(path: Path, content: bytes) -> Path:
    """Return a path that is free or has this content: hosts may name their files alike."""
    number, found = 2, path
    while found.exists() and found.read_bytes() != content:
        found = path.with_name(f"{path.stem}-{number}{path.suffix}")
        number += 1
    return found


def _hash_of(path: Path, content: bytes) -> str:
    """Return the hash that should name a file with this content, compressed or not."""
    shown = decompressed(content) if path.suffix == ".gz" else content
    return hashlib.sha256(shown).hexdigest()


@dataclass(frozen=True)
class Merged:
    """The result of a merge: rows taken from the folders, and rows left out.

    Attributes
    ----------
    tasks
        Number of tasks in the folder that was made.
    duplicates
        Number of rows that said what another one of the same task says.
    conflicts
        Tasks of which two folders said different things.
    left_files
        Why documents were not copied, by their path.
    unsupported
        Costs and bounds that no document supports, see `supported_results`.
    """

    tasks: int
    duplicates: int
    conflicts: tuple[Conflict, ...]
    left_files: Mapping[str, str]
    unsupported: pd.DataFrame


def merge_folders(sources: Sequence[Path], target: Path) -> Merged:
    """Merge several results folders into a new one.

    A task that several folders have is there once: of its rows, one whose costs and bounds have
    their documents, of those one that ended ok, and of those the latest. The folder appears when it
    is complete.
    """
    if not target.name:
        raise StoreError(f"{target} cannot be made; expected a folder with a name.")
    if len(set(map(Path.resolve, sources))) < len(sources):
        raise StoreError("a folder is given twice; expected folders of different runs.")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise StoreError(f"{target} is in use; expected a folder that is empty or not there.")
    stores = [ResultStore.open(path) for path in sources]
    chosen = choose_rows(
        [
            (path, store.results(), set(supported_results(store).unsupported["task_id"]))
            for path, store in zip(sources, stores, strict=True)
        ]
    )
    if chosen.rows.empty:
        raise StoreError(
            f"{', '.join(map(str, sources))} hold no results; expected at least one finished task."
        )
    part = target.with_name(f".{target.name}{PARTIAL_SUFFIX}")
    try:
        if part.exists():
            shutil.rmtree(part)
        part.mkdir(parents=True)
        merged = _fill(part, stores, chosen)
        if target.exists():
            target.rmdir()
        part.rename(target)
    except OSError as error:
        raise StoreError(f"{target} cannot be written: {error.strerror}.") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return merged


def _fill(part: Path, stores: Sequence[ResultStore], chosen: ChosenRows) -> Merged:
    """Write the new folder, and check that its costs and bounds go together."""
    left = {
        f"{store.directory}/{name}": reason
        for store in stores
        for name, reason in copy_documents(store.directory, part).items()
    }
    newest = stores[int(chosen.rows.sort_values("started_at", kind="stable")["source"].iloc[-1])]
    try:
        (part / newest.environment.name).write_bytes(read_regular(newest.environment))
    except FileNotFoundError:
        pass
    except RefusedFileError as error:
        left[str(newest.environment)] = str(error)
    target = ResultStore.create_or_open(part)
    target.put(chosen.rows.drop(columns="source"), _traces(stores, chosen.rows))
    supported = supported_results(target)
    # Refuses what contradicts itself.
    certified_table(supported.results)
    return Merged(
        len(chosen.rows), chosen.duplicates, chosen.conflicts, left, supported.unsupported
    )


def _traces(stores: Sequence[ResultStore], rows: pd.DataFrame) -> pd.DataFrame:
    """Return the trace of each task, from the folder whose row is kept."""
    parts = []
    for at, store in enumerate(stores):
        traces = store.traces()
        parts.append(traces[traces["task_id"].isin(rows.loc[rows["source"] == at, "task_id"])])
    return pd.concat(parts, ignore_index=True)


__all__ = ["Merged", "merge_folders"]
