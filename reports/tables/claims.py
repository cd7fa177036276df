"""Claimed bounds that a verified solution contradicts."""

import pandas as pd

# A claim may exceed the optimum by a solver's tolerance. Beyond this it contradicts a solution.
CLAIM_TOLERANCE = 1e-6

COLUMNS = [
    "problem",
    "dataset",
    "instance",
    "parameters",
    "method",
    "seed",
    "bound_claimed",
    "best_objective",
    "task_id",
]


def contradicted_claims(tasks: pd.DataFrame, certified: pd.DataFrame) -> pd.DataFrame:
    """Return the tasks whose claim is above the best verified objective of their instance."""
    upper = certified.set_index("instance_sha256")["objective"].astype("float64")
    wrong = tasks[tasks["bound_claimed"].notna() & ~is_tenable(tasks, upper)]
    return wrong.assign(best_objective=wrong["instance_sha256"].map(upper))[COLUMNS]


def is_tenable(tasks: pd.DataFrame, upper: "pd.Series[float]") -> "pd.Series[bool]":
    """Return which tasks have no claim above the objective of their instance."""
    limit = tasks["instance_sha256"].map(upper).astype("float64") * (1 + CLAIM_TOLERANCE)
    return ~(tasks["bound_claimed"] > limit)
