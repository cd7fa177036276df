"""What each method achieved, over all instances of its problem."""

import pandas as pd

from boundmark.reports.statistics.geometric_mean import geometric_mean
from boundmark.reports.tables.bounds_by_k import is_tenable
from boundmark.reports.tables.runtime_by_k import SHIFT_SECONDS, charged_seconds
from boundmark.reports.tables.tasks import per_instance

COLUMNS = [
    "problem",
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
    "failed",
]


def method_table(tasks: pd.DataFrame, certified: pd.DataFrame) -> pd.DataFrame:
    """Return a row a problem and method.

    Returns
    -------
    pandas.DataFrame
        Columns `problem`, `method`, `method_kind`; `instances` that it was run on; `solved`, those
        where it has a verified solution and some method a certified bound, and `upper`, the
        geometric mean of UB/LB over them; `shared`, those solved by all methods that were run on
        all instances of the problem and solved any, and `shared_upper` over these, for such
        methods; `bounded`, those where it has a certified bound and some method a solution, and
        `lower`, the geometric mean of its LB/UB; `claiming` and `claimed`, the same of its claims,
        without those above the best solution; `timed`, those where it ran, and `mean_seconds`,
        the shifted geometric mean of its wall-clock seconds; `failed`, its tasks that did not end
        `ok`.
    """
    rows = []
    for problem, part in tasks.groupby("problem"):
        known = certified[certified["problem"] == problem].set_index("instance_sha256")
        best = known["objective"].astype("float64"), known["bound"].astype("float64")
        uppers = per_instance(part, "objective").div(best[1].where(best[1] > 0), axis=0)
        lowers = per_instance(part, "bound_certified").div(best[0].where(best[0] > 0), axis=0)
        lowers = lowers.where(lowers > 0)
        tenable = part.assign(claim=part["bound_claimed"].where(is_tenable(part, best[0])))
        claims = per_instance(tenable, "claim").div(best[0].where(best[0] > 0), axis=0)
        claims = claims.where(claims > 0)
        everywhere = part.groupby("method")["instance_sha256"].nunique() == len(known)
        shared = uppers.loc[:, everywhere].dropna(axis=1, how="all").dropna()
        ran = part[part["status"] != "unsupported"]
        seconds = per_instance(ran.assign(seconds=charged_seconds(ran)), "seconds")
        for method, own in part.groupby("method"):
            upper, lower = uppers[method].dropna(), lowers[method].dropna()
            claimed = claims[method].dropna()
            times = seconds[method].dropna() if method in seconds else pd.Series(dtype="float64")
            row = (
                problem,
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
                int((own["status"] != "ok").sum()),
            )
            rows.append(row)
    return pd.DataFrame(rows, columns=COLUMNS)
