"""Rows that a history keeps of one run."""

import json
import statistics
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from boundmark.reports.statistics.geometric_mean import geometric_mean
from boundmark.reports.stored.history import BEST, start_of
from boundmark.reports.stored.run_label import RunLabel
from boundmark.reports.tables.methods import method_table
from boundmark.reports.tables.rows import rows


def history_rows(
    label: RunLabel,
    tasks: pd.DataFrame,
    certified: pd.DataFrame,
    reference_seconds: Sequence[float],
) -> Iterator[dict[str, Any]]:
    """Yield one row per problem and method, and one per problem for the best of all methods.

    Parameters
    ----------
    tasks, certified
        Those of all problems, as in `FolderResults`.

    Yields
    ------
    dict
        By column of `history.HISTORY`: `mean_gap` is GM(UB/LB) - 1 of a method's solutions over the
        best certified bounds, over the `solved` instances; `mean_bound_gap` the same of the best
        solutions over a method's bounds, over the `bounded` ones.
    """
    run = {
        "run": f"{label.started} {', '.join(label.hosts)} {label.commit_text}",
        "started_at": start_of(label.started),
        "commit": label.commit_text,
        "solvers": json.dumps(dict(label.solvers), sort_keys=True),
        "suites": ", ".join(label.suites),
        "reference_seconds": statistics.median(reference_seconds) if reference_seconds else None,
    }
    for problem, known in certified.groupby("problem"):
        own = tasks[tasks["problem"] == problem]
        yield {**run, "problem": str(problem), **_best(own, known)}
        for row in rows(method_table(own, known)):
            yield {
                **run,
                "problem": str(problem),
                "method": row.method,
                "instances": int(row.instances),
                "solved": int(row.solved),
                "mean_gap": _number(row.upper - 1),
                "bounded": int(row.bounded),
                "mean_bound_gap": _number(1 / row.lower - 1),
                "optimal": None,
                "mean_seconds": _number(row.mean_seconds),
                "failed": int(row.failed),
            }


def _best(tasks: pd.DataFrame, certified: pd.DataFrame) -> dict[str, Any]:
    gaps = certified["gap"].dropna()
    mean = _number(geometric_mean(1 + gaps) - 1)
    return {
        "method": BEST,
        "instances": len(certified),
        "solved": int(certified["objective"].notna().sum()),
        "mean_gap": mean,
        "bounded": int(certified["bound"].notna().sum()),
        "mean_bound_gap": mean,
        "optimal": int(certified["optimal"].sum()),
        "mean_seconds": None,
        "failed": int((tasks["status"] != "ok").sum()),
    }


def _number(value: float) -> float | None:
    return None if value != value else float(value)
