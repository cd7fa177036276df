"""Times of problem `layers`: reading a configuration, the search for stages, and its check."""

from boundmark.bounds import checker
from boundmark.bounds.layers.layer_reach import run
from boundmark.datasets.layers.language_models import load
from boundmark.problems.certificate import Certificate, Claim
from boundmark.problems.layers import PROBLEM, LayerAssignment, LayersInstance
from boundmark.problems.method import Budget


class _Kept:
    """Keeps the last bound."""

    def solution(self, solution: LayerAssignment) -> None:
        """Ignore solutions."""

    def bound(self, bound: Certificate | Claim) -> None:
        """Keep the bound."""
        assert isinstance(bound, Certificate)
        self.certificate = bound


class MixedDevices:
    """Llama 3 70B on eight devices of four kinds; with 24 sequences, memory binds."""

    params = (8, 24)
    param_names = ("batch",)

    def setup(self, batch: int) -> None:
        """Make the instance and a certificate."""
        self.model = load("llama-3-70b")
        self.given = {
            "devices": "2xA100-80GB,2xH100,2xV100,2xA10", "phase": "decode", "batch": batch,
            "context": 4096,
        }  # fmt: skip
        found = PROBLEM.maker(self.model)(self.given)
        assert isinstance(found, LayersInstance)
        self.instance, kept = found, _Kept()
        run(found, Budget(60, 1), 1, kept)
        self.document, self.certificate = found.to_json(), kept.certificate.to_json()

    def time_read(self, batch: int) -> None:
        """Make layers and an instance of a configuration."""
        load("llama-3-70b")
        PROBLEM.maker(self.model)(self.given)

    def time_search(self, batch: int) -> None:
        """Find the optimum and prove it."""
        run(self.instance, Budget(60, 1), 1, _Kept())

    def time_check(self, batch: int) -> None:
        """Check the certificate."""
        checker.check_certificate(self.document, self.certificate)
