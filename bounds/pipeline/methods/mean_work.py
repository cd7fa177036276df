"""`mean-work`: some stage has at least the mean work ([MTPP24], Lemma 3.3)."""

from typing import Any

from boundmark.problems.certificate import Certificate
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import PipelineInstance

KIND = "mean-work/1"


def run(
    instance: PipelineInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the bound, rounded up because costs are integers."""
    bound = -(-int(instance.graph.work.sum()) // instance.k)
    progress.bound(Certificate.of(instance, KIND, bound, {}, "mean-work"))
