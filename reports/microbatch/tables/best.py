"""The best schedule of each instance."""

import pandas as pd


def best_schedules(schedules: pd.DataFrame, certified: pd.DataFrame) -> pd.DataFrame:
    """Return one row per instance, with what the certified table says of it.

    Returns
    -------
    pandas.DataFrame
        The columns of `schedule_table` for the task with the best objective, the first method by
        name if several found it, and `bound`, `bound_method`, `claimed`, `gap`, `optimal`.
        Instances without schedule have missing values.
    """
    having = schedules.assign(unsolved=schedules["objective"].isna())
    order = having.sort_values(["unsolved", "objective", "method", "seed"], kind="stable")
    best = order.drop_duplicates("instance_sha256").drop(columns="unsolved")
    best.loc[best["objective"].isna(), ["method"]] = None
    known = ["instance_sha256", "bound", "bound_method", "claimed", "gap", "optimal"]
    merged = certified[known].merge(best, on="instance_sha256", how="inner")
    return merged.reset_index(drop=True)
