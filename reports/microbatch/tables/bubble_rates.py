"""Bubble rates by layout and method (the form of [TESSEL24], Table II)."""

import pandas as pd

KEY = ["dataset", "instance", "parameters", "micro_batches", "instance_sha256", "method"]


def bubble_rates(schedules: pd.DataFrame) -> pd.DataFrame:
    """Return the bubble rate of each method that finds schedules, by instance.

    Returns
    -------
    pandas.DataFrame
        Columns `dataset`, `instance`, `parameters`, `micro_batches`, `instance_sha256`, `method`;
        `bubble_rate`, the mean over seeds, missing without a verified schedule; `status`, the worst
        of its tasks, by the alphabet if there are several.
    """
    searching = schedules[schedules["method_kind"] != "bound"]
    grouped = searching.groupby(KEY, sort=False)
    return grouped.agg(
        bubble_rate=("bubble_rate", "mean"),
        status=("status", lambda status: min(set(status) - {"ok"}, default="ok")),
    ).reset_index()
