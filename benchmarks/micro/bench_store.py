"""Speed of the results folder."""

import datetime as dt
import shutil
import tempfile
from pathlib import Path
from typing import Any

from boundmark.reports.stored.store import ResultStore


def _row(number: int) -> dict[str, Any]:
    return {
        "task_id": f"{number:064x}",
        "suite": "micro",
        "problem": "pipeline",
        "dataset": "regal-style",
        "instance": f"graph-{number}",
        "instance_sha256": f"{number:064x}",
        "instance_params": '{"k":8}',
        "method": "node-cut",
        "method_kind": "bound",
        "status": "ok",
        "bound_certified": 12345,
        "started_at": dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
    }


TRACE = [{"seconds": 0.1, "kind": "bound_certified", "value": 12345.0}]


class Store:
    """Appending one task, and merging and reading a thousand."""

    rows = 1000

    def setup(self) -> None:
        self.directory = Path(tempfile.mkdtemp())
        self.store = ResultStore.create_or_open(self.directory / "filled")
        for number in range(self.rows):
            self.store.append(_row(number), TRACE)
        self.empty = ResultStore.create_or_open(self.directory / "empty")

    def teardown(self) -> None:
        shutil.rmtree(self.directory)

    def time_append(self) -> None:
        self.empty.append(_row(0), TRACE)

    def time_finished_from_shards(self) -> None:
        self.store.finished()

    def time_compact(self) -> None:
        self.store.compact()

    # One run a setup: the second one would find nothing to merge.
    time_compact.number = 1
    time_compact.repeat = 3
    time_compact.warmup_time = 0
