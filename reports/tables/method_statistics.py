"""Times, progress and contribution of each method, over instances that all of them treated."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from boundmark.reports.statistics.gap_integrals import mean_dual_gaps, mean_primal_gaps
from boundmark.reports.statistics.par10 import par10
from boundmark.reports.statistics.steps import Floats
from boundmark.reports.statistics.virtual_best import contributions
from boundmark.reports.tables.equal_terms import comparisons
from boundmark.reports.tables.events import places_of_tasks
from boundmark.reports.tables.grouping import per_instance
from boundmark.reports.tables.method_gaps import NEEDED, ROLES
from boundmark.reports.tables.rows import is_among

# Values that differ by a thousandth count as equal.
TOLERANCE = 0.001

COLUMNS = [
    "role",
    "comparison",
    "method",
    "instances",
    "par10_seconds",
    "primal_integral",
    "dual_integral",
    "best_share",
    "only_best",
    "virtual_best_loss",
    "tolerance",
]


def method_statistics(
    tasks: pd.DataFrame, traces: pd.DataFrame, certified: pd.DataFrame
) -> pd.DataFrame:
    """Return one row per role, comparison and method, over all data sets of a problem.

    Returns
    -------
    pandas.DataFrame
        Columns `role`, `comparison`, `method`, `instances` as in `method_gaps`; `par10_seconds`,
        where a task delivers if it ends `ok` with a solution, or a certified bound;
        `primal_integral` of solutions and `dual_integral` of bounds, over instances with a
        solution, of which the best of all methods stands for the optimum, missing without traces
        or time limits; `best_share`, `only_best`, `virtual_best_loss` at the `tolerance`, see
        `Contribution`. Seeds are averaged within an instance first.
    """
    best = certified.set_index("instance_sha256")["objective"].astype("float64")
    tasks = tasks[["task_id", *NEEDED]]
    found: list[dict[str, Any]] = []
    for role, (kinds, column) in ROLES.items():
        chosen = tasks[tasks["method_kind"].isin(kinds)]
        chosen = chosen.assign(progress=_progress(chosen, traces, best, column))
        for number, comparison in enumerate(comparisons(chosen)):
            own = chosen[
                is_among(chosen["method"], comparison.methods)
                & is_among(chosen["instance_sha256"], comparison.instances)
            ]
            common = {"role": role, "comparison": number, "instances": len(comparison.instances)}
            found += [common | row for row in _of_comparison(own, column)]
    return pd.DataFrame(found, columns=COLUMNS)


def _of_comparison(tasks: pd.DataFrame, column: str) -> Iterator[dict[str, Any]]:
    values = per_instance(tasks, column)
    values = values.where(values > 0)
    # The larger a bound, the better: its reciprocal is a cost.
    added = contributions(values if column == "objective" else 1 / values, TOLERANCE)
    integral = "primal_integral" if column == "objective" else "dual_integral"
    for method, own in tasks.groupby("method"):
        delivered = (own["status"] == "ok") & own[column].notna()
        penalised = par10(
            own["wall_seconds"].fillna(0.0), own["time_limit_seconds"].fillna(0.0), delivered
        )
        contribution = added.get(str(method))
        yield {
            "method": method,
            "par10_seconds": penalised,
            integral: own.groupby("instance_sha256")["progress"].mean().mean(),
            "best_share": contribution.best_share if contribution else float("nan"),
            "only_best": contribution.only_best if contribution else 0,
            "virtual_best_loss": contribution.loss if contribution else float("nan"),
            "tolerance": TOLERANCE,
        }


def _progress(
    tasks: pd.DataFrame, traces: pd.DataFrame, best: "pd.Series[float]", column: str
) -> Floats:
    """Return the primal or dual integral of each task, NaN without a reference."""
    kind = "solution" if column == "objective" else column
    mean_gaps = mean_primal_gaps if column == "objective" else mean_dual_gaps
    references = np.asarray(tasks["instance_sha256"].map(best), np.float64)
    limits = np.asarray(tasks["time_limit_seconds"], np.float64)
    found = np.full(len(tasks), np.nan)
    known = (references > 0) & (limits > 0) & (len(traces) > 0)
    events = traces[traces["kind"] == kind]
    places = places_of_tasks(events, tasks[known])
    counts = places >= 0
    found[known] = mean_gaps(
        places[counts],
        events["seconds"].to_numpy(np.float64)[counts],
        events["value"].to_numpy(np.float64)[counts],
        references[known],
        limits[known],
    )
    return found
