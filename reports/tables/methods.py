"""What each method achieved over all instances of a problem, against a baseline, and run by run."""

import json
import statistics
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from boundmark.reports.dictionary import columns_of
from boundmark.reports.statistics.means import geometric_mean
from boundmark.reports.stored.history import BEST, start_of
from boundmark.reports.stored.run_label import RunLabel
from boundmark.reports.tables.certified import is_tenable
from boundmark.reports.tables.parameters import per_instance
from boundmark.reports.tables.rows import rows
from boundmark.reports.text import natural_order
from boundmark.reports.tables.tasks import SHIFT_SECONDS, charged_seconds

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
    tenable = tasks.assign(claim=tasks["bound_claimed"].where(is_tenable(tasks, objective)))
    claims = _fractions(tenable, "claim", objective)
    everywhere = tasks.groupby("method")["instance_sha256"].nunique() == len(known)
    shared = uppers.loc[:, everywhere].dropna(axis=1, how="all").dropna()
    ran = tasks[tasks["status"] != "unsupported"]
    seconds = per_instance(ran.assign(seconds=charged_seconds(ran)), "seconds")
    processor = per_instance(ran, "cpu_seconds")
    rows = []
    for method, own in tasks.groupby("method")[["method_kind", "instance_sha256", "status"]]:
        upper, lower = uppers[method].dropna(), lowers[method].dropna()
        claimed = claims[method].dropna()
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


def default_baselines(tasks: pd.DataFrame, names: Sequence[str]) -> list[str]:
    """Return methods to hold others against: those of the names that treated every instance.

    Of a method that was run in several ways, such as with several parameters, the first counts.
    """
    every = tasks["instance_sha256"].nunique()
    treated = tasks.groupby("method")["instance_sha256"].nunique()
    found = []
    for name in names:
        own = [str(one) for one in treated[treated == every].index if _is_called(str(one), name)]
        found += natural_order(own)[:1]
    return found


def _is_called(method: str, name: str) -> bool:
    """Whether a method has this name, with or without how it was run."""
    return method.split(" (", 1)[0] == name


def speedup_table(
    tasks: pd.DataFrame, certified: pd.DataFrame, baselines: Sequence[str]
) -> pd.DataFrame:
    """Return one row per instance that a baseline solved and method that solved it too.

    Instances are in the order of the certified table. Costs of 0 have no quotient.

    Parameters
    ----------
    baselines
        The first one that solved an instance is that instance's.
    """
    solving = tasks[tasks["method_kind"].isin(["heuristic", "exact"])]
    costs = per_instance(solving, "objective")
    costs = costs.where(costs > 0)
    known = [name for name in baselines if name in costs]
    if not known:
        return pd.DataFrame(columns=columns_of("*/speedups"))
    base = costs[known].bfill(axis=1).iloc[:, 0]
    first = costs[known].notna().idxmax(axis=1).rename("baseline")
    quotients = costs.rdiv(base, axis=0).reset_index()
    long = quotients.melt("instance_sha256", var_name="method", value_name="speedup")
    names = certified[["dataset", "instance", "parameters", "instance_sha256"]]
    table = names.merge(long.dropna(subset=["speedup"]), on="instance_sha256")
    return table.join(first, on="instance_sha256")[columns_of("*/speedups")]


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
