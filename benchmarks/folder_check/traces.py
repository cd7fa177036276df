"""Checks that a task's progress over time ends where its row says, and never beyond."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

# Kind of event, the row's column with the final value, and whether smaller is better.
FINALS = (
    ("solution", "objective", True),
    ("bound_certified", "bound_certified", False),
    ("bound_claimed", "bound_claimed", False),
)


def trace_faults(row: Mapping[str, Any], events: pd.DataFrame) -> Iterator[str]:
    """Yield a clause for everything in a task's events that its row does not bear out.

    Parameters
    ----------
    events
        The task's events, with columns `seconds`, `kind` and `value`.
    """
    known = [kind for kind, _, _ in FINALS]
    for kind in sorted(set(events["kind"]) - set(known)):
        yield f"its trace has the kind {kind!r}; expected one of {', '.join(known)}"
    if not all(math.isfinite(seconds) and seconds >= 0 for seconds in events["seconds"]):
        yield "its trace has a time that is no non-negative number of seconds"
    wall = row["wall_seconds"]
    if wall is not None and (events["seconds"] > wall).any():
        yield f"its trace goes on for {events['seconds'].max():g} s, its task for {wall:g} s"
    for kind, column, is_smaller_better in FINALS:
        values = events.loc[events["kind"] == kind, "value"]
        final = row[column]
        if values.empty and final is None:
            continue
        reached = None if values.empty else (values.min() if is_smaller_better else values.max())
        if final is None or reached is None or reached != float(final):
            yield f"{column} is {final}; the best of its trace is {reached}"
