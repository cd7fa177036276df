"""Simulate stored schedules of training: `python docs/tables/tessel_training.py RESULTS...`.

Results are of `paper-tessel/models` and `paper-tessel/micro-batch-sizes`. In `tessel_training.csv`,
there is a row for each schedule of Figures 13, 14, 16 and 17 of [TESSEL24] and each number of
samples in a micro-batch: seconds of 128 samples with transfers, of the busiest device, and with
blocking transfers. Rows that were simulated again are replaced.
"""

import json
import sys
from collections.abc import Iterable
from pathlib import Path

import pandas as pd
from page import TABLES, results_in

from boundmark.datasets.microbatch import models
from boundmark.problems.microbatch import Schedule
from boundmark.problems.microbatch.runtime import program_of, simulate
from boundmark.reports.stored.store import ResultStore, read_parsed

FILE = TABLES / "tessel_training.csv"

# Label of a schedule, by method and shape.
SCHEDULES = {
    ("tessel", "m"): "Tessel", ("tessel", "nn"): "Tessel", ("1f1b-plus", "m"): "1F1B+",
    ("1f1b-plus", "nn"): "1F1B+", ("1f1b", "v"): "1F1B", ("1f1b", "piper"): "1F1B, Piper",
    ("gpipe", "v"): "GPipe", ("chimera-direct", "x"): "Chimera", ("gpipe", "tp"): "tensor parallel",
}  # fmt: skip

KEY = ["model", "gpus", "schedule", "samples"]


def simulated(folder: Path) -> pd.DataFrame:
    """Return a row for each schedule of a results folder."""
    store, rows = ResultStore.open(folder), results_in(folder)
    found = []
    for row in rows[rows["objective"].notna()].itertuples():
        batches = json.loads(row.instance_params).get("micro_batches", 0)
        model, shape, gpus, mode, *size = row.instance.split("-")
        if mode != "train" or not batches or (row.method, shape) not in SCHEDULES:
            continue
        layout = models.load(row.instance)
        schedule = read_parsed(store.solutions, row.solution_sha256, Schedule.from_json)
        assert schedule is not None
        ticks = [models.transfer_ticks(row.instance)] * len(layout.blocks)
        starts = schedule.starts_for(batches)
        done, slow = (
            simulate(layout, program_of(layout, starts, is_blocking=is_slow), ticks)
            for is_slow in (False, True)
        )
        seconds = [one * models.TICK_SECONDS for one in (done.makespan, max(done.busy))]
        samples = int(size[0].removeprefix("s")) if size else 1
        found.append(
            (
                model, int(gpus), SCHEDULES[row.method, shape], samples, *seconds,
                slow.makespan * models.TICK_SECONDS,
            )
        )  # fmt: skip
    columns = [*KEY, "seconds", "busiest", "blocking_seconds"]
    return pd.DataFrame(found, columns=columns)


def save(folders: Iterable[str | Path]) -> None:
    """Keep rows of folders in the place of those of the same schedule and samples."""
    old = pd.read_csv(FILE)
    rows = pd.concat([old, *(simulated(Path(folder)) for folder in folders)])
    rows = rows.drop_duplicates(KEY, keep="last")
    rows.sort_values(KEY).round(6).to_csv(FILE, index=False)


if __name__ == "__main__":
    save(sys.argv[1:])
