"""`share`: no stage may hold more than its share of the work (see `shares.table`)."""

from collections.abc import Sequence
from typing import Any

from boundmark.bounds.pipeline.shares.table import (
    FEW_IO_WEIGHTS,
    IO_WEIGHTS,
    KIND,
    share_table,
)
from boundmark.problems.certificate import Certificate
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import PipelineInstance

# On larger graphs, flows for the largest weights fill certificates of hundreds of megabytes.
MOST_NODES_FOR_ALL_WEIGHTS = 2000


def run(
    instance: PipelineInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the bound: the mean work, which needs no cut, then with few weights, then all."""
    mean = -(-int(instance.graph.work.sum()) // instance.k)
    without_cuts = {"threshold": mean - 1, "flows": []}
    progress.bound(Certificate.of(instance, KIND, mean, without_cuts, "share"))
    best = mean
    steps: list[Sequence[int]] = [FEW_IO_WEIGHTS]
    if instance.nodes <= MOST_NODES_FOR_ALL_WEIGHTS:
        steps.append(IO_WEIGHTS)
    for io_weights in steps:
        if budget.is_spent():
            break
        certificate = share_table(instance.graph, io_weights).certificate(instance, "share")
        if certificate.bound > best:
            progress.bound(certificate)
            best = certificate.bound
