"""`max-work` and `mean-work`: the bounds that look at work alone ([MTPP24], Lemma 3.3)."""

from typing import Any

from boundmark.problems.certificate import Certificate
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import PipelineInstance

MAX_WORK = "max-work/1"


def run_max_work(
    instance: PipelineInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the largest work of a node."""
    node = int(instance.graph.work.argmax())
    bound = int(instance.graph.work[node])
    progress.bound(Certificate.of(instance, MAX_WORK, bound, {"node": node}, "max-work"))


MEAN_WORK = "mean-work/1"


def run_mean_work(
    instance: PipelineInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the bound, rounded up because costs are integers."""
    bound = -(-int(instance.graph.work.sum()) // instance.k)
    progress.bound(Certificate.of(instance, MEAN_WORK, bound, {}, "mean-work"))
