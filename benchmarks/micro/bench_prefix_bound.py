"""Steps of `prefix-bound` on a network of repeated cells: programs, proofs and their check."""

import json

from boundmark.bounds import checker
from boundmark.bounds.pipeline.prefixes.attempt import KIND, Attempt, Context
from boundmark.bounds.pipeline.prefixes.prefix_bound import Greedy
from boundmark.datasets.pipeline.cells import load
from boundmark.problems.certificate import Certificate
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import PipelineInstance

# In parts of the mean work of a stage: attempts refute the one, by k, and the other can be met.
REFUTED = {4: 1.05, 8: 1.1}
MET = 1.2
BRANCHINGS = 10


class Reach:
    """The small network, 575 operators."""

    param_names = ("k",)
    params = (4, 8)
    timeout = 300

    def setup(self, k: int) -> None:
        self.sample = PipelineInstance(load("nasnet-small-1"), k)
        self.context = Context.of(self.sample, Budget(1e6))
        self.mean = int(self.sample.graph.work.sum()) / k
        attempt = self._attempt()
        # What is not refuted is an error, and asv says so.
        certificate = Certificate.of(
            self.sample, KIND, attempt.threshold + 1, attempt.payload(), "bench"
        )
        self.instance = self.sample.to_json()
        self.certificate = json.loads(json.dumps(certificate.to_json()))
        checker.check_certificate(self.instance, self.certificate)

    def time_attempt(self, k: int) -> None:
        self._attempt()

    def time_greedy(self, k: int) -> None:
        Greedy(self.context, int(MET * self.mean), 1.0, BRANCHINGS).partition()

    def time_check(self, k: int) -> None:
        checker.check_certificate(self.instance, self.certificate)

    def track_certificate_bytes(self, k: int) -> int:
        return len(json.dumps(self.certificate, separators=(",", ":")))

    def track_programs(self, k: int) -> int:
        return self._attempt().programs

    def _attempt(self) -> Attempt:
        threshold = int(REFUTED[self.sample.k] * self.mean)
        attempt = Attempt(self.context, threshold)
        attempt.forward(BRANCHINGS)
        return attempt
