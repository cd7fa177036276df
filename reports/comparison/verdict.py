"""The verdict of a comparison on the new run's page: the worst findings, and since when."""

import json
from pathlib import Path
from typing import Any

import pandas as pd

from boundmark.problems.errors import StoreError
from boundmark.reports.stored.documents import read_json
from boundmark.reports.stored.run_label import RunLabel
from boundmark.reports.text import percent

# Of the findings that make a run worse.
MOST_SHOWN = 5

# What a history tells of a gate: the column that becomes larger.
COLUMNS = {"objective": "mean_gap", "bound": "mean_bound_gap", "failure": "failed"}

# Nights whose mean gaps differ by less are as bad as each other.
TOLERANCE = 1e-3

# Hexadecimal digits that tell documents apart.
SHORT = 12


def read_verdict(path: Path, run: RunLabel, history: pd.DataFrame | None) -> tuple[str, ...]:
    """Return the verdict on a run, and a line for each of the worst findings.

    Parameters
    ----------
    path
        `comparison.json`, from `boundmark compare --out`.
    run
        The run that the page is about.
    history
        Earlier runs and this one, to say since when a method is as bad; None if there is none.

    Raises
    ------
    StoreError
        If the file is no comparison, or one of another run.
    """
    try:
        found = read_json(path)
    except FileNotFoundError as error:
        raise StoreError(f"{path} does not exist; expected comparison.json.") from error
    try:
        is_of_this_run = found["new"] == json.loads(json.dumps(run.to_json()))
        commits = f"{_commit(found['base'])}..{_commit(found['new'])}"
        worse = [one for one in found["findings"] if one["verdict"] == "worse"]
        lines = [_line(one, history) for one in worse[:MOST_SHOWN]]
        sentence = str(found["sentence"])
    except (TypeError, KeyError, IndexError) as error:
        raise StoreError(
            f"{path} is no comparison; expected comparison.json from `boundmark compare --out`."
        ) from error
    if not is_of_this_run:
        raise StoreError(f"{path} compares another run; expected one whose NEW is this folder.")
    if not worse:
        return (sentence,)
    more = [f"and {len(worse) - MOST_SHOWN} more in {path.name}"] if worse[MOST_SHOWN:] else []
    return (f"{sentence} Commits: {commits}.", *lines, *more)


def _commit(label: dict[str, Any]) -> str:
    commits = label["commits"]
    return str(commits[-1])[:SHORT] if commits else "unknown"


def _line(finding: dict[str, Any], history: pd.DataFrame | None) -> str:
    documents = [
        f"{name} {kind} {side[kind][:SHORT]}"
        for name, side in (("BASE", finding["base"]), ("NEW", finding["new"]))
        if side
        for kind in ("solution", "certificate")
        if side[kind]
    ]
    told = f" ({', '.join(documents)})" if documents else ""
    return f"{finding['subject']}: {finding['sentence']}{told}{_since(finding, history)}"


def _since(finding: dict[str, Any], history: pd.DataFrame | None) -> str:
    """Return since which run of the history the method is as bad as now; empty if unknown."""
    column = COLUMNS.get(finding["gate"])
    if history is None or column is None:
        return ""
    own = history[
        (history["problem"] == finding["problem"]) & (history["method"] == finding["method"])
    ]
    values = own[column].astype("float64").tolist()
    if len(values) < 2 or values[-1] != values[-1]:
        return ""
    first = len(values) - 1
    while first and values[first - 1] >= values[-1] - TOLERANCE:
        first -= 1
    row = own.iloc[first]
    when = f"{row['started_at']:%Y-%m-%d %H:%M}, commit {str(row['commit'])[:SHORT]}"
    now = f"{values[-1]:.0f} failed" if column == "failed" else f"{percent(values[-1])} %"
    what = "its tasks" if column == "failed" else "its mean gap"
    if first == 0:
        return f"; {what} ({now}) has not been better since the history begins, {when}"
    return f"; {what} is {now} since {when}"
