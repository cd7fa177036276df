"""Events of traces by task."""

import pandas as pd

from boundmark.reports.tables.rows import events_by_task


def test_events_stay_in_order() -> None:
    """Of each task, as they were stored, whatever lies between them; without traces, none."""
    traces = pd.DataFrame(
        [("b", 2.0, 5.0), ("a", 1.0, 7.0), ("b", 1.0, 6.0)], columns=["task_id", "seconds", "value"]
    )
    assert events_by_task(traces) == {"a": [(1.0, 7.0)], "b": [(2.0, 5.0), (1.0, 6.0)]}
    assert events_by_task(traces.iloc[:0]) == {}
