"""The runner's own time for a task: fork, limits, streaming and verification.

The method below runs in the runner's own warm processes, which import this module.
"""

import os
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np

from boundmark.problems.certificate import Certificate
from boundmark.problems.method import Budget, Method, Progress
from boundmark.problems.pipeline import Partition, PipelineInstance

TASKS = 300


def _solution_and_certificate(instance: Any, budget: Budget, seed: int, progress: Progress) -> None:
    work = instance.graph.work
    node = int(work.argmax())
    progress.solution(Partition(np.zeros(instance.nodes, dtype=np.int64)))
    progress.bound(Certificate.of(instance, "max-work/1", int(work[node]), {"node": node}, "bench"))


METHODS = (
    Method("trivial", "pipeline", "exact", "For measuring the runner.", _solution_and_certificate),
)


class Engine:
    """Wall time per task beyond the method's own, on one worker."""

    timeout = 300

    def setup(self) -> None:
        """Start the warm processes."""
        from boundmark.benchmarks.running.execution.supervisor import Supervisor
        from boundmark.benchmarks.running.execution.task import Task
        from boundmark.datasets.pipeline.regal_style import load
        from boundmark.problems.json_documents import canonical_json

        instance = PipelineInstance(load("erdos-renyi-1"), 8)
        self.instance = canonical_json(instance.to_json()).encode()
        self.task = Task(instance.sha256, "pipeline", "trivial", 1, {}, 0, 20.0, 4 * 2**30, 1)
        os.environ["PYTHONPATH"] = str(Path(__file__).parent)
        self.supervisor = Supervisor("bench_engine:METHODS")
        self.supervisor.run(self.task, self.instance)

    def teardown(self) -> None:
        """End the warm processes."""
        self.supervisor.close()

    def track_overhead(self) -> float:
        """Return the median over many tasks."""
        seconds = []
        for _ in range(TASKS):
            began = time.perf_counter()
            outcome = self.supervisor.run(self.task, self.instance)
            seconds.append(time.perf_counter() - began - outcome.wall_seconds)
            assert outcome.status == "ok", outcome.status_detail
        return statistics.median(seconds) * 1000

    track_overhead.unit = "ms"  # type: ignore[attr-defined]
