"""Results of each method over all instances: alone, against a baseline, and run by run."""

import json
import statistics
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from boundmark.reports.dictionary import columns_of
from boundmark.reports.history import BEST, start_of
from boundmark.reports.statistics import geometric_mean
from boundmark.reports.stored.run_records import RunLabel
from boundmark.reports.stored.schema import ACCEPTED_BY
from boundmark.reports.tables.parameters import per_instance
from boundmark.reports.tables.rows import rows
from boundmark.reports.tables.tasks import SHIFT_SECONDS, charged_seconds, is_tenable

NO_TIMES = pd.Series(dtype="float64")


def method_table(tasks: pd.DataFrame, certified: pd.DataFrame) -> pd.DataFrame:
    """Return one row per method, with the columns that `dictionary.toml` declares and defines.

    Parameters
    ----------
    tasks, certified
        Of one problem.
    """
    known = certified.set_index("instance_sha256")
    objective, bound = known["objective"].astype("float64"), known["bound"].astype("float64")
    uppers = per_instance(tasks, "objective").div(bound.where(bound > 0), axis=0)
    lowers = _fractions(tasks, "bound_certified", objective)
    claim = tasks["bound_claimed"].where(is_tenable(tasks, objective))
    by_package = tasks["bound_kind"].fillna("").str.contains(ACCEPTED_BY, regex=False)
    split = tasks.assign(claim=claim.where(~by_package), accepted=claim.where(by_package))
    claims = _fractions(split, "claim", objective)
    acceptances = _fractions(split, "accepted", objective)
    everywhere = tasks.groupby("method")["instance_sha256"].nunique() == len(known)
    shared = uppers.loc[:, everywhere].dropna(axis=1, how="all").dropna()
    ran = tasks[tasks["status"] != "unsupported"]
    seconds = per_instance(ran.assign(seconds=charged_seconds(ran)), "seconds")
    processor = per_instance(ran, "cpu_seconds")
    rows = []
    for method, own in tasks.groupby("method")[["method_kind", "instance_sha256", "status"]]:
        upper, lower = uppers[method].dropna(), lowers[method].dropna()
        claimed, accepted = claims[method].dropna(), acceptances[method].dropna()
        times = seconds.get(method, NO_TIMES).dropna()
        rows.append(
            {
                "method": method,
                "method_kind": own["method_kind"].iloc[0],
                "instances": own["instance_sha256"].nunique(),
                "solved": len(upper),
                "upper": geometric_mean(upper),
                "shared": len(shared) if method in shared else 0,
                "shared_upper": geometric_mean(shared.get(method, [])),
                "bounded": len(lower),
                "lower": geometric_mean(lower),
                "claiming": len(claimed),
                "claimed": geometric_mean(claimed),
                "accepting": len(accepted),
                "accepted": geometric_mean(accepted),
                "timed": len(times),
                "mean_seconds": geometric_mean(times, SHIFT_SECONDS),
                "mean_cpu_seconds": geometric_mean(
                    processor.get(method, NO_TIMES).dropna(), SHIFT_SECONDS
                ),
                "failed": int((own["status"] != "ok").sum()),
            }
        )
    return pd.DataFrame(rows, columns=columns_of("*/methods"))


def _fractions(tasks: pd.DataFrame, column: str, objective: "pd.Series[float]") -> pd.DataFrame:
    """Return bounds above 0 as fractions of the best objective, by instance and method."""
    fractions = per_instance(tasks, column).div(objective.where(objective > 0), axis=0)
    return fractions.where(fractions > 0)


def speedup_table(
    tasks: pd.DataFrame, certified: pd.DataFrame, baselines: Sequence[str]
) -> pd.DataFrame:
    """Return one row per instance that a baseline solved and method that solved it too.

    Instances are in the order of the certified table. Costs of 0 have no quotient.

    Parameters
    ----------
    baselines
        Names of methods: the first one of them that solved an instance is its baseline.
    """
    solving = tasks[tasks["method_kind"].isin(["heuristic", "exact"])]
    costs = per_instance(solving, "objective")
    costs = costs.where(costs > 0)
    known = costs.reindex(columns=[name for name in baselines if name in costs])
    known = known.dropna(how="all")
    if known.empty:
        return pd.DataFrame(columns=columns_of("*/speedups"))
    chosen = known.notna().idxmax(axis=1)
    cost = known.bfill(axis=1).iloc[:, 0]
    quotients = costs.loc[known.index].rdiv(cost, axis=0).reset_index()
    long = quotients.melt("instance_sha256", var_name="method", value_name="speedup")
    names = certified[["dataset", "instance", "parameters", "instance_sha256"]]
    table = names.merge(long.dropna(subset=["speedup"]), on="instance_sha256")
    table = table.assign(baseline=table["instance_sha256"].map(chosen))
    return table[columns_of("*/speedups")]


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
