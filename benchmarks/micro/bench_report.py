"""Reports over large results folders, and their comparison."""

import datetime as dt
import hashlib
import json
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
from boundmark.reports.stored.schema import RESULTS
from boundmark.reports.stored.store import ResultStore

SIZES = (1_000, 100_000)

STAGES = (2, 4, 8, 16, 32)

# Name, kind, and how far its values are from the optimum at most, relative to it.
METHODS = (
    ("max-work", "bound", 0.6),
    ("node-cut", "bound", 0.5),
    ("fractional-load", "bound", 0.2),
    ("packing", "bound", 0.1),
    ("uniform", "heuristic", 0.8),
    ("slicegraph", "heuristic", 0.3),
    ("random-100", "heuristic", 0.2),
    ("brkga-100", "heuristic", 0.1),
    ("memetic", "heuristic", 0.02),
    ("exact", "exact", 0.05),
)

START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def make_folder(directory: Path, size: int, seed: int) -> None:
    """Fill a results folder with about so many made-up tasks and the documents they rest on.

    Instances are chains whose tensors cost nothing, and their documents hold.

    Parameters
    ----------
    seed
        Of the times; instances, costs and bounds depend on the size alone.
    """
    store = ResultStore.create_or_open(directory)
    draw, clock = np.random.default_rng(1), np.random.default_rng(seed)
    rows = []
    for graph in range(size // (len(STAGES) * len(METHODS))):
        for k in STAGES:
            nodes = 50 + graph % 100
            works = [int(work) for work in draw.integers(10**4, 10**5, nodes)]
            edges = [[node, node + 1] for node in range(nodes - 1)]
            instance = {"format": "boundmark-instance/1", "problem": "pipeline", "k": k}
            instance |= {"work": works, "transfer": [0] * nodes, "param_load": [0] * nodes}
            digest = _write(store.instances, instance | {"cache": 0, "edges": edges})
            common = {
                "suite": "made-up",
                "problem": "pipeline",
                "dataset": ("onnx-light", "regal-style")[graph % 2],
                "instance": f"graph-{graph}",
                "instance_sha256": digest,
                "instance_params": json.dumps({"k": k}),
                "nodes": nodes,
                "edges": len(edges),
                "time_limit_seconds": 60.0,
                "threads": 1,
                "started_at": START,
                "seed": 1,
                "params": "{}",
                "method_version": 1,
            }
            for method, kind, distance in METHODS:
                task = {"method": method, "method_kind": kind, "status": "ok"}
                task["task_id"] = hashlib.sha256(f"{digest}/{method}".encode()).hexdigest()
                task["wall_seconds"] = float(clock.lognormal(0, 0.1)) * len(method)
                if draw.random() < 0.05:
                    task["status"] = "timeout"
                else:
                    off = distance * float(draw.random())
                    task |= _found(store, digest, method, kind, works, k, off)
                rows.append(common | task)
    results = as_frame(pa.Table.from_pylist(rows, RESULTS))
    store.put(results, _traces(results))


def _found(
    store: ResultStore,
    instance: str,
    method: str,
    kind: str,
    works: list[int],
    k: int,
    off: float,
) -> dict[str, Any]:
    """Return what a task found about so far off the mean work, and write its document."""
    mean = -(-sum(works) // k)
    head = {"instance_sha256": instance, "problem": "pipeline"}
    if kind == "bound":
        bound = int(mean * (1 - off))
        document = head | {"format": "boundmark-certificate/1", "kind": "mean-work/1"}
        document |= {"bound": bound, "payload": {}, "producer": method}
        sha256 = _write(store.certificates, document)
        return {"bound_certified": bound, "bound_kind": "mean-work/1", "certificate_sha256": sha256}
    stages = _stages(works, mean * (1 + off), k)
    cost = int(np.bincount(stages, works).max())
    document = head | {"format": "boundmark-solution/1", "objective": cost, "stages": stages}
    found = {"objective": cost, "solution_sha256": _write(store.solutions, document)}
    return found | ({"bound_claimed": mean * (1 - off)} if kind == "exact" else {})


def _stages(works: list[int], target: float, k: int) -> list[int]:
    """Return the stages of a chain's nodes, all but the last with about the same work."""
    stages, stage, filled = [], 0, 0.0
    for work in works:
        if filled + work / 2 > target and stage < k - 1:
            stage, filled = stage + 1, 0.0
        filled += work
        stages.append(stage)
    return stages


def _write(folder: Path, document: dict[str, Any]) -> str:
    """Write a file named after its hash; what is made up need not survive a power cut."""
    content = canonical_json(document)
    digest = hashlib.sha256(content.encode()).hexdigest()
    (folder / f"{digest}.json").write_text(content)
    return digest


def _traces(results: pd.DataFrame) -> pd.DataFrame:
    """Return two events per value: a worse one first."""
    parts = []
    for column, kind, worse in (
        ("objective", "solution", 1.3),
        ("bound_certified", "bound_certified", 0.7),
        ("bound_claimed", "bound_claimed", 0.7),
    ):
        having = results[results[column].notna()]
        for share, factor in ((0.3, worse), (0.8, 1.0)):
            parts.append(
                pd.DataFrame(
                    {
                        "task_id": having["task_id"],
                        "seconds": share * having["wall_seconds"],
                        "kind": kind,
                        "value": factor * having[column].astype("float64"),
                    }
                )
            )
    return pd.concat(parts, ignore_index=True)


def _processor_seconds() -> float:
    """Return the processor time of this process and of those that check documents."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


class Folders:
    """A report of a folder, and the comparison with a second one, by number of tasks.

    All documents are read, and the best ones checked, as from folders that are new to this user.
    """

    params = SIZES
    param_names = ("tasks",)
    timeout = 600

    # Processor time, of one run a setup: seconds long, and files are read from memory.
    timer = staticmethod(_processor_seconds)
    number = 1
    repeat = 3
    warmup_time = 0

    def setup_cache(self) -> None:
        for size in SIZES:
            for seed in (1, 2):
                make_folder(Path(f"{size}-{seed}"), size, seed)

    setup_cache.timeout = 600

    def setup(self, tasks: int) -> None:
        self.base, self.new = Path(f"{tasks}-1"), Path(f"{tasks}-2")
        # There, nothing can be remembered.
        os.environ["XDG_CACHE_HOME"] = os.devnull

    def time_report(self, tasks: int) -> None:
        write_report(self.base, ["html"])

    def peakmem_report(self, tasks: int) -> None:
        write_report(self.base, ["html"])

    def time_compare(self, tasks: int) -> None:
        compare_runs(read_run(self.base), read_run(self.new))


class FoldersReadBefore(Folders):
    """The same of folders whose documents were read and checked before, which is remembered."""

    def setup(self, tasks: int) -> None:
        super().setup(tasks)
        os.environ["XDG_CACHE_HOME"] = str(Path("cache").resolve())
        for folder in (self.base, self.new):
            read_run(folder)
