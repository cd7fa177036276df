"""Facts about runs that pages state: here, how many tasks ran at the same time."""

import pandas as pd
import pytest
from table_scripts import load_script


@pytest.mark.parametrize(
    ("tasks", "expected"),
    [
        ([(0, 10), (10, 5), (15, 2)], 1),
        ([(0, 10), (0, 10), (10, 1)], 2),
        ([(0, 10), (3, 2), (4, 9), (12, 1)], 3),
    ],
)
def test_tasks_at_a_time(tasks: list[tuple[int, int]], expected: int) -> None:
    """Tasks count as beside each other where their times overlap by more than an instant."""
    runs = load_script("runs")
    start = pd.Timestamp("2026-11-29", tz="UTC")
    rows = pd.DataFrame(
        {
            "started_at": [start + pd.Timedelta(seconds=begin) for begin, _ in tasks],
            "wall_seconds": [float(seconds) for _, seconds in tasks],
        }
    )
    found = runs.most_at_a_time(rows)
    assert found == expected
    words = "one task at a time" if expected == 1 else f"{expected} tasks at a time"
    assert runs.at_a_time({"workers": found}) == words
