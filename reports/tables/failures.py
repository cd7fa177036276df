"""The tasks that did not end well."""

import pandas as pd

COLUMNS = [
    "problem",
    "dataset",
    "instance",
    "parameters",
    "method",
    "seed",
    "status",
    "status_detail",
    "exit_code",
    "exit_signal",
    "wall_seconds",
    "objective",
    "bound_certified",
    "stderr_tail",
    "task_id",
]


def failures(tasks: pd.DataFrame) -> pd.DataFrame:
    """Return every task whose status is not `ok`, and `ok` ones that delivered nothing."""
    delivered = tasks[["objective", "bound_certified", "bound_claimed"]].notna().any(axis=1)
    return tasks[(tasks["status"] != "ok") | ~delivered][COLUMNS].reset_index(drop=True)
