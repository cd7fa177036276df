"""Table of what each method achieved, over all instances of a problem."""

import pandas as pd

from boundmark.reports.statistics.geometric_mean import geometric_mean
from boundmark.reports.tables.charged_seconds import SHIFT_SECONDS, charged_seconds
from boundmark.reports.tables.claims import is_tenable
from boundmark.reports.tables.grouping import per_instance

COLUMNS = [
    "method",
    "method_kind",
    "instances",
    "solved",
    "upper",
    "shared",
    "shared_upper",
    "bounded",
    "lower",
    "claiming",
    "claimed",
    "timed",
    "mean_seconds",
    "mean_cpu_seconds",
    "failed",
]

NO_TIMES = pd.Series(dtype="float64")


def method_table(tasks: pd.DataFrame, certified: pd.DataFrame) -> pd.DataFrame:
    """Return one row per method.

    Parameters
    ----------
    tasks, certified
        Of one problem.

    Returns
    -------
    pandas.DataFrame
        Columns `method`, `method_kind`; `instances` that it was run on; `solved`, those where it
        has a verified solution and some method a certified bound, and `upper`, the geometric mean
        of UB/LB over them; `shared`, those solved by all methods that were run on all instances of
        the problem and solved any, and `shared_upper` over these, for such methods; `bounded`,
        those where it has a certified bound and some method a solution, and `lower`, the geometric
        mean of its LB/UB; `claiming` and `claimed`, the same of its claims, without those above the
        best solution; `timed`, those where it ran, and `mean_seconds`, the shifted geometric mean
        of its wall-clock seconds, and `mean_cpu_seconds`, that of the processor time it took, over
        those where this was recorded; `failed`, its tasks that did not end `ok`.
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
        row = (
            method,
            own["method_kind"].iloc[0],
            own["instance_sha256"].nunique(),
            len(upper),
            geometric_mean(upper),
            len(shared) if method in shared else 0,
            geometric_mean(shared.get(method, [])),
            len(lower),
            geometric_mean(lower),
            len(claimed),
            geometric_mean(claimed),
            len(times),
            geometric_mean(times, SHIFT_SECONDS),
            geometric_mean(processor.get(method, NO_TIMES).dropna(), SHIFT_SECONDS),
            int((own["status"] != "ok").sum()),
        )
        rows.append(row)
    return pd.DataFrame(rows, columns=COLUMNS)


def _fractions(tasks: pd.DataFrame, column: str, objective: "pd.Series[float]") -> pd.DataFrame:
    """Return bounds above 0 as fractions of the best objective, by instance and method."""
    fractions = per_instance(tasks, column).div(objective.where(objective > 0), axis=0)
    return fractions.where(fractions > 0)
