"""The solver-free checker on share certificates, the largest kind, and on solutions."""

import json

import numpy as np

from boundmark.bounds import checker
from boundmark.bounds.pipeline.flows.fractional_load import share_table
from boundmark.problems.arrays import frozen
from boundmark.problems.dag import Dag
from boundmark.problems.pipeline import Partition, PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph
from boundmark.problems.problem import solution_document


class Checker:
    """Random graphs with four edges an operator, and eight stages."""

    param_names = ("nodes",)
    params = (200, 1500)

    def setup(self, nodes: int) -> None:
        rng = np.random.default_rng(1)
        ends = np.sort(rng.integers(0, nodes, (2 * nodes, 2)), axis=1)
        dag = Dag.from_edges(nodes, ends[ends[:, 0] < ends[:, 1]].tolist())
        costs = [frozen(np.maximum(0, np.rint(rng.normal(50, 10, nodes)))) for _ in range(2)]
        graph = PipelineGraph.without_parameters(dag, *costs, tuple(map(str, range(nodes))))
        sample = PipelineInstance(graph, 8)
        self.instance = sample.to_json()
        certificate = share_table(graph).certificate(sample, "fractional-load")
        self.certificate = json.loads(json.dumps(certificate.to_json()))
        partition = Partition(frozen(np.arange(nodes) * 8 // nodes))
        self.solution = solution_document(sample, partition, sample.objective(partition))

    def time_certificate(self, nodes: int) -> None:
        checker.check_certificate(self.instance, self.certificate)

    def time_solution(self, nodes: int) -> None:
        checker.check_solution(self.instance, self.solution)

    def track_certificate_bytes(self, nodes: int) -> int:
        return len(json.dumps(self.certificate, separators=(",", ":")))
