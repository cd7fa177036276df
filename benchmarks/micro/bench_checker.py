"""The solver-free checker on certificates of fractional loads, the largest, and on solutions."""

import json

import numpy as np

from boundmark.bounds import checker
from boundmark.bounds.pipeline.flows.fractional_load import share_table
from boundmark.problems.arrays import frozen
from boundmark.problems.pipeline import Partition, PipelineInstance
from boundmark.problems.problem import solution_document

from .samples import random_graph


class Checker:
    """Random graphs with four edges an operator, and eight stages."""

    param_names = ("nodes",)
    params = (200, 1500)

    def setup(self, nodes: int) -> None:
        sample = PipelineInstance(random_graph(nodes), 8)
        self.instance = sample.to_json()
        certificate = share_table(sample.graph).certificate(sample, "fractional-load")
        self.certificate = json.loads(json.dumps(certificate.to_json()))
        partition = Partition(frozen(np.arange(nodes) * 8 // nodes))
        self.solution = solution_document(sample, partition, sample.objective(partition))

    def time_certificate(self, nodes: int) -> None:
        checker.check_certificate(self.instance, self.certificate)

    def time_solution(self, nodes: int) -> None:
        checker.check_solution(self.instance, self.solution)
