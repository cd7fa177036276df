"""Reports over large results folders, and their comparison."""

import datetime as dt
import hashlib
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from boundmark.problems.json_documents import canonical_json
from boundmark.reports.comparison.compare import compare_runs
from boundmark.reports.comparison.recorded_run import read_run
from boundmark.reports.report import write_report
from boundmark.reports.stored.parquet import as_frame
from boundmark.reports.stored.schema import RESULTS, TRACES
from boundmark.reports.stored.store import ResultStore

SIZES = (1_000, 100_000)
BOUNDS, HEURISTICS = ("mean-work", "node-cut"), ("uniform", "memetic")
NODES = 50
ROW = {
    "suite": "made-up", "problem": "pipeline", "dataset": "regal-style", "seed": 1,
    "instance_params": '{"k": 2}', "nodes": NODES, "edges": NODES - 1, "params": "{}",
    "method_version": 1, "time_limit_seconds": 60.0, "threads": 1, "status": "ok",
    "started_at": dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
}  # fmt: skip


def make_folder(directory: Path, size: int) -> None:
    """Fill a results folder with so many made-up tasks and documents that hold.

    Instances are chains in two stages whose tensors cost nothing.
    """
    store, draw, rows = ResultStore.create_or_open(directory), np.random.default_rng(1), []
    edges = [[node, node + 1] for node in range(NODES - 1)]
    for number in range(size // len((*BOUNDS, *HEURISTICS))):
        work = draw.integers(10**4, 10**5, NODES)
        instance = {"format": "boundmark-instance/1", "problem": "pipeline", "k": 2, "cache": 0}
        instance |= {"work": work.tolist(), "transfer": [0] * NODES, "param_load": [0] * NODES}
        digest = _write(store.instances, instance | {"edges": edges})
        about = {"instance_sha256": digest, "problem": "pipeline"}
        for method in (*BOUNDS, *HEURISTICS):
            kind = "bound" if method in BOUNDS else "heuristic"
            task = {"instance": f"graph-{number}", "instance_sha256": digest, "method": method}
            task |= {"method_kind": kind, "wall_seconds": float(draw.lognormal())}
            task |= {"task_id": hashlib.sha256(f"{digest}/{method}".encode()).hexdigest()}
            if kind == "bound":
                bound = int(work.sum() * draw.uniform(0.3, 0.5))
                document = about | {"format": "boundmark-certificate/1", "kind": "mean-work/1"}
                document |= {"bound": bound, "payload": {}, "producer": method}
                found = {"bound_certified": bound, "bound_kind": "mean-work/1"}
                found["certificate_sha256"] = _write(store.certificates, document)
            else:
                stages = (np.arange(NODES) >= draw.integers(15, 35)).astype(int)
                cost = int(np.bincount(stages, work).max())
                document = about | {"format": "boundmark-solution/1", "stages": stages.tolist()}
                found = {"objective": cost}
                found["solution_sha256"] = _write(store.solutions, document | {"objective": cost})
            rows.append(ROW | task | found)
    results = as_frame(pa.Table.from_pylist(rows, RESULTS))
    values = results["objective"].fillna(results["bound_certified"]).astype("float64")
    kinds = np.where(results["method_kind"] == "bound", "bound_certified", "solution")
    traces = {"task_id": results["task_id"], "seconds": 0.1, "kind": kinds, "value": values}
    store.put(results, pd.DataFrame(traces)[TRACES.names])


def _write(folder: Path, document: dict[str, Any]) -> str:
    """Write a file named after its hash; what is made up need not survive a power cut."""
    content = canonical_json(document)
    digest = hashlib.sha256(content.encode()).hexdigest()
    (folder / f"{digest}.json").write_text(content)
    return digest


class Folders:
    """A report of a folder and a comparison, which read and check all documents, by tasks."""

    params = SIZES
    param_names = ("tasks",)
    timeout = 600
    # One run a setup: seconds long, and files are read from memory.
    number = 1
    repeat = 3
    warmup_time = 0

    def setup_cache(self) -> None:
        for size in SIZES:
            make_folder(Path(str(size)), size)

    setup_cache.timeout = 600

    def setup(self, tasks: int) -> None:
        # There, nothing can be remembered.
        os.environ["XDG_CACHE_HOME"] = os.devnull

    def time_report(self, tasks: int) -> None:
        write_report(Path(str(tasks)), ["html"])

    def peakmem_report(self, tasks: int) -> None:
        write_report(Path(str(tasks)), ["html"])

    def time_compare(self, tasks: int) -> None:
        run = read_run(Path(str(tasks)))
        compare_runs(run, run)
