"""How far each method is from optimal, certified, on equal terms."""

from collections.abc import Iterator
from typing import Any

import pandas as pd

from boundmark.reports.statistics.bootstrap import geometric_mean_intervals
from boundmark.reports.statistics.geometric_mean import geometric_mean
from boundmark.reports.statistics.wins import wins_and_ties
from boundmark.reports.tables.charged_seconds import SHIFT_SECONDS, charged_seconds
from boundmark.reports.tables.equal_terms import Comparison, comparisons
from boundmark.reports.tables.grouping import per_instance, with_all
from boundmark.reports.tables.rows import is_among

# Of each role: the kinds of methods that have it, and the column of what they deliver.
ROLES = {
    "solutions": (("heuristic", "exact"), "objective"),
    "bounds": (("bound", "exact"), "bound_certified"),
}

# Of tasks; to choose rows takes long where there are forty columns.
NEEDED = [
    "dataset",
    "method",
    "method_kind",
    "instance_sha256",
    "status",
    "objective",
    "bound_certified",
    "wall_seconds",
    "time_limit_seconds",
]

COLUMNS = [
    "role",
    "dataset",
    "comparison",
    "method",
    "instances",
    "delivered",
    "common",
    "mean_gap",
    "mean_gap_low",
    "mean_gap_high",
    "mean_gap_to_best",
    "optimal",
    "wins",
    "ties",
    "mean_seconds",
    "failed",
]


def method_gaps(tasks: pd.DataFrame, certified: pd.DataFrame) -> pd.DataFrame:
    """Return one row per role, data set (and all), comparison and method.

    Parameters
    ----------
    tasks, certified
        Of one problem.

    Returns
    -------
    pandas.DataFrame
        Columns `role`, ``"solutions"`` or ``"bounds"``; `dataset`; `comparison`, a number, the one
        over most instances first; `method`; `instances` of the comparison; `delivered`, those of
        them on which the method has a verified solution or a certified bound above 0; `common`,
        those on which all methods of the comparison have, methods that have none anywhere left out;
        `mean_gap`, over these, GM(UB/LB) - 1 of the method's solutions over the best certified
        bounds, or of the best verified solutions over its bounds, with its bootstrap interval
        `mean_gap_low` to `mean_gap_high`; `mean_gap_to_best`, the same over the best solutions, or
        bounds, of all methods; `optimal`, the instances of the comparison where some seed is proven
        optimal, or some bound proves it; `wins` and `ties` among the methods of the comparison,
        over its instances; `mean_seconds` over them, see `runtime_by_parameter`; `failed`, tasks
        on them that did not end `ok`. Seeds are averaged within an instance first.
    """
    known = certified.set_index("instance_sha256")
    best = {
        "objective": known["objective"].astype("float64"),
        "bound_certified": known["bound"].astype("float64"),
    }
    rows: list[dict[str, Any]] = []
    tasks = tasks[NEEDED]
    for role, (kinds, column) in ROLES.items():
        chosen = tasks[tasks["method_kind"].isin(kinds)]
        for dataset, part in with_all(chosen).groupby("dataset"):
            for number, comparison in enumerate(comparisons(part)):
                common = {"role": role, "dataset": dataset, "comparison": number}
                rows += [
                    common | row for row in _compared(part, comparison, column, best)
                ]  # fmt: skip
    return pd.DataFrame(rows, columns=COLUMNS)


def _compared(
    tasks: pd.DataFrame, comparison: Comparison, column: str, best: dict[str, "pd.Series[float]"]
) -> Iterator[dict[str, Any]]:
    own = tasks[
        is_among(tasks["method"], comparison.methods)
        & is_among(tasks["instance_sha256"], comparison.instances)
    ]
    places = list(comparison.instances)
    values = per_instance(own, column).reindex(places)
    values = values.where(values > 0)
    upward = column == "objective"
    other = best["bound_certified" if upward else "objective"].reindex(places)
    other = other.where(other > 0)
    gaps = values.div(other, axis=0) if upward else 1 / values.div(other, axis=0)
    same = best[column].reindex(places)
    to_best = values.div(same, axis=0) if upward else 1 / values.div(same, axis=0)
    shared = gaps.dropna(axis=1, how="all").dropna().index
    members = gaps.loc[shared, gaps.columns[gaps.notna().any()]]
    intervals = geometric_mean_intervals(members)
    counts = wins_and_ties(values if upward else -values)
    seconds = per_instance(own.assign(seconds=charged_seconds(own)), "seconds")
    proven = own[(own[column] == own["instance_sha256"].map(other)).fillna(False).astype(bool)]
    common, common_to_best = gaps.loc[shared], to_best.loc[shared]
    for method in sorted(comparison.methods):
        delivered = common[method].notna()
        ratios = common.loc[delivered, method]
        low, high = intervals.get(method, (float("nan"), float("nan")))
        statuses = own.loc[own["method"] == method, "status"]
        yield {
            "method": method,
            "instances": len(places),
            "delivered": int(values[method].notna().sum()),
            "common": len(ratios),
            "mean_gap": geometric_mean(ratios) - 1,
            "mean_gap_low": low - 1,
            "mean_gap_high": high - 1,
            "mean_gap_to_best": geometric_mean(common_to_best.loc[delivered, method]) - 1,
            "optimal": proven.loc[proven["method"] == method, "instance_sha256"].nunique(),
            "wins": int(counts["wins"][method]),
            "ties": int(counts["ties"][method]),
            "mean_seconds": geometric_mean(seconds[method].dropna(), SHIFT_SECONDS),
            "failed": int((statuses != "ok").sum()),
        }
