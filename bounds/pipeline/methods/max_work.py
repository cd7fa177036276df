"""`max-work`: some stage runs the longest node ([MTPP24], Lemma 3.3)."""

from typing import Any

from boundmark.problems.certificate import Certificate
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import PipelineInstance

KIND = "max-work/1"


def run(
    instance: PipelineInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the bound."""
    node = int(instance.graph.work.argmax())
    bound = int(instance.graph.work[node])
    progress.bound(Certificate.of(instance, KIND, bound, {"node": node}, "max-work"))
