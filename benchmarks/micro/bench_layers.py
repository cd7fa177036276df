"""Times of problem `layers`: reading a configuration, the search for stages, and its check."""

from boundmark.bounds import checker
from boundmark.bounds.layers.layer_reach import run
from boundmark.datasets.layers.language_models import load
from boundmark.problems.layers import PROBLEM
from boundmark.problems.method import Budget

from .samples import Kept

GIVEN = {
    "devices": "2xA100-80GB,2xH100,2xV100,2xA10", "phase": "decode", "batch": 24, "context": 4096,
}  # fmt: skip


class MixedDevices:
    """Llama 3 70B on eight devices of four kinds; with 24 sequences, memory binds."""

    def setup(self) -> None:
        self.instance, kept = PROBLEM.maker(load("llama-3-70b"))(GIVEN), Kept()
        run(self.instance, Budget(60, 1), 1, kept)
        self.document, self.certificate = self.instance.to_json(), kept.last_bound.to_json()

    def time_read(self) -> None:
        PROBLEM.maker(load("llama-3-70b"))(GIVEN)

    def time_search(self) -> None:
        run(self.instance, Budget(60, 1), 1, Kept())

    def time_check(self) -> None:
        checker.check_certificate(self.document, self.certificate)
