"""Makes one results folder of several."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from boundmark.problems.errors import StoreError
from boundmark.problems.regular_file import RefusedFileError, read_regular
from boundmark.reports.merging.conflicts import ChosenRows, Conflict, choose_rows
from boundmark.reports.merging.copied_files import copy_documents
from boundmark.reports.stored.durable import PARTIAL_SUFFIX
from boundmark.reports.stored.store import ResultStore
from boundmark.reports.stored.supported import supported_results
from boundmark.reports.tables.certified import certified_table


@dataclass(frozen=True)
class Merged:
    """The result of a merge: what it took from the folders, and what it left.

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
    """Make one results folder of several; what they hold stays as it is.

    A task that several folders have is there once: of its rows, one whose costs and bounds have
    their documents, of those one that ended ok, and of those the latest. The folder appears when it
    is complete.

    Raises
    ------
    StoreError
        If a source is no results folder of this schema version, none has results, a verified cost
        is below a certified bound of the same instance, or the target is in use or cannot be
        written.
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
    """Return what each task reported when, as the folder says whose row is kept."""
    parts = []
    for at, store in enumerate(stores):
        traces = store.traces()
        parts.append(traces[traces["task_id"].isin(rows.loc[rows["source"] == at, "task_id"])])
    return pd.concat(parts, ignore_index=True)
