"""What scripts that make tables read of results folders: rows, and facts about the runs."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd

from boundmark.reports.stored.store import ResultStore
from boundmark.reports.stored.verified_results import verified_results


def results_in(folder: str | Path) -> pd.DataFrame:
    """Return the verified rows of a results folder."""
    return verified_results(ResultStore.open(Path(folder))).results


def newest_versions(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of each method's newest version, by instance.

    A folder that went on after a change has several versions of a method.
    """
    versions = rows.groupby(["instance", "instance_params", "method"])["method_version"]
    return rows[rows["method_version"] == versions.transform("max")]


def machine_facts(
    folders: Sequence[Path], rows: pd.DataFrame, libraries: Iterable[str] = ()
) -> dict[str, Any]:
    """Return when, where and by which code the results of folders were made.

    Raises
    ------
    ValueError
        If the code of a run was that of no commit, so that nobody can run it again.
    """
    records = [
        json.loads(path.read_text())
        for folder in folders
        for path in sorted(ResultStore.open(folder).environments.iterdir())
    ]
    where = ", ".join(map(str, folders))
    start, end = rows["started_at"].min(), rows["started_at"].max()
    return facts_of_records(records, where, start, end, libraries)


def facts_of_records(
    records: Sequence[Mapping[str, Any]], where: str, start: datetime, end: datetime,
    libraries: Iterable[str] = (),
) -> dict[str, Any]:  # fmt: skip
    """Return the same of environments as `describe_environment` records them.

    Raises
    ------
    ValueError
        If the code of a run was that of no commit, so that nobody can run it again.
    """
    if any(one["dirty"] or not one["commit"] for one in records):
        raise ValueError(
            f"{where}: its results were made by code that was not committed, so that nobody can "
            "make them again; commit the code, and run the suite into a new folder."
        )
    first = records[0]
    return {
        "commits": sorted({one["commit"][:10] for one in records}),
        "cpu": first["cpu"],
        "cores": first["cores"],
        "loads": sorted({round(one["load_at_start"][0], 1) for one in records}),
        "versions": {name: first["libraries"][name] for name in libraries},
        "from": f"{start:%Y-%m-%d %H:%M}",
        "to": f"{end:%H:%M}" if end.date() == start.date() else f"{end:%Y-%m-%d %H:%M}",
    }


def most_at_a_time(rows: pd.DataFrame) -> int:
    """Return how many tasks ran at the same time, at most."""
    starts = rows["started_at"]
    ends = starts + pd.to_timedelta(rows["wall_seconds"].astype("float64"), unit="s")
    # A task that begins as another ends is not beside it.
    events = pd.concat([pd.Series(1, index=starts), pd.Series(-1, index=ends)])
    return int(events.groupby(level=0).sum().sort_index().cumsum().max())


def at_a_time(run: Mapping[str, Any]) -> str:
    """Return how many tasks ran at the same time; one where it was not recorded."""
    workers = run.get("workers", 1)
    return f"{workers} tasks at a time" if workers > 1 else "one task at a time"


def task_facts(rows: pd.DataFrame) -> dict[str, Any]:
    """Return how the tasks of a run ended, and what they took."""
    return {
        "tasks": len(rows),
        "limit": float(rows["time_limit_seconds"].max()),
        "statuses": {str(name): int(n) for name, n in rows["status"].value_counts().items()},
        "wall_minutes": round(float(rows["wall_seconds"].sum()) / 60, 1),
        "cpu_minutes": round(float(rows["cpu_seconds"].sum()) / 60, 1),
    }


def store_run(folder: Path, run: object) -> None:
    """Write what a run was beside the data of a page."""
    (folder / "run.json").write_text(json.dumps(run, indent=1) + "\n")


def machine(run: Mapping[str, Any]) -> str:
    """Return by which code, when and where results were made, as the beginning of a sentence."""
    commits = run["commits"]
    return (
        f"Commit{'s' * (len(commits) > 1)} {', '.join(commits)}, {run['from']} to {run['to']} UTC, "
        f'"{run["cpu"]}", {run["cores"]} cores'
    )


def part_facts(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Return how the tasks of each suite of a run ended, and what they took."""
    return [{"suite": str(suite), **task_facts(own)} for suite, own in rows.groupby("suite")]


def add_rows(path: Path, new: pd.DataFrame, keys: list[str], order: list[str]) -> None:
    """Write rows beside those that a file has, in some order.

    Stored rows stay unless there are new ones with their keys; without a file, it is made.
    """
    if path.exists():
        stored = pd.read_csv(path, dtype=object)
        has_new = pd.MultiIndex.from_frame(stored[keys].astype(str)).isin(
            pd.MultiIndex.from_frame(new[keys].astype(str))
        )
        text = pd.read_csv(StringIO(new.to_csv(index=False)), dtype=object)
        new = pd.concat([stored[~has_new], text])
    new.sort_values(order).to_csv(path, index=False)


def add_run(folder: Path, run: dict[str, Any]) -> None:
    """Add a run to those beside the data of a page."""
    path = folder / "run.json"
    store_run(folder, [*(json.loads(path.read_text()) if path.exists() else []), run])


def machine_text(runs: Iterable[Mapping[str, Any]]) -> str:
    """Return a line for each run: by which code, when and where, and how its tasks ended."""
    return "\n".join(f"- {_run_text(run)}" for run in runs)


def _run_text(run: Mapping[str, Any]) -> str:
    loads = f"{min(run['loads'])} to {max(run['loads'])}"
    loads = loads if len(run["loads"]) > 1 else f"{run['loads'][0]}"
    versions = ", ".join(f"{name} {version}" for name, version in run["versions"].items())
    ended = "; ".join(
        f"`{part['suite']}` {part['tasks']} tasks of {part['limit']:g} s at most "
        f"({told(part['statuses'])}), {minutes(part)}"
        for part in run["parts"]
    )
    return f"{machine(run)}, load {loads} at the start, {versions}: {ended}."


def told(statuses: Mapping[str, int]) -> str:
    """Return how often tasks ended in which way."""
    return ", ".join(f"{n} {name}" for name, n in statuses.items())


def minutes(run: Mapping[str, Any]) -> str:
    """Return what tasks took together."""
    return (
        f"{run['wall_minutes']} minutes of wall-clock time and {run['cpu_minutes']} of processor "
        "time"
    )
