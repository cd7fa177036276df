"""The runner's own time for a task: fork, limits, streaming and verification.

The methods below run in the runner's own warm processes, which import this module.
"""

import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from boundmark.problems.method import Budget, Method, Progress

TASKS = 1000
NODES = 200


def _nothing(instance: Any, budget: Budget, seed: int, progress: Progress) -> None:
    pass


def _solution_and_certificate(instance: Any, budget: Budget, seed: int, progress: Progress) -> None:
    import numpy as np

    from boundmark.problems.certificate import Certificate
    from boundmark.problems.pipeline import Partition

    work = instance.graph.work
    node = int(work.argmax())
    progress.solution(Partition(np.zeros(instance.nodes, dtype=np.int64)))
    progress.bound(Certificate.of(instance, "max-work/1", int(work[node]), {"node": node}, "bench"))


def _method(name: str, run: Callable[..., None]) -> Method:
    return Method(name, "pipeline", "exact", "For measuring the runner.", run)


METHODS = (
    _method("nothing", _nothing),
    _method("solution-and-certificate", _solution_and_certificate),
)


class Engine:
    """Wall time per task beyond the method's own, on one worker."""

    params = (tuple(method.name for method in METHODS),)
    param_names = ("method",)
    timeout = 300

    def setup(self, method: str) -> None:
        """Write an instance and start the warm processes."""
        from boundmark.benchmarks.running.execution.supervisor import Supervisor
        from boundmark.benchmarks.running.execution.task import Task
        from boundmark.problems.arrays import frozen
        from boundmark.problems.dag import Dag
        from boundmark.problems.json_documents import canonical_json
        from boundmark.problems.pipeline import PipelineInstance
        from boundmark.problems.pipeline.graph import PipelineGraph

        dag = Dag.from_edges(
            NODES, [(v, w) for v in range(NODES) for w in (v + 1, v + 7) if w < NODES]
        )
        names = tuple(map(str, range(NODES)))
        work, transfer = frozen(range(1, NODES + 1)), frozen([5] * NODES)
        graph = PipelineGraph.without_parameters(dag, work, transfer, names)
        instance = PipelineInstance(graph, 8)
        self.instance = canonical_json(instance.to_json()).encode()
        self.task = Task(instance.sha256, "pipeline", method, 1, {}, 0, 20.0, 4 * 2**30, 1)
        os.environ["PYTHONPATH"] = str(Path(__file__).parent)
        self.supervisor = Supervisor("bench_engine:METHODS")
        self.supervisor.run(self.task, self.instance)

    def teardown(self, method: str) -> None:
        """End the warm processes."""
        self.supervisor.close()

    def track_overhead(self, method: str) -> float:
        """Return the median over many tasks."""
        seconds = []
        for _ in range(TASKS):
            began = time.perf_counter()
            outcome = self.supervisor.run(self.task, self.instance)
            seconds.append(time.perf_counter() - began - outcome.wall_seconds)
            assert outcome.status == "ok", outcome.status_detail
        return statistics.median(seconds) * 1000

    track_overhead.unit = "ms"  # type: ignore[attr-defined]
