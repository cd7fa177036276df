"""Tasks that several folders have: which row is kept, and which ones say something else."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from boundmark.reports.text.number_text import MISSING

# What a task found. Rows that agree in these are duplicates, whatever they took.
FACTS = ("status", "objective", "bound_certified", "bound_claimed")


@dataclass(frozen=True)
class Conflict:
    """A task of which two folders say different things.

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
    """Return one row per task: of several, one with its documents, that ended ok, the latest.

    Parameters
    ----------
    parts
        Each folder with its rows, one per task, with the columns of `schema.RESULTS`, and the tasks
        of which a cost or a bound has no document that supports it.
    """
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
        if all(_same(row[name], winner[name]) for name in FACTS):
            duplicates += 1
        else:
            conflicts.append(Conflict(_task(row), _said(winner, paths), _said(row, paths)))
    return ChosenRows(kept.reset_index(drop=True), duplicates, tuple(conflicts))


def _same(one: Any, other: Any) -> bool:
    return bool(pd.isna(one) and pd.isna(other)) or bool(
        not pd.isna(one) and not pd.isna(other) and one == other
    )


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
