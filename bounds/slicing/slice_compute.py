"""`slice-compute`: the best split of each operator, as if nothing were communicated."""

from typing import Any

from boundmark.bounds import checker
from boundmark.bounds.checker.slicing.compute import split_compute
from boundmark.problems.certificate import Certificate
from boundmark.problems.method import Budget, Progress
from boundmark.problems.slicing import SlicingInstance

KIND = "split-compute/1"


def run(
    instance: SlicingInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the sum of the operators' best splits."""
    bound = split_compute(checker.check_instance(instance.to_json()), {})
    progress.bound(Certificate.of(instance, KIND, bound, {}, "slice-compute"))
