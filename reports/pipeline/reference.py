"""The simple lower bound that solutions are divided by ([MTPP24], Lemma 3.3)."""

import pandas as pd

from boundmark.reports.tables.grouping import per_instance

SIMPLE_METHODS = ("max-work", "mean-work")


def reference_bounds(tasks: pd.DataFrame, certified: pd.DataFrame) -> pd.DataFrame:
    """Return the bound L that solutions are divided by, one row per instance that has one.

    L is the simple lower bound max(max work, mean work), if both of its parts are certified, else
    the best certified bound.

    Returns
    -------
    pandas.DataFrame
        Columns `instance_sha256`, `bound` (above 0) and `is_simple`.
    """
    simple = per_instance(tasks[tasks["method"].isin(SIMPLE_METHODS)], "bound_certified")
    simple = simple.reindex(columns=list(SIMPLE_METHODS))
    parts = simple.max(axis=1).where(simple.notna().all(axis=1))
    best = certified.set_index("instance_sha256")["bound"].astype("float64")
    parts = parts.reindex(best.index)
    bounds = pd.DataFrame({"bound": parts.fillna(best), "is_simple": parts.notna()})
    return bounds[bounds["bound"] > 0].reset_index()
