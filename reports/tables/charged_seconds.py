"""How much time a task counts with."""

import numpy as np
import pandas as pd

# Of geometric means of seconds.
SHIFT_SECONDS = 1.0


def charged_seconds(tasks: pd.DataFrame) -> "pd.Series[float]":
    """Return wall-clock seconds; a task that did not end `ok` counts with at least its limit."""
    wall = tasks["wall_seconds"].fillna(0.0)
    limit = tasks["time_limit_seconds"].fillna(0.0)
    return wall.where(tasks["status"] == "ok", np.maximum(wall, limit))
