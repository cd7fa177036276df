"""The best latency of each instance, against one device and against equal slices."""

import pandas as pd

KEY = ["dataset", "instance", "device", "parameters", "instance_sha256"]

# Methods that stand for what one would do without optimising.
REFERENCES = {"one_device": "one-device", "equal_slices": "equal-slices"}


def latency_table(tasks: pd.DataFrame, certified: pd.DataFrame) -> pd.DataFrame:
    """Return one row per instance of which some plan is verified.

    Returns
    -------
    pandas.DataFrame
        `dataset`, `instance`, `device` (the cluster, empty if costs came with the instance),
        `parameters`, `instance_sha256`; `method`, `latency` and `solution_sha256` of the best
        verified plan; `bound` and `optimal` of the certified table; `one_device` and
        `equal_slices`, the latency that these methods found, missing if they found none.
    """
    solved = tasks[tasks["objective"].notna()]
    order = solved.sort_values(["objective", "method", "seed"], kind="stable")
    best = order.drop_duplicates("instance_sha256")[
        [*KEY, "method", "objective", "solution_sha256"]
    ]
    best = best.rename(columns={"objective": "latency"})
    for column, method in REFERENCES.items():
        found = solved[solved["method"] == method].groupby("instance_sha256")["objective"].min()
        best[column] = best["instance_sha256"].map(found).astype("Int64")
    # Instances that come with costs have none, and are a group of their own.
    best["device"] = best["device"].fillna("")
    known = certified[["instance_sha256", "bound", "optimal"]]
    merged = best.merge(known, on="instance_sha256", how="left")
    return merged.sort_values(KEY, kind="stable").reset_index(drop=True)
