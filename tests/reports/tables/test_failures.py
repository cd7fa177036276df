"""The tasks that did not end well."""

from typing import Any

import pandas as pd

from boundmark.reports.tables.failures import failures
from boundmark.reports.tables.tasks import with_names


def test_failures(tasks: pd.DataFrame, make_row: Any, frame: Any) -> None:
    """Every task that is not ok, and those that are and delivered nothing."""
    assert sorted(failures(tasks)["task_id"]) == ["b1", "b5"]
    silent = with_names(frame([make_row("silent")]))
    assert "silent" in set(failures(silent)["task_id"])
