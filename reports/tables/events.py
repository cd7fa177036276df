"""Groups the events of traces by task."""

import numpy as np
import numpy.typing as npt
import pandas as pd

from boundmark.reports.tables.rows import places_in

Events = dict[str, list[tuple[float, float]]]


def events_by_task(traces: pd.DataFrame) -> Events:
    """Return each task's events as pairs of seconds and value, in the order of the traces."""
    codes, tasks = pd.factorize(traces["task_id"])
    order = np.argsort(codes, kind="stable")
    seconds, values = (traces[name].to_numpy()[order].tolist() for name in ("seconds", "value"))
    pairs = list(zip(seconds, values, strict=True))
    ends = [0, *np.cumsum(np.bincount(codes)).tolist()]
    return {
        task: pairs[start:end]
        for task, start, end in zip(tasks.tolist(), ends[:-1], ends[1:], strict=True)
    }


def places_of_tasks(traces: pd.DataFrame, tasks: pd.DataFrame) -> npt.NDArray[np.intp]:
    """Return the place of each event's task among tasks, -1 if it is not among them."""
    return places_in(traces["task_id"], tasks["task_id"])
